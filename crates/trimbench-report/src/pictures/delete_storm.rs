//! [S3]'s picture: reads, writes, discards and service times of all phases in a row, with the
//! stall, and the layer in which it is.

use std::collections::BTreeMap;

use trimbench_results::{Series, Session};

use super::{Sessions, bars_of, id, labels};
use crate::chart::{Axis, Chart, Curve, Kind, Mark};

/// The charts of one run, each with its curves: series' name, name in the legend.
const CHARTS: [(&str, &str, &str, &str, &[(&str, &str)]); 4] = [
    (
        "throughput",
        "Throughput of the drives",
        "throughput",
        "MB/s",
        &[
            ("read-throughput", "reads"),
            ("write-throughput", "writes"),
            ("discard-throughput", "discards"),
        ],
    ),
    (
        "callers",
        "What the writers and readers got",
        "throughput",
        "MB/s",
        &[("callers-read-throughput", "read"), ("callers-write-throughput", "written")],
    ),
    (
        "service",
        "Service times at the drives",
        "mean service time",
        "ms",
        &[
            ("read-service-time", "reads"),
            ("write-service-time", "writes"),
            ("discard-service-time", "discards"),
            ("probe-max", "slowest probe"),
        ],
    ),
    (
        "queue",
        "Requests outstanding at the drives",
        "outstanding",
        "requests",
        &[("read-queue", "reads"), ("write-queue", "writes"), ("discard-queue", "discards")],
    ),
];

/// Figures of where a stalled write waited, and the layers' names.
const PLACES: [(&str, &str); 4] = [
    ("located-device", "device"),
    ("located-tags", "tags"),
    ("located-block-layer", "block layer"),
    ("located-above", "above"),
];

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for entry in sessions {
        let (curves, phases) = timeline(entry.session);
        for (what, title, axis, unit, shown) in CHARTS {
            let x = Axis::linear("time", "s");
            // Service times run over many orders.
            let y =
                if what == "service" { Axis::log(axis, unit) } else { Axis::from_zero(axis, unit) };
            let mut chart = Chart::new(
                id("delete-storm", entry, what),
                format!("{title}: {}", entry.label),
                x,
                y,
            );
            chart.description = "All phases in a row; the shaded stretches are the phases. The \
                second round writes while the discards of the first are under way."
                .to_owned();
            for (series, name) in shown {
                let Some((x, y)) = curves.get(*series) else { continue };
                let y = if what == "service" { positive(y) } else { y.clone() };
                chart.curve(Curve::new(*name, Kind::Line, x.clone(), y));
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
        let span = step.metrics.get("duration_s").copied().unwrap_or(0.0).max(measured);
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
fn places(sessions: Sessions<'_, '_>) -> Chart {
    let mut chart = Chart::new(
        "delete-storm-places",
        "Where stalled writes waited",
        Axis::of("target", labels(sessions)),
        Axis::from_zero("share of the stalled time", ""),
    );
    chart.horizontal = true;
    chart.description = "Of the time in which a write of the second round was stalled, the share \
        that it spent in each layer."
        .to_owned();
    for (figure, name) in PLACES {
        let mut curve = bars_of(name, figure, sessions);
        curve.stack = Some("places".to_owned());
        chart.curve(curve);
    }
    chart
}
