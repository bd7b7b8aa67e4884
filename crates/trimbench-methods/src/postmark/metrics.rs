//! The metrics of the method: the rows of \[S0\]'s tables and four more, each as measured, by
//! variant, and as what `discard` changes.

use Direction::{Higher, Lower};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Role};

use super::steps::PostmarkStep;
use super::variants::{Variant, buffering};

/// A row of the tables.
#[derive(Clone, Copy, Debug)]
pub struct PostmarkMetric {
    /// Its name in \[S0\].
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The id of its figures; those of a variant and of a difference go on behind it.
    id: &'static str,
    /// Its value in a step.
    pub value: fn(&PostmarkStep) -> Option<f64>,
}

/// The side of what `discard` changes.
pub(super) const DIFFERENCE: &str = "diff";
/// The metric that old versions get wrong.
pub const DELETION_ALONE: &str = "Deletion_alone/s";

/// The metrics of `PostMark`, in the order of \[S0\]'s tables and of the terse line.
pub const METRICS: [PostmarkMetric; 13] = [
    row("Total_duration", "s", "total-duration", |it| Some(it.phases.total_s)),
    row("Duration_of_transactions", "s", "duration-of-transactions", |it| {
        Some(it.phases.transactions_s)
    }),
    row("Transactions/s", "1/s", "transactions", |it| it.phases.transactions_per_s),
    row("Files_created/s", "1/s", "files-created", |it| it.phases.created_per_s),
    row("Creation_alone/s", "1/s", "creation-alone", |it| it.phases.creation_alone_per_s),
    row("Creation_mixed_with_transaction/s", "1/s", "creation-mixed", |it| {
        it.phases.creation_mixed_per_s
    }),
    row("Read/s", "1/s", "read", |it| it.phases.read_per_s),
    row("Append/s", "1/s", "append", |it| it.phases.append_per_s),
    row("Deleted/s", "1/s", "deleted", |it| it.phases.deleted_per_s),
    row(DELETION_ALONE, "1/s", "deletion-alone", |it| it.phases.deletion_alone_per_s),
    row("Deletion_mixed_with_transaction/s", "1/s", "deletion-mixed", |it| {
        it.phases.deletion_mixed_per_s
    }),
    row("Read_B/s", "B/s", "read-bytes", |it| it.phases.read_bytes_per_s),
    row("Write_B/s", "B/s", "write-bytes", |it| it.phases.written_bytes_per_s),
];

/// Those that `PostMark` has not.
const BESIDE: [PostmarkMetric; 4] = [
    row("deletion phase, per GB deleted", "s/GB", "deletion-per-gb", |it| {
        it.phases.deletion_s_per_gb
    }),
    row("sync after the end", "s", "sync", |it| Some(it.sync_s)),
    row("discards after the sync", "s", "drain", |it| Some(it.drain_s)),
    row("unmount", "s", "unmount", |it| Some(it.made?.unmount_s)),
];

const fn row(
    name: &'static str,
    unit: &'static str,
    id: &'static str,
    value: fn(&PostmarkStep) -> Option<f64>,
) -> PostmarkMetric {
    PostmarkMetric { name, unit, id, value }
}

/// All rows.
pub(super) fn rows() -> impl Iterator<Item = PostmarkMetric> {
    METRICS.into_iter().chain(BESIDE)
}

impl PostmarkMetric {
    /// As measured: with one variant, or in a directory as it is.
    pub(super) fn measured_with(self, variant: Option<Variant>) -> Metric {
        let Some(variant) = variant else {
            return self.metric(self.id.to_owned(), self.name.to_owned(), self.unit);
        };
        let id = variant.id();
        let title = format!("{}, {}", self.name, id.replace('-', " "));
        let metric = self.metric(format!("{}-{id}", self.id), title, self.unit);
        metric.at(self.place(variant.mount(), variant.buffered))
    }

    /// What `discard` changes, in percent.
    pub(super) fn difference(self, buffered: bool) -> Metric {
        let suffix = buffering(buffered);
        let title = format!("{}, DIFF {suffix}", self.name);
        let metric = self.metric(format!("{}-{DIFFERENCE}-{suffix}", self.id), title, "%");
        let role = metric.headline.then_some(Role::DurationAdded { buffered });
        Metric { role, ..metric }.at(self.place(DIFFERENCE, buffered))
    }

    fn place(self, side: &str, buffered: bool) -> Coordinates {
        let place = Coordinates::of_measure(self.id, self.name).at(MetricAxis::Side, side);
        place.at(MetricAxis::Buffering, buffering(buffered))
    }

    fn metric(self, id: String, title: String, unit: &'static str) -> Metric {
        let direction = if self.unit.ends_with("/s") { Higher } else { Lower };
        let metric = Metric::member(id, title, unit, direction);
        Metric { headline: self.id == METRICS[0].id, ..metric }
    }
}

/// All of them.
pub(super) fn metrics() -> Vec<Metric> {
    let of_row = |row: PostmarkMetric| {
        let variants = Variant::ALL.map(|variant| row.measured_with(Some(variant)));
        let differences = [true, false].map(|buffered| row.difference(buffered));
        [row.measured_with(None)].into_iter().chain(variants).chain(differences)
    };
    rows().flat_map(of_row).collect()
}
