//! \[S0\]'s comparison: how much slower with discards, metric by metric.

use MetricAxis::{Buffering, Measure, Side};
use trimbench_results::chart::{Axis, Chart, ChartSeries, LabelledSession};
use trimbench_results::{Figure, MetricAxis};

use super::metrics::DIFFERENCE;
use super::variants::buffering;

#[cfg(test)]
mod tests;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().map(differences).collect()
}

fn differences(session: &LabelledSession<'_>) -> Chart {
    let metrics: Vec<(&str, &str)> = session.figures.iter().filter_map(metric).collect();
    let names = metrics.iter().map(|(_, title)| (*title).to_owned()).collect();
    let (metric, change) = (Axis::of("metric", names), Axis::linear("DIFF", "%"));
    let mut chart = session.chart("diff", "With discards against without", metric, change);
    chart.horizontal = true;
    chart.describe(
        "How much worse (above 0) or better each metric is with discards, as \
        [S0] counts it; a thin line is the interval. Hollow bars are noise.",
    );
    for name in [true, false].map(buffering) {
        let find = |(metric, _): &(&str, &str)| {
            session.figure_at(&[(Measure, *metric), (Side, DIFFERENCE), (Buffering, name)])
        };
        let figures: Vec<Option<&Figure>> = metrics.iter().map(find).collect();
        if figures.iter().any(Option::is_some) {
            chart.curve(ChartSeries::figure_bars(name, &figures));
        }
    }
    chart
}

/// The metric that a figure is the difference of, once, and its name.
fn metric(figure: &Figure) -> Option<(&str, &str)> {
    let at = &figure.coordinates;
    let is_one = (at.key(Side), at.key(Buffering)) == (Some(DIFFERENCE), Some(buffering(true)));
    at.key(Measure).zip(at.words(Measure)).filter(|_| is_one)
}
