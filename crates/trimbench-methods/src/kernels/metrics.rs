//! The metrics of the method: a table with a row for each system, and what is said of all of them.

use Direction::{Lower, Neither};
use trimbench_results::{Direction, Metric, Quantile, Role, Step};

use super::deletion::{ALL_DISCARDED, BEFORE, DELETED, DISCARDED, LOST, STUTTER};
use super::foreground::{FSYNC_LONGEST, READ_LONGEST, READ_RESPONSE};
use super::options::Kernels;
use super::systems::ComparedSystem;
use super::wear::AMPLIFICATION;

/// The headline.
pub(super) fn least(method: &Kernels) -> Metric {
    let title = format!(
        "longest read or fsync in {} of a mass deletion, under the system that hurts least",
        method.window
    );
    Metric::member("least".to_owned(), title, "ms", Lower).headline()
}

/// The steps of a system, as far as they were measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemSteps<'a> {
    pub(super) deletion: Option<&'a Step>,
    pub(super) wear: Option<&'a Step>,
}

/// A column of the table: a metric that each system has.
#[derive(Clone, Copy)]
pub(super) struct TableColumn {
    pub(super) key: &'static str,
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) direction: Direction,
    /// Its value; `None` where it was not measured.
    pub(super) of: fn(&SystemSteps<'_>) -> Option<f64>,
}

impl TableColumn {
    const fn new(
        key: &'static str,
        title: &'static str,
        unit: &'static str,
        direction: Direction,
        of: fn(&SystemSteps<'_>) -> Option<f64>,
    ) -> Self {
        Self { key, title, unit, direction, of }
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
        Metric { role, ..Metric::member(self.id(system.id()), title, self.unit, self.direction) }
    }

    /// Whether it comes from the step of the wear.
    pub(super) fn is_of_wear(&self) -> bool {
        self.key == "amplification"
    }
}

/// All columns, in their order.
pub(super) const COLUMNS: [TableColumn; 11] = [
    TableColumn::new("p99-read", "p99 read", "ms", Lower, |of| {
        let reads = of.deletion?.histogram(READ_RESPONSE)?;
        reads.percentile(Quantile::P99).map(|latency| latency.0 as f64 / 1e6)
    }),
    TableColumn::new("p99.9-read", "p99.9 read", "ms", Lower, |of| {
        let reads = of.deletion?.histogram(READ_RESPONSE)?;
        reads.percentile(Quantile::P99_9).map(|latency| latency.0 as f64 / 1e6)
    }),
    TableColumn::new("longest-read", "longest read", "ms", Lower, longest_read),
    TableColumn::new("longest-fsync", "longest fsync", "ms", Lower, longest_fsync),
    TableColumn::new("stutter", "stutter", "s/GB", Lower, |of| {
        let deleted = of.deletion?.metric(DELETED).filter(|bytes| *bytes > 0.0)?;
        Some(of.deletion?.metric(STUTTER)? / (deleted / 1e9))
    }),
    TableColumn::new("all-discarded", "until all is discarded", "s", Lower, |of| {
        of.deletion?.metric(ALL_DISCARDED)
    }),
    TableColumn::new("discarded", "discarded / freed", "", Neither, |of| {
        let deleted = of.deletion?.metric(DELETED).filter(|bytes| *bytes > 0.0)?;
        Some(of.deletion?.metric(DISCARDED)? / deleted)
    }),
    TableColumn::new("lost", "lost at unmount", "%", Lower, |of| {
        Some(of.deletion?.metric(LOST)? * 1e2)
    }),
    TableColumn::new("amplification", "write amplification", "", Lower, |of| {
        of.wear?.metric(AMPLIFICATION)
    }),
    TableColumn::new("longest-read-before", "longest read before", "ms", Lower, |of| {
        Some(of.deletion?.metric(&format!("{READ_LONGEST}{BEFORE}"))? * 1e3)
    }),
    TableColumn::new("longest-fsync-before", "longest fsync before", "ms", Lower, |of| {
        Some(of.deletion?.metric(&format!("{FSYNC_LONGEST}{BEFORE}"))? * 1e3)
    }),
];

/// In ms.
pub(super) fn longest_read(of: &SystemSteps<'_>) -> Option<f64> {
    Some(of.deletion?.metric(READ_LONGEST)? * 1e3)
}

/// In ms.
pub(super) fn longest_fsync(of: &SystemSteps<'_>) -> Option<f64> {
    Some(of.deletion?.metric(FSYNC_LONGEST)? * 1e3)
}

/// All of them.
pub(super) fn metrics(method: &Kernels) -> Vec<Metric> {
    let under = |system: &ComparedSystem| COLUMNS.map(|column| column.under(*system));
    [least(method)].into_iter().chain(method.systems.iter().flat_map(under)).collect()
}
