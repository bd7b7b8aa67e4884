//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::{Caveat, Ppm};
use trimbench_results::number::quantity;
use trimbench_results::{Figure, Step, StepOf, Verdict};

use super::metrics::{self, COLUMNS, SystemSteps, TableColumn, longest_fsync, longest_read};
use super::options::Kernels;
use super::session::{DELETION, WEAR, step_id};
use super::systems::ComparedSystem;
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(method: &Kernels, steps: &[Step]) -> Findings {
    let found = |system: &ComparedSystem| (*system, SystemSteps::of(*system, steps));
    let rows: Vec<(ComparedSystem, SystemSteps<'_>)> = method.systems.iter().map(found).collect();
    let felt: Vec<FeltSystem> = rows.iter().filter_map(FeltSystem::of).collect();
    let least = hurts_least(&felt, method.slack);
    let mut figures: Vec<Figure> = Vec::new();
    if let Some(least) = least {
        let advisable = felt.iter().filter(|it| it.system.is_advisable()).count() as u64;
        let figure = metrics::least(method).measured(least.wait).map(|it| it.with_n(advisable));
        figures.extend(figure.map(|figure| figure.judged(verdict(least, &felt, method.slack))));
    }
    for (system, steps) in &rows {
        figures.extend(COLUMNS.iter().filter_map(|column| figure(column, *system, steps)));
    }
    let few = least.is_none().then_some(Caveat::TooFewPoints);
    let wears = steps.iter().any(|step| step.kind == WEAR);
    let other = rows.iter().any(|(system, steps)| {
        wears && steps.deletion.is_some() && !system.allocates_as_modelled()
    });
    let unknown = other.then_some(Caveat::AllocatorNotModelled);
    Findings::new(figures, few.into_iter().chain(unknown).collect())
}

/// What the headline belongs to, and what it is compared with.
fn verdict(least: &FeltSystem, felt: &[FeltSystem], slack: Ppm) -> Verdict {
    let system = least.system.words();
    let without = felt.iter().find(|it| it.system.id() == "none");
    let without = without.map_or("not measured".to_owned(), |it| quantity(it.wait, "ms"));
    match least.amplification {
        Some(_) => Verdict::LeastWait { system, without, slack: slack.to_string() },
        None => Verdict::LeastWaitOnly { system, without },
    }
}

fn figure(column: &TableColumn, system: ComparedSystem, steps: &SystemSteps<'_>) -> Option<Figure> {
    let (value, step) = column.value(steps)?;
    let mut figure = column.under(system).measured(value)?;
    figure.rests_on([step]);
    Some(figure)
}

/// What a system is charged for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FeltSystem {
    pub(super) system: ComparedSystem,
    /// The longest wait for a read or an fsync, ms.
    pub(super) wait: f64,
    /// Write amplification, where it was measured.
    pub(super) amplification: Option<f64>,
}

impl FeltSystem {
    fn of((system, steps): &(ComparedSystem, SystemSteps<'_>)) -> Option<Self> {
        let deletion = steps.deletion.as_ref()?;
        let wait = longest_read(deletion)?.max(longest_fsync(deletion)?);
        let amplification = steps.wear.as_ref().and_then(|wear| wear.write_amplification);
        Some(Self { system: *system, wait, amplification })
    }
}

/// The shortest wait of those that one may be told to use and that wear the drive nearly as little
/// as the least of them; the first of equals.
pub(super) fn hurts_least(felt: &[FeltSystem], slack: Ppm) -> Option<&FeltSystem> {
    let advisable = felt.iter().filter(|it| it.system.is_advisable());
    let least = advisable.clone().filter_map(|it| it.amplification).reduce(f64::min);
    let most = least.map(|least| least * (1.0 + f64::from(slack.0) / 1e6));
    let wears_little = |it: &&FeltSystem| match (it.amplification, most) {
        (Some(amplification), Some(most)) => amplification <= most,
        (amplification, most) => amplification.is_none() && most.is_none(),
    };
    advisable.filter(wears_little).min_by(|a, b| a.wait.total_cmp(&b.wait))
}

impl<'a> SystemSteps<'a> {
    fn of(system: ComparedSystem, steps: &'a [Step]) -> Self {
        let step = |kind| steps.iter().find(|step| step.id == step_id(system, kind));
        Self {
            deletion: step(DELETION).and_then(StepOf::read),
            wear: step(WEAR).and_then(StepOf::read),
        }
    }
}
