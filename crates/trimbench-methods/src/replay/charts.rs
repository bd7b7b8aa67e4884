//! Charts, after \[S4\]: writes a second of every window, with TRIM and without, drives overlaid.

use trimbench_results::Step;
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};

#[cfg(test)]
mod tests;

/// Series, and the title, axis and unit of each.
const WINDOWS: [[&str; 4]; 4] = [
    ["iops-window", "Write IOPS of each window", "rate of writes", "IOPS"],
    ["throughput-window", "Write throughput of each window", "throughput", "MB/s"],
    ["service-window", "Mean service time of writes of each window", "service time", "ms"],
    ["write-amplification-window", "Write amplification of each window", "write amplification", ""],
];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for [series, title, axis, unit] in WINDOWS {
        charts.push(windows(series, title, Axis::from_zero(axis, unit), sessions));
    }
    charts.extend(sessions.iter().map(|session| {
        let mut chart = session.chart(
            "gain",
            "Kept over stripped",
            Axis::linear("window", ""),
            Axis::linear("IOPS with TRIM over IOPS without", ""),
        );
        chart.describe("Above 1 TRIM pays in that window, below it costs.");
        chart.mark("y", 1.0, "no difference");
        for kept in session.steps_of("pass").filter(|step| step.id.ends_with("-kept")) {
            let depth = kept.id.trim_end_matches("-kept");
            let other = format!("{depth}-stripped");
            let stripped = session.steps_of("pass").find(|step| step.id == other);
            let (Some(a), Some(b)) = (
                kept.series.get("iops-window"),
                stripped.and_then(|step| step.series.get("iops-window")),
            ) else {
                continue;
            };
            let ratio = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
                (Some(a), Some(b)) if *b > 0.0 => Some(a / b),
                _ => None,
            };
            let y: Vec<Option<f64>> = a.y.iter().zip(&b.y).map(ratio).collect();
            let x = a.x.iter().take(y.len()).copied().collect();
            chart.curve(ChartSeries::new(depth, ChartKind::Line, x, y));
        }
        chart
    }));
    charts
}

/// A quantity of every window, a curve for each drive and pass. The reader switches them; without
/// TRIM they are dashed.
fn windows(series: &str, title: &str, y: Axis, sessions: &[LabelledSession<'_>]) -> Chart {
    let x = Axis::linear("window", "");
    let mut chart = Chart::new(format!("replay-{series}"), title, x, y);
    chart.describe(
        "A curve for each drive and pass; the legend switches them. Dashed: without \
        TRIM. At first the passes of the greatest queue depth are shown.",
    );
    for session in sessions {
        let depth = |step: &Step| step.parameter("queue_depth");
        let greatest = session.steps_of("pass").filter_map(depth).fold(0.0, f64::max);
        for step in session.steps_of("pass") {
            let Some(curve) = step.series.get(series) else { continue };
            let mut curve = ChartSeries::line(format!("{}: {}", session.label, step.id), curve);
            if let Some(depth) = step.id.strip_suffix("-stripped") {
                curve.dash = 1;
                curve.like = Some(format!("{}: {depth}-kept", session.label));
            }
            curve.hidden = depth(step).is_some_and(|depth| depth < greatest);
            chart.curve(curve);
        }
    }
    chart
}
