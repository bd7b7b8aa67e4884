//! The signature picture of each method: which curves of the steps and which figures it shows.
//!
//! A file for each method. What a method calls its steps, series and figures is on its page
//! (`docs/methods`); a record that lacks one of them gives a picture without it, never an error.

use trimbench_core::Caveat;
use trimbench_results::{Figure, Interval, Series, Session, Step, Verdict};

use crate::chart::{Axis, Chart, ChartKind, ChartSeries};
use crate::entries::Entry;

mod delete_stall;
mod delete_storm;
mod headline;
mod idle_trim;
mod policy;
mod postmark;
mod recovery;
mod replay;
mod settle;
mod steady_state;
#[cfg(test)]
mod tests;
mod trim_integrity;
mod trim_sweep;

/// The sessions of one method.
pub(crate) type Sessions<'a, 'b> = &'b [&'b Entry<'a>];

/// All pictures of one method: its headline across targets, then its own. `method` names the
/// sessions' method.
pub(crate) fn pictures(method: &str, sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let own = match method {
        "delete-stall" => delete_stall::pictures(sessions),
        "delete-storm" => delete_storm::pictures(sessions),
        "idle-trim" => idle_trim::pictures(sessions),
        "policy" => policy::pictures(sessions),
        "postmark" => postmark::pictures(sessions),
        "recovery" => recovery::pictures(sessions),
        "replay" => replay::pictures(sessions),
        "settle" => settle::pictures(sessions),
        "steady-state" => steady_state::pictures(sessions),
        "trim-integrity" => trim_integrity::pictures(sessions),
        "trim-sweep" => trim_sweep::pictures(sessions),
        // A method of a later version: its curves as they are.
        _ => others(method, sessions),
    };
    let charts = headline::bars_chart(method, sessions).into_iter().chain(own);
    charts.filter(|chart| !chart.is_empty()).collect()
}

/// Every curve of every step, a chart for each name.
fn others(method: &str, sessions: Sessions<'_, '_>) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for entry in sessions {
        for step in &entry.session.steps {
            for (name, series) in &step.series {
                let id = format!("{method}-{name}");
                let place = charts.iter().position(|chart| chart.id == id).unwrap_or_else(|| {
                    let x = Axis::linear("", &series.x_unit);
                    charts.push(Chart::new(id, name, x, Axis::linear(name, &series.y_unit)));
                    charts.len() - 1
                });
                charts[place].curve(line(format!("{}: {}", entry.label, step.id), series));
            }
        }
    }
    charts
}

/// The curve of a series, joined.
fn line(name: impl Into<String>, series: &Series) -> ChartSeries {
    ChartSeries::new(name, ChartKind::Line, series.x.clone(), series.y.clone())
}

/// The steps of a kind, in order.
fn of_kind<'a>(session: &'a Session, kind: &str) -> impl DoubleEndedIterator<Item = &'a Step> {
    session.steps.iter().filter(move |step| step.kind == kind)
}

/// The value of a figure, if the session has it.
fn value(session: &Session, id: &str) -> Option<f64> {
    session.figure(id).map(|figure| figure.value)
}

/// Bars of these figures, hollow where the record calls them noise.
fn bars(name: &str, figures: &[Option<&Figure>]) -> ChartSeries {
    let mut curve =
        ChartSeries::bars(name, figures.iter().map(|one| one.map(|one| one.value)).collect());
    let ends = |of: fn(&Interval) -> f64| {
        figures.iter().map(|one| one.and_then(|one| one.interval.as_ref().map(of))).collect()
    };
    if figures.iter().flatten().any(|figure| figure.interval.is_some()) {
        curve.low = Some(ends(|interval| interval.low));
        curve.high = Some(ends(|interval| interval.high));
    }
    let noise: Vec<bool> = figures.iter().map(|one| one.is_some_and(is_noise)).collect();
    if noise.contains(&true) {
        let label = |noise: &bool| if *noise { NOISE.to_owned() } else { String::new() };
        curve.labels = Some(noise.iter().map(label).collect());
        curve.faint = Some(noise);
    }
    curve
}

/// The targets as places on an axis.
fn targets(sessions: Sessions<'_, '_>) -> Axis {
    Axis::of("target", sessions.iter().map(|entry| entry.label.clone()).collect())
}

/// Adds a bar for each target and figure; `figures` are ids and names. With a name for a `stack`
/// the bars of a target are stacked.
fn bars_of_targets(
    chart: &mut Chart,
    figures: &[(&str, &str)],
    stack: Option<&str>,
    sessions: Sessions<'_, '_>,
) {
    chart.horizontal = true;
    for (figure, name) in figures {
        let found: Vec<_> = sessions.iter().map(|entry| entry.session.figure(figure)).collect();
        let mut curve = bars(name, &found);
        curve.stack = stack.map(str::to_owned);
        chart.curve(curve);
    }
}

/// What methods call an effect that is not told apart from none.
const NOISE: &str = "noise";

/// Whether the record says that the figure is not told apart from none.
pub(crate) fn is_noise(figure: &Figure) -> bool {
    figure.verdict.as_ref().is_some_and(Verdict::is_noise)
        || figure.caveats.iter().any(|id| id == Caveat::Noise.id())
}

/// A chart's id with the session that it is of.
fn id(method: &str, entry: &Entry<'_>, what: &str) -> String {
    format!("{method}-{}-{}-{what}", entry.source, entry.index)
}
