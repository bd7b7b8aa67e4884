//! The metrics of the method.

use Direction::{Higher, Lower};
use MetricAxis::{Beside, State};
use trimbench_core::{Bytes, Nanos};
use trimbench_results::{Coordinates, Direction, Metric, MetricAxis, Quantile, Role};

use super::options::TrimSweep;
use super::plan::SweepKind;

/// A percentile of one TRIM of the reference size, or of the largest below it that has a median.
pub(super) fn one_trim(quantile: Quantile, size: Bytes) -> Metric {
    let is_median = quantile == Quantile::P50;
    let what = if is_median { "median".to_owned() } else { quantile.to_string() };
    let one = format!("one TRIM of {size}, mapped, alone");
    let title = format!("{one}: {what}");
    let metric = Metric::member(format!("trim-{quantile}"), title, "ms", Lower);
    let role = is_median.then_some(Role::TrimLatency);
    let place = Coordinates::of_measure("trim", one);
    let place = place.at(MetricAxis::Quantile, quantile.to_string());
    Metric { headline: is_median, role, ..metric }.at(place)
}

/// Contents for which the cost of a GB is a metric.
pub(super) const CONTENTS: [SweepKind; 3] =
    [SweepKind::Mapped, SweepKind::Trimmed, SweepKind::NeverWritten];

/// What a GB costs, by content.
pub(super) fn cost_per_gb(content: SweepKind) -> Metric {
    let role = (content == SweepKind::Mapped).then_some(Role::TrimPerGb);
    let content = content.id();
    let place = Coordinates::of_measure("cost-per-gb", "cost of a GB");
    let place = place.called(State, content, content.replace('-', " "));
    Metric { role, ..Metric::placed(format!("cost-per-gb-{content}"), place, "s/GB", Lower) }
}

pub(super) const COMMAND_COST: Metric =
    Metric::new("command-cost", "cost of a TRIM of no size", "ms", Lower).of_role(Role::TrimEach);

/// The most that was discarded a second of what was mapped, in bytes.
pub(super) fn throughput() -> Metric {
    most_of_mapped("throughput", "most bytes discarded a second", "GB/s")
}

/// The same in commands.
pub(super) fn command_rate() -> Metric {
    most_of_mapped("command-rate", "most discards a second", "commands/s")
}

fn most_of_mapped(id: &'static str, what: &str, unit: &'static str) -> Metric {
    let place = Coordinates::of_measure(id, what).at(State, SweepKind::Mapped.id());
    Metric::placed(id, place, unit, Higher)
}

/// The largest size such that it and all smaller ones keep this latency.
pub(super) fn chunk(keep: Nanos) -> Metric {
    Metric::member("chunk", format!("largest TRIM that keeps {keep}"), "B", Higher)
        .of_role(Role::TrimSizeKept)
}

pub(super) const TRIM_MAX: Metric =
    Metric::new("trim-max", "longest TRIM, one outstanding, every size and content", "s", Lower);
/// The load beside the discards: a drive that serves less gets less.
pub(super) const LOAD_RATE: Metric =
    Metric::new("load-rate", "reads and writes a second beside TRIMs", "IOPS", Higher);

/// The longest wait of the load alone.
pub(super) fn alone_max() -> Metric {
    longest("alone-max", "nothing", "without TRIMs")
}

/// What 98.5 % of it wait at the most alone.
pub(super) fn alone_most() -> Metric {
    most("alone-p98.5", "nothing", "without TRIMs")
}

/// The longest wait beside TRIMs.
pub(super) fn loaded_max() -> Metric {
    longest("loaded-max", "trims", "beside TRIMs").of_role(Role::WaitBesideTrim)
}

/// What 98.5 % wait at the most beside TRIMs.
pub(super) fn loaded_most() -> Metric {
    most("loaded-p98.5", "trims", "beside TRIMs, worst row")
}

fn longest(id: &'static str, beside: &str, how: &str) -> Metric {
    let place = Coordinates::of_measure("longest", "longest read or write");
    Metric::placed(id, place.called(Beside, beside, how), "s", Lower)
}

fn most(id: &'static str, beside: &str, how: &str) -> Metric {
    let place = Coordinates::of_measure("most", "98.5 % of reads and writes");
    let place = place.called(Beside, beside, how);
    // The title has the percentile in words.
    let metric = Metric::member(id, place.phrase(), "s", Lower);
    metric.at(place.at(MetricAxis::Quantile, "p98.5"))
}

/// All of them.
pub(super) fn metrics(method: &TrimSweep) -> Vec<Metric> {
    let of_one = Quantile::STANDARD.map(|quantile| one_trim(quantile, method.reference));
    let costs = CONTENTS.map(cost_per_gb);
    let chunk = chunk(method.keep);
    let rest = [COMMAND_COST, throughput(), command_rate(), chunk, TRIM_MAX];
    let load = [LOAD_RATE, alone_max(), alone_most(), loaded_max(), loaded_most()];
    of_one.into_iter().chain(costs).chain(rest).chain(load).collect()
}
