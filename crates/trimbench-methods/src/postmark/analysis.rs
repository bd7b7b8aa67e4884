//! From recorded steps to figures. A pure function of the record.

use trimbench_core::Caveat;
use trimbench_core::rng::Rng;
use trimbench_results::statistics::{Bootstrap, bootstrap_mean, mean};
use trimbench_results::{Figure, Step};

use super::formulas::METRICS;

/// Repetitions that make an interval.
const FEW: usize = 3;

/// Metrics of a step, in the order of [`METRICS`].
pub(super) const KEYS: [&str; 13] = [
    "total_s",
    super::session::TRANSACTIONS,
    "transactions_per_s",
    "created_per_s",
    "creation_alone_per_s",
    "creation_mixed_per_s",
    "read_per_s",
    "append_per_s",
    "deleted_per_s",
    "deletion_alone_per_s",
    "deletion_mixed_per_s",
    "read_bytes_per_s",
    "written_bytes_per_s",
];
/// Ids of their figures.
const IDS: [&str; 13] = [
    "total-duration",
    "duration-of-transactions",
    "transactions",
    "files-created",
    "creation-alone",
    "creation-mixed",
    "read",
    "append",
    "deleted",
    "deletion-alone",
    "deletion-mixed",
    "read-bytes",
    "write-bytes",
];
/// Figures that PostMark has not: id, title, metric, unit.
const BESIDE: [(&str, &str, &str, &str); 3] = [
    ("deletion-per-gb", "deletion phase, per GB deleted", "deletion_s_per_gb", "s/GB"),
    ("sync", "sync after the end", "sync_s", "s"),
    ("drain", "discards after the sync", "drain_s", "s"),
];

/// Computes all figures.
pub fn analyse(steps: &[Step], rng: &mut Rng) -> (Vec<Figure>, Vec<Caveat>) {
    let of_postmark = IDS.iter().zip(METRICS).zip(KEYS);
    let of_postmark = of_postmark.map(|((id, (title, unit)), key)| (*id, title, key, unit));
    let mut figures = Vec::new();
    for (id, title, key, unit) in of_postmark.chain(BESIDE) {
        let values: Vec<f64> =
            steps.iter().filter_map(|step| step.metrics.get(key).copied()).collect();
        let Some(mut figure) = mean(&values).and_then(|mean| Figure::new(id, title, mean, unit))
        else {
            continue;
        };
        figure.n = values.len() as u64;
        figure.headline = id == IDS[0];
        if values.len() < FEW {
            figure.caveat(Caveat::TooFewPoints);
        } else {
            figure.interval = bootstrap_mean(&values, rng, Bootstrap::default());
        }
        for id in steps.iter().flat_map(|step| &step.caveats) {
            if let Some(caveat) = Caveat::from_id(id) {
                figure.caveat(caveat);
            }
        }
        figures.push(figure);
    }
    (figures, Vec::new())
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let of_postmark = IDS.iter().zip(METRICS).map(|(id, (_, unit))| ((*id).to_owned(), unit));
    of_postmark.chain(BESIDE.map(|(id, _, _, unit)| (id.to_owned(), unit))).collect()
}
