//! The report as one HTML file, which opens from disk and needs no network.
//!
//! From the general to the particular: what to do with each target; every headline; each method
//! with its pictures and figures; targets, caveats and the methods' own pages. Tables and verdicts
//! are HTML and readable without JavaScript, where each chart is an SVG; with it, charts are drawn
//! from the [`PageContext`] that the file holds, and tables sort and filter.

use std::io::Write;
use std::num::NonZero;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use trimbench_core::text::{visible, visible_json, visible_lines};
use trimbench_results::chart::{
    Chart, ChartKind, ChartSeries, LabelledSession, POINTS_MAX, thin, thin_series,
};
use trimbench_results::{DriveOrder, RunRecord, Verdict};

use crate::labels::labelled;
use crate::method::{MethodViews, ReportedMethod};
use crate::source::PageSource;
use crate::svg::{CHART, DrawError, Drawing, LIBRARY, NUMBER, SVG};

mod baseline;
mod figures;
mod methods;
mod sources;
mod verdict;

pub use verdict::VerdictSection;

#[cfg(test)]
mod tests;

const STYLE: &str = include_str!("../../../assets/page/page.css");
/// What the page may do: run its own scripts and styles, and reach nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data: blob:";
const SCRIPT: &str = include_str!("../../../assets/page/page.js");
/// Characters in a row of cells that fit into half of a page.
const WIDE: usize = 48;
/// Size of the charts of the view without JavaScript and of `report --figures`, in pixels.
const SVG_WIDTH: u32 = 960;
const SVG_HEIGHT: u32 = 400;
/// Points of a curve in an SVG: more than one for each of its pixels.
const SVG_POINTS_MAX: usize = 1200;
/// Fewer charts than this are not worth another engine.
const CHARTS_MIN: usize = 8;
/// Points of a series that the page carries for downloads.
const DATA_POINTS_MAX: usize = 20_000;

/// What the page says first, and all that its charts are drawn from, in the order of the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageContext {
    /// What to do with each target.
    pub verdicts: Vec<VerdictSection>,
    /// The charts of every method.
    pub charts: Vec<Chart>,
    /// The order of the drives, if it is another than that of their values.
    #[serde(skip)]
    pub order: Option<DriveOrder>,
}

impl PageContext {
    /// The verdicts and charts of these records.
    pub fn of(sources: &[PageSource], views: MethodViews) -> Self {
        Self::in_order(sources, views, None)
    }

    /// The same with the drives in this order.
    pub fn in_order(sources: &[PageSource], views: MethodViews, order: Option<DriveOrder>) -> Self {
        let sessions = ordered(sources, order.as_ref());
        let methods = ReportedMethod::of(&sessions, views, order.as_ref());
        Self {
            verdicts: verdict::verdicts(&sessions, sources),
            charts: methods.iter().flat_map(ReportedMethod::charts).collect(),
            order,
        }
    }

    /// The context as JSON, beginning with the [`CONTEXT_MARK`](crate::CONTEXT_MARK).
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Marked<'a> {
            generator: &'static str,
            #[serde(flatten)]
            context: &'a PageContext,
        }
        let marked = Marked { generator: "trimbench", context: self };
        let json = serde_json::to_string(&marked);
        visible_json(&json.expect("finite numbers and texts have a JSON form")).into_owned()
    }

    /// Each chart as the text of an SVG file, in their order. They are drawn on all processors: one
    /// takes tens of milliseconds.
    pub fn figures(&self) -> Result<Vec<String>, DrawError> {
        let drawers = thread::available_parallelism().map_or(1, NonZero::get);
        let share = self.charts.len().div_ceil(drawers).max(CHARTS_MIN);
        let draw = |charts: &[Chart]| -> Result<Vec<String>, DrawError> {
            let drawing = Drawing::start()?;
            charts.iter().map(|chart| still(&drawing, chart)).collect()
        };
        let shares = thread::scope(|scope| {
            let started: Vec<_> =
                self.charts.chunks(share).map(|charts| scope.spawn(move || draw(charts))).collect();
            let ended = started.into_iter().map(|drawer| {
                drawer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.collect::<Result<Vec<_>, _>>()
        })?;
        Ok(shares.concat())
    }
}

/// The page of these records with their [`PageContext`] and its [figures](PageContext::figures);
/// the same records give the same bytes. It begins with the [`PAGE_MARK`](crate::PAGE_MARK).
///
/// # Panics
/// If there are not as many figures as charts.
pub fn page(
    sources: &[PageSource],
    views: MethodViews,
    context: &PageContext,
    figures: &[String],
) -> String {
    assert_eq!(context.charts.len(), figures.len(), "there is a figure of each chart");
    let order = context.order.as_ref();
    let sessions = ordered(sources, order);
    let drawn = context.charts.iter().zip(figures);
    let drawn = drawn.map(|(chart, svg)| (chart.id.as_str(), figure(chart, svg))).collect();
    let methods = ReportedMethod::of(&sessions, views, order);
    let title = title(&sessions);
    let baseline = baseline::section(sources);
    let said = html! {
        header {
            h1 { (title) }
            p.lead { (sources::summary(sources)) }
            @if let Some(order) = order { p { "Order of " (order.words()) "." } }
            (controls())
        }
        (sources::messages(sources))
        (contents(&methods, baseline.is_some()))
        main {
            (verdict::section(&context.verdicts))
            (figures::headlines(&sessions, sources))
            @if let Some(baseline) = baseline { (baseline) }
            @for method in &methods { (methods::section(method, context, &drawn)) }
            (sources::targets(&sessions, sources))
            (figures::caveats(&sessions))
            (methods::pages(&methods))
            (sources::downloads(sources))
        }
    };
    let body = html! {
        // Beside the scripts: what is hidden in a text is shown, in attributes too.
        (PreEscaped(visible_lines(&said.into_string())))
        (data("context", context.to_json().as_bytes()))
        @for (index, source) in sources.iter().enumerate() {
            @if let Some(record) = &source.record {
                (data(&format!("record-{index}"), &thinned(record).to_json()))
            }
        }
        script { (PreEscaped(LIBRARY)) }
        script { (PreEscaped(NUMBER)) }
        script { (PreEscaped(CHART)) }
        script { (PreEscaped(SVG)) }
        script { (PreEscaped(SCRIPT)) }
    };
    document(&title, &body).into_string()
}

/// The sessions with their labels, those of a drive where the order has it.
fn ordered<'a>(sources: &'a [PageSource], order: Option<&DriveOrder>) -> Vec<LabelledSession<'a>> {
    let mut sessions = labelled(sources);
    if let Some(order) = order {
        order.sort(&mut sessions, |it| (it.source, it.session));
    }
    sessions
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                // The mark of our pages comes first: see `PAGE_MARK`.
                meta name="generator" content="trimbench";
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Nothing is fetched, whatever a record holds.
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (visible(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

fn title(sessions: &[LabelledSession<'_>]) -> String {
    let mut targets: Vec<&str> =
        sessions.iter().map(|session| session.target.name.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    match targets.len() {
        0 => "trimbench".to_owned(),
        1..=4 => format!("What TRIM does to {}", targets.join(", ")),
        count => format!("What TRIM does to {count} targets"),
    }
}

fn controls() -> Markup {
    html! {
        div.controls {
            button type="button" id="theme" { "Dark or light" }
            button type="button" data-download="context" { "Charts as JSON" }
        }
    }
}

fn contents(methods: &[ReportedMethod<'_>], baseline: bool) -> Markup {
    html! {
        nav aria-label="Contents" {
            a href="#verdict" { "Verdict" }
            a href="#headlines" { "Headlines" }
            @if baseline { a href="#baseline" { "Baseline" } }
            @for method in methods { a href={ "#method-" (method.id) } { (method.id) } }
            a href="#targets" { "Targets" }
            a href="#caveats" { "Caveats" }
            a href="#pages" { "How it is measured" }
            a href="#data" { "Data" }
        }
    }
}

/// A chart's place: drawn by the script, an image without it.
fn figure(chart: &Chart, svg: &str) -> Markup {
    let caption = format!("caption-{}", chart.id);
    let thinned = chart.series.iter().filter_map(|curve| curve.thinned_from).max();
    html! {
        figure.chart.wide[is_wide(chart)] id={ "chart-" (chart.id) } aria-labelledby=(caption) {
            figcaption id=(caption) { (chart.title) }
            div.plot role="img" aria-label={ (chart.title) ". " (chart.description) } {}
            noscript { (PreEscaped(svg)) }
            p.about { (chart.description) }
            @for note in &chart.notes { p.about { (note) } }
            @if let Some(count) = thinned {
                p.about {
                    "Of up to " (count) " points in a curve those are drawn that are the first, \
                    lowest, highest and last of their columns: no extreme is left out."
                }
            }
            div.tools {
                button type="button" data-reset=(chart.id) { "Reset zoom" }
                button type="button" data-download="csv" data-chart=(chart.id) { "CSV" }
                button type="button" data-download="svg" data-chart=(chart.id) { "SVG" }
            }
        }
    }
}

/// Whether half of a page is too narrow for the texts in a chart's cells.
fn is_wide(chart: &Chart) -> bool {
    let cells = chart.series.iter().filter(|curve| curve.kind == ChartKind::Cells);
    let texts = cells.filter_map(|curve| Some((curve, curve.labels.as_ref()?)));
    let columns = |curve: &ChartSeries| {
        let mut places: Vec<u64> = curve.x.iter().map(|x| x.to_bits()).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    let longest = |labels: &[String]| labels.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    texts.map(|(curve, labels)| columns(curve) * longest(labels)).any(|width| width > WIDE)
}

/// The text with what stands between backticks as code.
fn code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The chart with no more points than its pixels show.
fn still(drawing: &Drawing, chart: &Chart) -> Result<String, DrawError> {
    let mut chart = chart.clone();
    let series = std::mem::take(&mut chart.series);
    chart.series = series.into_iter().map(|curve| thin(curve, SVG_POINTS_MAX)).collect();
    let svg = drawing.svg(&chart, SVG_WIDTH, SVG_HEIGHT)?;
    // Characters that XML has no place for, in files and in the page.
    Ok(visible_lines(&svg).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

/// Bytes for the script, compressed: it opens them with the browser's own means.
fn data(id: &str, bytes: &[u8]) -> Markup {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let packed = STANDARD.encode(packed.expect("writing into memory cannot fail"));
    html! { script type="application/octet-stream" id=(id) { (PreEscaped(packed)) } }
}

/// The record for downloads, its long series thinned without losing an extreme, and its verdicts in
/// words.
fn thinned(record: &RunRecord) -> RunRecord {
    const { assert!(POINTS_MAX < DATA_POINTS_MAX) };
    let mut record = record.clone();
    let steps = record.sessions.iter_mut().flat_map(|session| &mut session.steps);
    for series in steps.flat_map(|step| step.series.values_mut()) {
        thin_series(series, DATA_POINTS_MAX);
    }
    for figure in record.sessions.iter_mut().flat_map(|session| &mut session.figures) {
        figure.verdict = figure.words().map(Verdict::Other);
    }
    record
}
