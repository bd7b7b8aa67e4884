//! Charts, after \[S3\]: reads, writes, discards and service times of all phases in a row, with the
//! stall, and the layer in which it is.

use std::collections::BTreeMap;

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession, Mark};
use trimbench_results::{Series, Session};

#[cfg(test)]
mod tests;

/// A chart of one run.
struct Shown {
    what: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    /// The series' names, and those in the legend.
    curves: &'static [(&'static str, &'static str)],
}

const CHARTS: [Shown; 4] = [
    Shown {
        what: "throughput",
        title: "Throughput of the drives",
        axis: "throughput",
        unit: "MB/s",
        curves: &[
            ("read-throughput", "reads"),
            ("write-throughput", "writes"),
            ("discard-throughput", "discards"),
        ],
    },
    Shown {
        what: "callers",
        title: "What the writers and readers got",
        axis: "throughput",
        unit: "MB/s",
        curves: &[("callers-read-throughput", "read"), ("callers-write-throughput", "written")],
    },
    Shown {
        what: SERVICE,
        title: "Service times at the drives",
        axis: "mean service time",
        unit: "ms",
        curves: &[
            ("read-service-time", "reads"),
            ("write-service-time", "writes"),
            ("discard-service-time", "discards"),
            ("probe-max", "slowest probe"),
        ],
    },
    Shown {
        what: "queue",
        title: "Requests outstanding at the drives",
        axis: "outstanding",
        unit: "requests",
        curves: &[
            ("read-queue", "reads"),
            ("write-queue", "writes"),
            ("discard-queue", "discards"),
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
        let (curves, phases) = timeline(session);
        for Shown { what, title, axis, unit, curves: shown } in CHARTS {
            let x = Axis::linear("time", "s");
            let many_orders = what == SERVICE;
            let y = if many_orders { Axis::log(axis, unit) } else { Axis::from_zero(axis, unit) };
            let mut chart = session.chart(what, title, x, y);
            chart.describe(
                "All phases in a row; the shaded stretches are the phases. The \
                second round writes while the discards of the first are under way.",
            );
            for (series, name) in shown {
                let Some((x, y)) = curves.get(*series) else { continue };
                let y = if many_orders { positive(y) } else { y.clone() };
                chart.curve(ChartSeries::new(*name, ChartKind::Line, x.clone(), y));
            }
            chart.marks.clone_from(&phases);
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

/// The curves of one series, all phases in a row.
type Curves = BTreeMap<String, (Vec<f64>, Vec<Option<f64>>)>;

/// All series with the phases one after the other, and where the phases are.
fn timeline(session: &Session) -> (Curves, Vec<Mark>) {
    let mut curves = Curves::new();
    let mut phases = Vec::new();
    let mut begin = 0.0;
    for step in &session.steps {
        let last = |series: &Series| series.x.last().copied().unwrap_or(0.0);
        let measured = step.series.values().map(last).fold(0.0, f64::max);
        let span = step.metric("duration_s").unwrap_or(0.0).max(measured);
        for (name, series) in &step.series {
            let (x, y) = curves.entry(name.clone()).or_default();
            x.extend(series.x.iter().map(|x| begin + x));
            y.extend(&series.y);
        }
        if !step.series.is_empty() {
            let end = Some(begin + span);
            phases.push(Mark { axis: "x", at: begin, to: end, label: step.id.clone() });
        }
        begin += span;
    }
    (curves, phases)
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
