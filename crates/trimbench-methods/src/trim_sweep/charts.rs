//! Latency of a TRIM against its size, with percentiles as bands.

use std::iter;

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};
use trimbench_results::{Quantile, Step};

/// Contents of the trimmed range, as kinds of steps, with their names.
const CONTENTS: [(&str, &str); 6] = [
    ("mapped", "mapped"),
    ("trimmed", "trimmed before"),
    ("never-written", "never written"),
    ("mapped-unaligned", "mapped, unaligned"),
    ("trimmed-unaligned", "trimmed before, unaligned"),
    ("mapped-loaded", "mapped, beside a load"),
];
/// The step of the load without discards.
const LOAD_ALONE: &str = super::load_alone::LOAD_ALONE;
const BAND: &str = "Median latency with one TRIM outstanding; the band reaches from the shortest \
    to the longest, and is no wider than the line where all took the same time. Where there were \
    too few for a median only the band is drawn.";

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let own = sessions.iter().flat_map(|session| [contents(session), beside(session)]);
    iter::once(mapped(sessions)).chain(own).collect()
}

/// TRIMs of mapped data, of every target.
fn mapped(sessions: &[LabelledSession<'_>]) -> Chart {
    let (size, latency) = axes();
    let title = "Latency of one TRIM of mapped data against its size";
    let mut chart = Chart::new("trim-sweep-mapped", title, size, latency);
    chart.describe(BAND);
    for session in sessions {
        chart.curve(median_and_band(&session.label, session, "mapped"));
    }
    chart
}

/// TRIMs of every content, of one target.
fn contents(session: &LabelledSession<'_>) -> Chart {
    let (size, latency) = axes();
    let title = "Latency of one TRIM by what it trims";
    let mut chart = session.chart("contents", title, size, latency);
    chart.describe(BAND);
    for (kind, name) in CONTENTS {
        chart.curve(median_and_band(name, session, kind));
    }
    chart.series.retain(|curve| !curve.x.is_empty());
    chart
}

fn axes() -> (Axis, Axis) {
    (Axis::log("size", "B"), Axis::log("latency", "ms"))
}

/// The rows of one content with one TRIM outstanding, by size.
fn rows<'a>(session: &LabelledSession<'a>, kind: &str) -> Vec<(f64, &'a Step)> {
    let single =
        |step: &&Step| step.parameters.get("queue_depth").is_some_and(|depth| *depth <= 1.0);
    let mut rows: Vec<(f64, &Step)> = session
        .steps_of(kind)
        .filter(single)
        .filter_map(|step| Some((step.parameter("size_bytes")?, step)))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows
}

fn median_and_band(name: &str, session: &LabelledSession<'_>, kind: &str) -> ChartSeries {
    let rows = rows(session, kind);
    let milliseconds = |step: &Step, key: &str| {
        let value = step.metrics.get(key).map(|seconds| seconds * 1e3);
        value.filter(|value| *value > 0.0)
    };
    // Where the row is too short for its own median, the histogram has one.
    let median = |step: &Step| {
        milliseconds(step, "latency_s_p50").or_else(|| quantile(step, "latency", Quantile::P50))
    };
    let x = rows.iter().map(|(size, _)| *size).collect();
    let y = rows.iter().map(|(_, step)| median(step)).collect();
    let mut curve = ChartSeries::new(name, ChartKind::Line, x, y);
    curve.low = Some(rows.iter().map(|(_, step)| milliseconds(step, "latency_s_min")).collect());
    curve.high = Some(rows.iter().map(|(_, step)| milliseconds(step, "latency_s_max")).collect());
    curve
}

/// A percentile of a step's histogram, in ms.
fn quantile(step: &Step, histogram: &str, quantile: Quantile) -> Option<f64> {
    let value = step.histogram(histogram)?.percentile(quantile)?;
    Some(value.seconds() * 1e3).filter(|value| *value > 0.0)
}

/// Reads and writes beside TRIMs, by the size of the TRIMs.
fn beside(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "beside",
        "Reads and writes beside TRIMs",
        Axis::log("size of each TRIM", "B"),
        Axis::log("response time", "ms"),
    );
    chart.describe(
        "Response times of a load while TRIMs of each size run beside it, one after the other; \
         and of the same load without TRIMs.",
    );
    let rows = rows(session, "mapped-loaded");
    let metrics = [
        ("response_s_p50", "p50"),
        ("response_s_p90", "p90"),
        ("response_s_p98_5", "p98.5"),
        ("response_s_p99", "p99"),
        ("response_s_max", "longest"),
    ];
    for (key, name) in metrics {
        let value = |step: &Step| step.metrics.get(key).map(|seconds| seconds * 1e3);
        let x = rows.iter().map(|(size, _)| *size).collect();
        let y = rows.iter().map(|(_, step)| value(step).filter(|value| *value > 0.0)).collect();
        chart.curve(ChartSeries::new(name, ChartKind::Line, x, y));
    }
    let alone = session.steps_of(LOAD_ALONE).next();
    for (key, name) in
        [("response_s_p98_5", "p98.5 without TRIMs"), ("response_s_max", "longest without TRIMs")]
    {
        let value = alone.and_then(|step| step.metrics.get(key)).map(|seconds| seconds * 1e3);
        let Some(value) = value.filter(|value| *value > 0.0) else { continue };
        let x: Vec<f64> = rows.iter().map(|(size, _)| *size).collect();
        let y = vec![Some(value); x.len()];
        chart.curve(ChartSeries::new(name, ChartKind::Line, x, y));
    }
    chart
}
