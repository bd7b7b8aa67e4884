//! Charts, after \[S3\]: reads, writes, discards and service times of all phases in a row, with the
//! stall, and the layer in which it is.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession, Mark};
use trimbench_results::{Series, Session, StepOf};

use super::steps::{StormMeterStep, StormPhaseStep};

#[cfg(test)]
mod tests;

type CurveOf = fn(&StormMeterStep) -> Option<&Series>;

/// A chart of one run.
struct Shown {
    what: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    /// The curves, and their names in the legend.
    curves: &'static [(CurveOf, &'static str)],
}

const CHARTS: [Shown; 4] = [
    Shown {
        what: "throughput",
        title: "Throughput of the drives",
        axis: "throughput",
        unit: "MB/s",
        curves: &[
            (|it| it.read.throughput.as_ref(), "reads"),
            (|it| it.write.throughput.as_ref(), "writes"),
            (|it| it.discard.throughput.as_ref(), "discards"),
        ],
    },
    Shown {
        what: "callers",
        title: "What the writers and readers got",
        axis: "throughput",
        unit: "MB/s",
        curves: &[
            (|it| it.callers_read_throughput.as_ref(), "read"),
            (|it| it.callers_write_throughput.as_ref(), "written"),
        ],
    },
    Shown {
        what: SERVICE,
        title: "Service times at the drives",
        axis: "mean service time",
        unit: "ms",
        curves: &[
            (|it| it.read.service_time.as_ref(), "reads"),
            (|it| it.write.service_time.as_ref(), "writes"),
            (|it| it.discard.service_time.as_ref(), "discards"),
            (|it| it.probe_max.as_ref(), "slowest probe"),
        ],
    },
    Shown {
        what: "queue",
        title: "Requests outstanding at the drives",
        axis: "outstanding",
        unit: "requests",
        curves: &[
            (|it| it.read.queue.as_ref(), "reads"),
            (|it| it.write.queue.as_ref(), "writes"),
            (|it| it.discard.queue.as_ref(), "discards"),
        ],
    },
];
/// The chart whose values run over many orders.
const SERVICE: &str = "service";

/// Figures of where a stalled write waited, and the layers' names.
const PLACES: [(&str, &str); 4] = [
    ("located-device", "device"),
    ("located-tags", "tags"),
    ("located-block-layer", "block layer"),
    ("located-above", "above"),
];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for session in sessions {
        let phases = timeline(session);
        for Shown { what, title, axis, unit, curves: shown } in CHARTS {
            let x = Axis::linear("time", "s");
            let many_orders = what == SERVICE;
            let y = if many_orders { Axis::log(axis, unit) } else { Axis::from_zero(axis, unit) };
            let mut chart = session.chart(what, title, x, y);
            chart.describe(
                "All phases in a row; the shaded stretches are the phases. The \
                second round writes while the discards of the first are under way.",
            );
            for (of, name) in shown {
                let (mut x, mut y) = (Vec::new(), Vec::new());
                for (phase, meter) in &phases {
                    let Some(series) = of(meter) else { continue };
                    x.extend(series.x.iter().map(|x| phase.at + x));
                    y.extend(&series.y);
                }
                if x.is_empty() {
                    continue;
                }
                let y = if many_orders { positive(&y) } else { y };
                chart.curve(ChartSeries::new(*name, ChartKind::Line, x, y));
            }
            chart.marks = phases.iter().map(|(phase, _)| phase.clone()).collect();
            charts.push(chart);
        }
    }
    charts.push(places(sessions));
    charts
}

/// A logarithmic axis has no place for nothing.
fn positive(y: &[Option<f64>]) -> Vec<Option<f64>> {
    y.iter().map(|value| value.filter(|value| *value > 0.0)).collect()
}

/// The phases that have curves: where each lies when all stand in a row, and its curves.
fn timeline(session: &Session) -> Vec<(Mark, StormMeterStep)> {
    let mut phases = Vec::new();
    let mut begin = 0.0;
    for step in &session.steps {
        let Some(StepOf { step, values }) = StepOf::<StormPhaseStep>::read(step) else { continue };
        let StormPhaseStep { duration_s, meter, .. } = values;
        // All curves of a phase have the same places.
        let curve = meter.as_ref().and_then(|meter| meter.write.throughput.as_ref());
        let measured = curve.and_then(|curve| curve.x.last().copied());
        let span = [duration_s, measured].into_iter().flatten().reduce(f64::max);
        let Some(span) = span else { continue };
        let end = Some(begin + span);
        let mark = Mark { axis: "x", at: begin, to: end, label: step.id.clone() };
        phases.extend(meter.map(|meter| (mark, meter)));
        begin += span;
    }
    phases
}

/// In which layer stalled writes waited.
fn places(sessions: &[LabelledSession<'_>]) -> Chart {
    let (title, x) = ("Where stalled writes waited", Axis::targets(sessions));
    let share = Axis::from_zero("share of the stalled time", "");
    let mut chart = Chart::new("delete-storm-places", title, x, share);
    chart.target_bars(&PLACES, Some("places"), sessions);
    chart.describe(
        "Of the time in which a write of the second round was stalled, the share \
        that it spent in each layer.",
    );
    chart
}
