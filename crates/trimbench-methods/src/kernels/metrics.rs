//! The metrics of the method: a table with a row for each system, and what is said of all of them.

use Direction::{Lower, Neither};
use TableSource::{Deletion, Wear};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile, Role, Step, StepOf};

use super::options::Kernels;
use super::steps::{KernelsDeletionStep, KernelsWearStep};
use super::systems::ComparedSystem;

/// The headline.
pub(super) fn least(method: &Kernels) -> Metric {
    let title = format!(
        "longest read or fsync in {} of a mass deletion, under the system that hurts least",
        method.window
    );
    Metric::member("least".to_owned(), title, "ms", Lower).headline()
}

/// The steps of a system, as far as they were measured.
#[derive(Clone, Debug)]
pub(super) struct SystemSteps<'a> {
    pub(super) deletion: Option<StepOf<'a, KernelsDeletionStep>>,
    pub(super) wear: Option<StepOf<'a, KernelsWearStep>>,
}

/// The step that a column comes from, and its value; `None` where it was not measured.
#[derive(Clone, Copy)]
pub(super) enum TableSource {
    Deletion(fn(&KernelsDeletionStep) -> Option<f64>),
    Wear(fn(&KernelsWearStep) -> Option<f64>),
}

/// A column of the table: a metric that each system has.
#[derive(Clone, Copy)]
pub(super) struct TableColumn {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) direction: Direction,
    source: TableSource,
}

impl TableColumn {
    const fn new(
        key: &'static str,
        title: &'static str,
        unit: &'static str,
        direction: Direction,
        source: TableSource,
    ) -> Self {
        Self { key, title, unit, direction, source }
    }

    /// The id of the figure of one system.
    pub(super) fn id(&self, system: &str) -> String {
        format!("{}-under-{system}", self.key)
    }

    /// The metric of one system.
    pub(super) fn under(&self, system: ComparedSystem) -> Metric {
        let title = format!("{}, under {}", self.title, system.id());
        let named = system.id().to_owned();
        let role = match self.key {
            "p99.9-read" => Some(Role::SystemTail { system: named }),
            "amplification" => Some(Role::SystemWear { system: named }),
            _ => None,
        };
        let metric = Metric::member(self.id(system.id()), title, self.unit, self.direction);
        let place = Coordinates::of_measure(self.key, self.title);
        Metric { role, ..metric }.at(place.at(MetricAxis::System, system.id()))
    }

    /// Its value, and the step that has it.
    pub(super) fn value<'a>(&self, steps: &SystemSteps<'a>) -> Option<(f64, &'a Step)> {
        match self.source {
            Deletion(of) => steps.deletion.as_ref().and_then(|it| Some((of(it)?, it.step))),
            Wear(of) => steps.wear.as_ref().and_then(|it| Some((of(it)?, it.step))),
        }
    }
}

/// All columns, in their order.
pub(super) const COLUMNS: [TableColumn; 11] = [
    TableColumn::new("p99-read", "p99 read", "ms", Lower, Deletion(|it| read(it, Quantile::P99))),
    TableColumn::new(
        "p99.9-read",
        "p99.9 read",
        "ms",
        Lower,
        Deletion(|it| read(it, Quantile::P99_9)),
    ),
    TableColumn::new("longest-read", "longest read", "ms", Lower, Deletion(longest_read)),
    TableColumn::new("longest-fsync", "longest fsync", "ms", Lower, Deletion(longest_fsync)),
    TableColumn::new(
        "stutter",
        "stutter",
        "s/GB",
        Lower,
        Deletion(|it| Some(it.stutter_s? / (deleted(it)? / 1e9))),
    ),
    TableColumn::new(
        "all-discarded",
        "until all is discarded",
        "s",
        Lower,
        Deletion(|it| it.all_discarded_s),
    ),
    TableColumn::new(
        "discarded",
        "discarded / freed",
        "",
        Neither,
        Deletion(|it| Some(it.discarded_bytes.0 as f64 / deleted(it)?)),
    ),
    TableColumn::new(
        "lost",
        "lost at unmount",
        "%",
        Lower,
        Deletion(|it| Some(it.unmount.lost_at_unmount_share? * 1e2)),
    ),
    TableColumn::new(
        "amplification",
        "write amplification",
        "",
        Lower,
        Wear(|it| it.write_amplification),
    ),
    TableColumn::new(
        "longest-read-before",
        "longest read before",
        "ms",
        Lower,
        Deletion(|it| Some(it.read_response_s_max_before? * 1e3)),
    ),
    TableColumn::new(
        "longest-fsync-before",
        "longest fsync before",
        "ms",
        Lower,
        Deletion(|it| Some(it.fsync_s_max_before? * 1e3)),
    ),
];

/// In ms.
pub(super) fn longest_read(of: &KernelsDeletionStep) -> Option<f64> {
    Some(of.window.read_response_s_max? * 1e3)
}

/// In ms.
pub(super) fn longest_fsync(of: &KernelsDeletionStep) -> Option<f64> {
    Some(of.window.fsync_s_max? * 1e3)
}

/// A percentile of the reads, in ms.
fn read(of: &KernelsDeletionStep, quantile: Quantile) -> Option<f64> {
    of.window.read_response.percentile(quantile).map(|latency| latency.0 as f64 / 1e6)
}

/// Bytes deleted, if there are any.
fn deleted(of: &KernelsDeletionStep) -> Option<f64> {
    Some(of.deleted_bytes.0 as f64).filter(|bytes| *bytes > 0.0)
}

/// All of them.
pub(super) fn metrics(method: &Kernels) -> Vec<Metric> {
    let under = |system: &ComparedSystem| COLUMNS.map(|column| column.under(*system));
    [least(method)].into_iter().chain(method.systems.iter().flat_map(under)).collect()
}
