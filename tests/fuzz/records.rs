//! Run records: what is salvaged from a damaged record is consistent, says what is missing, and can
//! be used like any record.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use trimbench_core::Ppm;
use trimbench_core::rng::Rng;
use trimbench_engine::{MethodDefinition as _, Preset};
use trimbench_methods::METHODS;
use trimbench_methods::postmark::Postmark;
use trimbench_report::{Detail, MethodView, PageContext, PageSource, Style, csv, page, terminal};
use trimbench_results::compare::judge;
use trimbench_results::limits::evaluate;
use trimbench_results::{
    LatencyHistogram, Limit, Quantile, RunRecord, Salvaged, Session, advise, compare,
};

use super::mutate;
use super::subject::{Done, Feed, guarded};
use super::tree::Node;

/// One record a line: a session of each method with a few of its steps, and some sessions without.
const TEXTS: &str = include_str!("records/corpus.ndjson");
/// The format before.
const OLD: &str = include_str!("../../crates/trimbench-results/src/record/golden/schema-1.json");
/// How often the page is written, too: packing what it holds takes longer than all else.
const PAGES: Ppm = Ppm(2_000);
/// How often what the run was asked to do is resolved again, as when it is gone on with.
const PLANS: Ppm = Ppm(100_000);

/// What damaged records are made of.
#[derive(Debug)]
pub(super) struct Records {
    trees: Vec<Node>,
    files: Vec<Vec<u8>>,
    /// The same, understood.
    whole: Vec<RunRecord>,
    limits: Vec<Limit>,
}

impl Records {
    pub(super) fn new() -> Result<Self> {
        // The histogram in it never was one.
        let old = OLD.replace("HISTFAAA", &LatencyHistogram::new().to_text());
        let texts = || TEXTS.lines().chain([old.as_str()]);
        let tree = |text| serde_json::from_str::<serde_json::Value>(text).map(Node::from);
        let record = |text: &str| RunRecord::from_json(text.as_bytes());
        let limits = ["p99.9=5ms", "stutter=0.1s/GB", "waf=2"].into_iter().map(str::parse);
        Ok(Self {
            trees: texts().map(tree).collect::<Result<_, _>>().context("read the corpus")?,
            files: texts().map(|text| text.as_bytes().to_vec()).collect(),
            whole: texts().map(record).collect::<Result<_, _>>().context("read the corpus")?,
            limits: limits.collect::<Result<_, _>>().context("read limits")?,
        })
    }
}

impl Feed for Records {
    fn run(&self, rng: &mut Rng) -> Result<Done, String> {
        let mut json = match rng.below(8) {
            0 => mutate::file(&self.files, rng),
            _ => mutate::pick(&self.trees, rng).damaged(&self.trees, rng).json().into_bytes(),
        };
        if rng.below(8) == 0 {
            mutate::damage(&mut json, &self.files, rng);
        }
        let options = FuzzOptions {
            other: mutate::pick(&self.whole, rng),
            limits: &self.limits,
            page: rng.chance(PAGES),
            plan: rng.chance(PLANS),
            view: rng.below(8),
            unicode: rng.below(2) == 0,
        };
        guarded(|| read(&json, &options), || json.escape_ascii().to_string())
    }
}

/// The uses of a record.
struct FuzzOptions<'a> {
    /// The record that it is compared with.
    other: &'a RunRecord,
    limits: &'a [Limit],
    page: bool,
    plan: bool,
    /// Which of what takes long is done: below 8.
    view: u64,
    unicode: bool,
}

fn read(json: &[u8], options: &FuzzOptions<'_>) -> Result<Done, String> {
    let parsed = RunRecord::from_json(json);
    let salvaged = RunRecord::salvage(json);
    let (Salvaged { record, flaws }, end) = match (&parsed, salvaged) {
        (Err(error), Err(refusal)) => {
            let (error, refusal) = (error.to_string(), refusal);
            return same(&error, &refusal.to_string()).map(|()| Done::refused(&refusal));
        }
        (Ok(_), Err(error)) => return Err(format!("what is whole cannot be salvaged: {error}")),
        (Ok(record), Ok(salvaged)) => {
            let (flaws, whole) = (salvaged.flaws.as_slice(), &salvaged.record);
            if !flaws.is_empty() || record != whole {
                return Err(format!("a whole record is salvaged otherwise: {flaws:?}"));
            }
            (salvaged, Done::whole("whole"))
        }
        (Err(error), Ok(salvaged)) => {
            if salvaged.flaws.is_empty() {
                return Err(format!("salvaged without a word of `{error}`"));
            }
            (salvaged, Done::whole("salvaged"))
        }
    };
    again(&record)?;
    shown(&record, options)?;
    judged(&record, options)?;
    if options.view == 0 || options.page {
        drawn(record, flaws, options)?;
    }
    Ok(end)
}

fn same(one: &str, other: &str) -> Result<(), String> {
    if one == other { Ok(()) } else { Err(format!("`{one}` and `{other}`")) }
}

/// What is written of it reads as the same, and is written in the same bytes.
fn again(record: &RunRecord) -> Result<(), String> {
    let written = record.to_json();
    let read =
        RunRecord::from_json(&written).map_err(|error| format!("what is written: {error}"))?;
    if read != *record {
        return Err("what is written reads as another record".to_owned());
    }
    let bytes = |json| String::from_utf8_lossy(json).into_owned();
    same(&bytes(&written), &bytes(&read.to_json()))
}

/// Nothing of the record controls a terminal, and tables are rectangular.
fn shown(record: &RunRecord, options: &FuzzOptions<'_>) -> Result<(), String> {
    let style = Style { width: 80, colour: false, unicode: options.unicode };
    let detail = if options.view < 5 { Detail::Full } else { Detail::Answer { place: "RUN" } };
    let text = terminal(record, detail, style);
    if let Some(character) = text.chars().find(|c| c.is_control() && *c != '\n') {
        return Err(format!("{character:?} reaches the terminal"));
    }
    let tables = if options.view < 2 { csv(record) } else { Vec::new() };
    for (name, text) in tables {
        let mut widths = widths(&text);
        let first = widths.next();
        if let Some(width) = widths.find(|width| Some(*width) != first) {
            return Err(format!("{name} has {first:?} columns and a row of {width}"));
        }
    }
    Ok(())
}

/// The number of fields of each row of a table in CSV.
fn widths(text: &str) -> impl Iterator<Item = usize> {
    let mut quoted = false;
    let mut fields = 1;
    text.chars().filter_map(move |character| {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields += 1,
            '\n' if !quoted => return Some(std::mem::replace(&mut fields, 1)),
            _ => {}
        }
        None
    })
}

/// Limits, comparisons, advice, histograms and the plan.
fn judged(record: &RunRecord, options: &FuzzOptions<'_>) -> Result<(), String> {
    // Whether a limit can be judged depends on the record; that it is says nothing here.
    let _ = evaluate(record, options.limits, |_, _| true);
    let (before, after) = match options.view {
        0..=2 => (record, record),
        3 | 4 => (record, options.other),
        _ => (options.other, record),
    };
    let comparison = compare(before, after);
    let limit = "10".parse().map_err(|error| format!("a limit: {error}"))?;
    let _ = judge(&comparison, before, &[limit]);
    comparison.worst_first();
    serde_json::to_string(&comparison).map_err(|error| format!("a comparison: {error}"))?;
    let sessions: Vec<&Session> = record.sessions.iter().collect();
    let advice = advise(&sessions);
    serde_json::to_string(&advice).map_err(|error| format!("advice: {error}"))?;
    for step in record.sessions.iter().flat_map(|session| &session.steps) {
        step.histograms.values().try_for_each(|text| histogram(text))?;
    }
    if options.plan {
        record.plan.iter().for_each(|session| {
            let Some(preset) = Preset::from_id(&session.preset) else { return };
            if let Some(info) = METHODS.iter().find(|info| info.id == session.method) {
                let _ = info.resolve(preset, &session.options);
            }
        });
        for session in record.sessions.iter().filter(|it| it.plan.method == Postmark::INFO.id) {
            let Some(preset) = Preset::from_id(&session.plan.preset) else { continue };
            let Ok(method) = Postmark::resolve(preset, &session.plan.options) else { continue };
            session.steps.iter().for_each(|step| drop(method.terse_1_51(step)));
        }
    }
    Ok(())
}

/// A histogram that is read answers, and reads again as the same.
fn histogram(text: &str) -> Result<(), String> {
    let Ok(mut histogram) = LatencyHistogram::from_text(text) else { return Ok(()) };
    let written = histogram.to_text();
    let read = LatencyHistogram::from_text(&written).map_err(|error| error.to_string())?;
    same(&written, &read.to_text())?;
    for quantile in Quantile::STANDARD {
        histogram.percentile(quantile);
        histogram.latency_weighted(quantile);
    }
    if histogram.mean().is_some_and(|mean| !mean.is_finite()) {
        return Err("a mean that is no number".to_owned());
    }
    histogram.merge(&read);
    histogram.max();
    Ok(())
}

/// The charts of it, and the page.
fn drawn(
    record: RunRecord,
    messages: Vec<String>,
    options: &FuzzOptions<'_>,
) -> Result<(), String> {
    let of_session = |session: &Session| session.environment_before.clone();
    let host: BTreeMap<String, String> = record.sessions.iter().flat_map(of_session).collect();
    let sources = [
        PageSource { name: "record".to_owned(), record: Some(record), host, messages },
        PageSource::of("other", options.other.clone()),
    ];
    let view = |id: &str| {
        let info = METHODS.iter().find(|info| info.id == id)?;
        Some(MethodView { page: info.page, charts: info.charts })
    };
    let context = PageContext::of(&sources, view);
    serde_json::from_str::<serde_json::Value>(&context.to_json())
        .map_err(|error| format!("the charts: {error}"))?;
    if options.page {
        let figures = vec![String::new(); context.charts.len()];
        page(&sources, view, &context, &figures);
    }
    Ok(())
}
