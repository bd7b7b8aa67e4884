//! Latency of a TRIM against its size, with percentiles as bands.

use std::iter;

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};

use super::steps::{LoadAloneStep, SweepLoadStep, TrimRowStep};

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
/// A response time of a load.
type Wait = fn(&SweepLoadStep) -> Option<f64>;
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
fn rows(session: &LabelledSession<'_>, kind: &str) -> Vec<TrimRowStep> {
    let mut rows: Vec<TrimRowStep> =
        session.steps_of(kind).filter_map(|step| step.read().ok()).collect();
    rows.retain(|row| row.queue_depth == 1);
    rows.sort_by_key(|row| row.size_bytes);
    rows
}

fn sizes(rows: &[TrimRowStep]) -> Vec<f64> {
    rows.iter().map(|row| row.size_bytes.0 as f64).collect()
}

/// In ms, for a logarithmic axis.
fn milliseconds(seconds: Option<f64>) -> Option<f64> {
    seconds.map(|seconds| seconds * 1e3).filter(|value| *value > 0.0)
}

fn median_and_band(name: &str, session: &LabelledSession<'_>, kind: &str) -> ChartSeries {
    let rows = rows(session, kind);
    let y = rows.iter().map(|row| milliseconds(row.latency_s.percentiles.p50)).collect();
    let mut curve = ChartSeries::new(name, ChartKind::Line, sizes(&rows), y);
    curve.low = Some(rows.iter().map(|row| milliseconds(row.latency_s.min)).collect());
    curve.high = Some(rows.iter().map(|row| milliseconds(row.latency_s.max)).collect());
    curve
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
    let longest: Wait = |load| Some(load.response_s_max);
    let waits: [(Wait, &str); 5] = [
        (|load| load.response_s.p50, "p50"),
        (|load| load.response_s.p90, "p90"),
        (|load| load.response_s_p98_5, "p98.5"),
        (|load| load.response_s.p99, "p99"),
        (longest, "longest"),
    ];
    for (wait, name) in waits {
        let y = rows.iter().map(|row| milliseconds(row.load.as_ref().and_then(wait))).collect();
        chart.curve(ChartSeries::new(name, ChartKind::Line, sizes(&rows), y));
    }
    let alone = session.steps_of(LOAD_ALONE).next();
    let alone = alone.and_then(|step| step.read::<LoadAloneStep>().ok());
    let waits: [(Wait, &str); 2] =
        [(|load| load.response_s_p98_5, "p98.5 without TRIMs"), (longest, "longest without TRIMs")];
    for (wait, name) in waits {
        let value = alone.as_ref().and_then(|alone| wait(&alone.load));
        let Some(value) = milliseconds(value) else { continue };
        let y = vec![Some(value); rows.len()];
        chart.curve(ChartSeries::new(name, ChartKind::Line, sizes(&rows), y));
    }
    chart
}
