//! The metrics of the method: a table for each policy, and what is said of all of them.

use Direction::{Higher, Lower, Neither};
use trimbench_core::Nanos;
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile, Role};

use super::options::{PACED, PolicyLab};
use super::steps::PolicyCountedStep;

/// The headline.
pub(super) fn choice(method: &PolicyLab) -> Metric {
    let title = format!("p99.9 of {}, under the policy to choose", method.accesses());
    let metric = Metric::member("policy".to_owned(), title, "ms", Lower).headline();
    Metric { role: Some(Role::PolicyChoice), ..metric }
}

/// The headline's baseline.
pub(super) const CHOICE_OVER_NONE: Metric =
    Metric::new("policy-over-none", "that, over the p99.9 under `none`", "", Lower);

/// Whether `paced` kept its target.
pub(super) fn over_target(target: Nanos) -> Metric {
    let title = format!("p99.9 under `paced`, over its target of {target}");
    Metric::member("paced-over-target", title, "", Lower)
}

/// A column of the tables: a metric that each policy has.
pub(super) struct Column {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    direction: Direction,
    /// What it is computed from.
    pub(super) of: Source,
}

/// A number or bytes that were counted by the end of a cycle.
type CycleCount = fn(&PolicyCountedStep) -> u64;

/// What a column is computed from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Response times of the cycles that count.
    Percentile(Quantile),
    /// The longest of them.
    Worst,
    /// Bytes written in the drive over those written to it.
    Amplification,
    /// Files made in a second.
    Throughput,
    /// How many cycles there were until the amplification was stable.
    Cycles,
    /// A value of the last cycle.
    AtEnd(CycleCount),
    /// The most in the cycles that count.
    Most(CycleCount),
    /// The longest TRIM of all cycles.
    LongestTrim,
}

impl Column {
    const fn new(
        key: &'static str,
        title: &'static str,
        unit: &'static str,
        direction: Direction,
        of: Source,
    ) -> Self {
        Self { key, title, unit, direction, of }
    }

    /// The metric of one policy.
    pub(super) fn under(&self, policy: &str) -> Metric {
        let title = format!("{}, under {policy}", self.title);
        let id = format!("{}-under-{policy}", self.key);
        let place = Coordinates::of_measure(self.key, self.title).at(MetricAxis::Policy, policy);
        let policy = policy.to_owned();
        let role = match self.of {
            Source::Percentile(Quantile::P99_9) => Some(Role::PolicyTail { policy }),
            Source::Worst => Some(Role::PolicyWorst { policy }),
            Source::Amplification => Some(Role::PolicyWear { policy }),
            _ => None,
        };
        Metric { role, ..Metric::member(id, title, self.unit, self.direction) }.at(place)
    }
}

/// All columns, in their order.
pub(super) const COLUMNS: [Column; 19] = [
    Column::new("p50", "p50", "ms", Lower, Source::Percentile(Quantile::P50)),
    Column::new("p99", "p99", "ms", Lower, Source::Percentile(Quantile::P99)),
    Column::new("p99.9", "p99.9", "ms", Lower, Source::Percentile(Quantile::P99_9)),
    Column::new("max", "max", "ms", Lower, Source::Worst),
    Column::new("amplification", "write amplification", "", Lower, Source::Amplification),
    Column::new("throughput", "files made", "MB/s", Higher, Source::Throughput),
    Column::new("cycles", "cycles until stable", "", Neither, Source::Cycles),
    Column::new(
        "untrimmed",
        "left untrimmed",
        "B",
        Lower,
        Source::AtEnd(|it| it.untrimmed_bytes.0),
    ),
    Column::new("waited", "waited at most", "B", Lower, Source::Most(|it| it.waiting_bytes_max.0)),
    Column::new(
        "withheld",
        "withheld at most",
        "B",
        Lower,
        Source::Most(|it| it.withheld_bytes_max.0),
    ),
    Column::new("trim", "longest TRIM", "ms", Lower, Source::LongestTrim),
    Column::new("freed", "freed", "B", Neither, Source::AtEnd(|it| it.freed.bytes.0)),
    Column::new("trimmed", "trimmed", "B", Neither, Source::AtEnd(|it| it.issued.bytes.0)),
    Column::new(
        "not-trimmed",
        "not trimmed",
        "B",
        Lower,
        Source::AtEnd(|it| it.skipped.bytes.0 + it.waiting_bytes.0),
    ),
    Column::new("rewritten", "rewritten", "B", Neither, Source::AtEnd(|it| it.invalidated.bytes.0)),
    Column::new("issued", "issued", "", Neither, Source::AtEnd(|it| it.issued.count)),
    Column::new("deferred", "deferred", "", Neither, Source::AtEnd(|it| it.deferred.count)),
    Column::new("skipped", "skipped", "", Neither, Source::AtEnd(|it| it.skipped.count)),
    Column::new(
        "invalidated",
        "invalidated",
        "",
        Neither,
        Source::AtEnd(|it| it.invalidated.count),
    ),
];

/// All of them.
pub(super) fn metrics(method: &PolicyLab) -> Vec<Metric> {
    let paced = method.policies.iter().any(|(policy, _)| *policy == PACED);
    let target = paced.then(|| over_target(method.target));
    let under = |(policy, _): &(&str, String)| COLUMNS.map(|column| column.under(policy));
    let tables = method.policies.iter().flat_map(under);
    let none = method.policies.iter().any(|(policy, _)| *policy == "none");
    let over_none = none.then_some(CHOICE_OVER_NONE);
    [choice(method)].into_iter().chain(over_none).chain(target).chain(tables).collect()
}
