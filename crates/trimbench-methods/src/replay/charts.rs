//! Charts, after \[S4\]: writes a second of every window, with TRIM and without, drives overlaid.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};
use trimbench_results::{Series, StepOf};

use super::steps::{ReplayPassStep, ReplayWindowsStep};

#[cfg(test)]
mod tests;

type Curve = fn(ReplayWindowsStep) -> Option<Series>;

/// Of each chart the end of its id, its title, axis and unit, and its curve of a pass.
const WINDOWS: [([&str; 4], Curve); 4] = [
    (["iops", "Write IOPS of each window", "rate of writes", "IOPS"], |of| of.iops),
    (["throughput", "Write throughput of each window", "throughput", "MB/s"], |of| of.throughput),
    (["service", "Mean service time of writes of each window", "service time", "ms"], |of| {
        of.service
    }),
    (
        ["write-amplification", "Write amplification of each window", "write amplification", ""],
        |of| of.write_amplification,
    ),
];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for ([id, title, axis, unit], curve) in WINDOWS {
        charts.push(windows(id, title, Axis::from_zero(axis, unit), (curve, sessions)));
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
        let passes = passes(session);
        let iops =
            |id: &str| passes.iter().find(|pass| pass.step.id == id)?.meter.windows.iops.as_ref();
        for kept in &passes {
            let id = &kept.step.id;
            let Some(depth) = id.strip_suffix("-kept") else { continue };
            let (Some(a), Some(b)) = (iops(id), iops(&format!("{depth}-stripped"))) else {
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
fn windows(
    id: &str,
    title: &str,
    y: Axis,
    (curve, sessions): (Curve, &[LabelledSession<'_>]),
) -> Chart {
    let x = Axis::linear("window", "");
    let mut chart = Chart::new(format!("replay-{id}-window"), title, x, y);
    chart.describe(
        "A curve for each drive and pass; the legend switches them. Dashed: without \
        TRIM. At first the passes of the greatest queue depth are shown.",
    );
    for session in sessions {
        let passes = passes(session);
        let greatest = passes.iter().filter_map(|pass| pass.queue_depth).max();
        for StepOf { step, values: pass } in passes {
            let Some(curve) = curve(pass.meter.windows) else { continue };
            let mut curve = ChartSeries::line(format!("{}: {}", session.label, step.id), &curve);
            if let Some(depth) = step.id.strip_suffix("-stripped") {
                curve.dash = 1;
                curve.like = Some(format!("{}: {depth}-kept", session.label));
            }
            curve.hidden = pass.queue_depth.is_some_and(|depth| Some(depth) < greatest);
            chart.curve(curve);
        }
    }
    chart
}

fn passes<'a>(session: &LabelledSession<'a>) -> Vec<StepOf<'a, ReplayPassStep>> {
    session.steps_of("pass").filter_map(StepOf::read).collect()
}
