//! Computes figures from recorded steps. A pure function of the record.

use trimbench_core::{Caveat, Ppm};
use trimbench_results::{Figure, Step, Verdict};

use super::metrics::{COLUMNS, LEAST, SystemSteps, TableColumn, longest_fsync, longest_read};
use super::options::Kernels;
use super::session::{DELETION, WEAR, step_id};
use super::systems::ComparedSystem;
use super::wear::AMPLIFICATION;
use trimbench_engine::Findings;

/// Computes all figures.
pub fn analyse(method: &Kernels, steps: &[Step]) -> Findings {
    let found = |system: &ComparedSystem| (*system, SystemSteps::of(*system, steps));
    let rows: Vec<(ComparedSystem, SystemSteps<'_>)> = method.systems.iter().map(found).collect();
    let felt: Vec<FeltSystem> = rows.iter().filter_map(FeltSystem::of).collect();
    let least = hurts_least(&felt, method.slack);
    let mut figures: Vec<Figure> = Vec::new();
    if let Some(least) = least {
        let (system, slack) = (least.system.id().to_owned(), method.slack.to_string());
        let verdict = match least.amplification {
            Some(_) => Verdict::HurtsLeast { system, slack },
            None => Verdict::ShortestWait { system },
        };
        let figure = LEAST.measured(least.wait).map(|it| it.with_n(felt.len() as u64));
        figures.extend(figure.map(|figure| figure.judged(verdict)));
    }
    for (system, steps) in &rows {
        figures.extend(COLUMNS.iter().filter_map(|column| figure(column, *system, steps)));
    }
    let few = least.is_none().then_some(Caveat::TooFewPoints);
    Findings::new(figures, few.into_iter().collect())
}

fn figure(column: &TableColumn, system: ComparedSystem, steps: &SystemSteps<'_>) -> Option<Figure> {
    let mut figure = column.under(system).measured((column.of)(steps))?;
    let step = if column.is_of_wear() { steps.wear } else { steps.deletion };
    figure.rests_on(step);
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
        let wait = longest_read(steps)?.max(longest_fsync(steps)?);
        let amplification = steps.wear.and_then(|step| step.metric(AMPLIFICATION));
        Some(Self { system: *system, wait, amplification })
    }
}

/// The shortest wait of those that wear the drive nearly as little as the least; the first of
/// equals.
pub(super) fn hurts_least(felt: &[FeltSystem], slack: Ppm) -> Option<&FeltSystem> {
    let least = felt.iter().filter_map(|it| it.amplification).reduce(f64::min);
    let most = least.map(|least| least * (1.0 + f64::from(slack.0) / 1e6));
    let wears_little = |it: &&FeltSystem| match (it.amplification, most) {
        (Some(amplification), Some(most)) => amplification <= most,
        (amplification, most) => amplification.is_none() && most.is_none(),
    };
    felt.iter().filter(wears_little).min_by(|a, b| a.wait.total_cmp(&b.wait))
}

impl<'a> SystemSteps<'a> {
    fn of(system: ComparedSystem, steps: &'a [Step]) -> Self {
        let step = |kind| steps.iter().find(|step| step.id == step_id(system, kind));
        Self { deletion: step(DELETION), wear: step(WEAR) }
    }
}
