//! Charts, after \[S1\]: response times around a deletion, and the stutter over its size.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};
use trimbench_results::number::quantity;
use trimbench_results::{DeletionStep, Series, StepOf};

use super::steps::{StallCurvesStep, StallFoundStep};

#[cfg(test)]
mod tests;

const GIGABYTE: f64 = 1e9;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    vec![response(sessions), reads(sessions), discarded(sessions), regression(sessions)]
}

/// The largest deletion of the session, the first of equals.
fn largest<'a>(session: &LabelledSession<'a>) -> Option<StepOf<'a, DeletionStep>> {
    let deletions = session.steps_of("delete").filter_map(StepOf::<DeletionStep>::read);
    deletions.rev().max_by_key(|deletion| deletion.size_bytes)
}

/// A curve of the largest deletion of each target, with the moment of the deletion marked.
fn around_deletion(
    mut chart: Chart,
    curve: impl Fn(&StepOf<'_, DeletionStep>) -> Option<Series>,
    sessions: &[LabelledSession<'_>],
) -> Chart {
    let mut marked: Vec<(f64, String)> = Vec::new();
    for session in sessions {
        let Some(deletion) = largest(session) else { continue };
        let Some(curve) = curve(&deletion) else { continue };
        chart.curve(ChartSeries::line(&session.label, &curve));
        let size = quantity(deletion.size_bytes.0 as f64, "B");
        let mark = (deletion.deleted_at_s, format!("{size} deleted"));
        if !marked.contains(&mark) {
            marked.push(mark);
        }
    }
    for (at, label) in marked {
        chart.mark("x", at, label);
    }
    chart
}

/// The worst response time of each moment.
fn response(sessions: &[LabelledSession<'_>]) -> Chart {
    let (x, y) = (Axis::linear("time", "s"), Axis::log("worst response time", "ms"));
    let title = "Response times around the largest deletion";
    let mut chart = Chart::new("delete-stall-response", title, x, y);
    chart.describe(
        "The longest response time of each column; the dashed line is the moment \
        of the deletion. A stall is a hill that begins there.",
    );
    around_deletion(chart, |it| it.response_max.clone(), sessions)
}

/// The reads of a closed loop.
fn reads(sessions: &[LabelledSession<'_>]) -> Chart {
    let (x, y) = (Axis::linear("time", "s"), Axis::log("reads a second", "1/s"));
    let title = "Reads a second around the largest deletion";
    let mut chart = Chart::new("delete-stall-reads", title, x, y);
    chart.describe(
        "The reads of the closed loop (`readers`) that ended in each column. A long shallow valley \
        is many short discards, a short deep one few long ones.",
    );
    around_deletion(chart, |it| it.step.read::<StallCurvesStep>().ok()?.reads, sessions)
}

/// What was discarded meanwhile.
fn discarded(sessions: &[LabelledSession<'_>]) -> Chart {
    let (x, y) = (Axis::linear("time", "s"), Axis::from_zero("discarded", "MiB"));
    let title = "Discards completed around the largest deletion";
    let mut chart = Chart::new("delete-stall-discarded", title, x, y);
    chart.describe(
        "Bytes whose discards were completed, in each column: when a stall ends \
        and discards end tells whether they are one.",
    );
    around_deletion(chart, |it| it.step.read::<StallCurvesStep>().ok()?.discarded, sessions)
}

/// A point for each deletion, the placebos at size 0, and the line whose slope is the headline.
fn regression(sessions: &[LabelledSession<'_>]) -> Chart {
    let mut chart = Chart::new(
        "delete-stall-regression",
        "Stutter over the size of the deletion",
        Axis::from_zero("deleted", "GB"),
        Axis::linear("stutter", "s"),
    );
    chart.describe(
        "A point for each deletion, placebos (an empty file) at 0; the slope of \
        each dashed line is the headline, its height at 0 what a deletion of any size costs.",
    );
    for session in sessions {
        let mut points: Vec<(f64, f64)> = ["placebo", "delete"]
            .iter()
            .flat_map(|kind| session.steps_of(kind))
            .filter_map(|step| {
                let deletion: DeletionStep = step.read().ok()?;
                let found: StallFoundStep = step.read().ok()?;
                Some((deletion.size_bytes.0 as f64 / GIGABYTE, found.stutter_s))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let Some((largest, _)) = points.last().copied() else { continue };
        let (x, y) = points.into_iter().map(|(x, y)| (x, Some(y))).unzip();
        chart.curve(ChartSeries::new(&session.label, ChartKind::Points, x, y));
        let slope = session.value("stutter");
        let intercept = session.value("stutter-intercept");
        if let (Some(slope), Some(intercept)) = (slope, intercept) {
            let ends = vec![Some(intercept), Some(intercept + slope * largest)];
            let name = format!("{}: line", session.label);
            let mut fit = ChartSeries::new(name, ChartKind::Line, vec![0.0, largest], ends);
            fit.dash = 1;
            fit.like = Some(session.label.clone());
            chart.curve(fit);
        }
    }
    chart
}
