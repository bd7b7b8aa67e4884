//! The metrics of the method.

use Direction::{Higher, Lower};
use trimbench_core::{Bytes, Nanos};
use trimbench_results::{Direction, Metric, Quantile, Role};

use super::options::TrimSweep;
use super::plan::SweepKind;

/// A percentile of one TRIM of the reference size, or of the largest below it that has a median.
pub(super) fn one_trim(quantile: Quantile, size: Bytes) -> Metric {
    let is_median = quantile == Quantile::P50;
    let what = if is_median { "median".to_owned() } else { quantile.to_string() };
    let title = format!("one TRIM of {size}, mapped, alone: {what}");
    let metric = Metric::member(format!("trim-{quantile}"), title, "ms", Lower);
    let role = is_median.then_some(Role::TrimLatency);
    Metric { headline: is_median, role, ..metric }
}

/// Contents for which the cost of a GB is a metric.
pub(super) const CONTENTS: [SweepKind; 3] =
    [SweepKind::Mapped, SweepKind::Trimmed, SweepKind::NeverWritten];

/// What a GB costs, by content.
pub(super) fn cost_per_gb(content: SweepKind) -> Metric {
    let title = format!("cost of a GB, {}", content.id().replace('-', " "));
    let role = (content == SweepKind::Mapped).then_some(Role::TrimPerGb);
    let metric = Metric::member(format!("cost-per-gb-{}", content.id()), title, "s/GB", Lower);
    Metric { role, ..metric }
}

pub(super) const COMMAND_COST: Metric =
    Metric::new("command-cost", "cost of a TRIM of no size", "ms", Lower).of_role(Role::TrimEach);
pub(super) const THROUGHPUT: Metric =
    Metric::new("throughput", "most bytes discarded a second, mapped", "GB/s", Higher);
pub(super) const COMMAND_RATE: Metric =
    Metric::new("command-rate", "most discards a second, mapped", "commands/s", Higher);

/// The largest size such that it and all smaller ones keep this latency.
pub(super) fn chunk(keep: Nanos) -> Metric {
    Metric::member("chunk", format!("largest TRIM that keeps {keep}"), "B", Higher)
        .of_role(Role::TrimSizeKept)
}

pub(super) const TRIM_MAX: Metric =
    Metric::new("trim-max", "longest TRIM, one outstanding, every size and content", "s", Lower);
/// The load beside the discards: a drive that serves less gets less. Then what it waits alone.
pub(super) const LOAD_RATE: Metric =
    Metric::new("load-rate", "reads and writes a second beside TRIMs", "IOPS", Higher);
pub(super) const ALONE_MAX: Metric =
    Metric::new("alone-max", "longest read or write without TRIMs", "s", Lower);
pub(super) const ALONE_MOST: Metric =
    Metric::new("alone-p98.5", "98.5 % of reads and writes without TRIMs", "s", Lower);
pub(super) const LOADED_MAX: Metric =
    Metric::new("loaded-max", "longest read or write beside TRIMs", "s", Lower)
        .of_role(Role::WaitBesideTrim);
pub(super) const LOADED_MOST: Metric =
    Metric::new("loaded-p98.5", "98.5 % of reads and writes beside TRIMs, worst row", "s", Lower);

/// All of them.
pub(super) fn metrics(method: &TrimSweep) -> Vec<Metric> {
    let of_one = Quantile::STANDARD.map(|quantile| one_trim(quantile, method.reference));
    let costs = CONTENTS.map(cost_per_gb);
    let chunk = chunk(method.keep);
    let rest = [COMMAND_COST, THROUGHPUT, COMMAND_RATE, chunk, TRIM_MAX];
    let load = [LOAD_RATE, ALONE_MAX, ALONE_MOST, LOADED_MAX, LOADED_MOST];
    of_one.into_iter().chain(costs).chain(rest).chain(load).collect()
}
