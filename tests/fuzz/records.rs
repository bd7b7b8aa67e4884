//! Run records: what is salvaged from a damaged record is consistent, says what is missing, and can
//! be used like any record.

use std::collections::BTreeMap;

use serde_json::Value;
use trimbench_engine::{MethodDefinition as _, Preset};
use trimbench_methods::METHODS;
use trimbench_methods::postmark::Postmark;
use trimbench_report::{Detail, MethodView, PageContext, PageSource, Style, csv, page, terminal};
use trimbench_results::compare::judge;
use trimbench_results::limits::evaluate;
use trimbench_results::{
    LatencyHistogram, Limit, Quantile, RunRecord, Salvaged, Session, advise, compare,
};

use crate::harness::{Draw, Drawn, InputBytes, Watched};
use crate::{damage, document};

/// One record a line: a session of each method with a few of its steps, and some sessions without.
pub(crate) const TEXTS: &str = include_str!("records/corpus.ndjson");
/// The format before.
const OLD: &str = include_str!("../../crates/trimbench-results/src/record/golden/schema-1.json");
/// Of one in so many the page is written, too: packing what it holds takes longer than all else.
const PAGES: usize = 500;
/// Of one in so many what the run was asked to do is resolved again, as when it is gone on with.
const PLANS: usize = 10;

/// A damaged record and its uses.
#[derive(Clone, Debug)]
struct DrawnRecord {
    json: InputBytes,
    /// The index of the sound record that it is compared with.
    other: usize,
    has_page: bool,
    has_plan: bool,
    /// Which of what takes long is done: below 8.
    view: usize,
    unicode: bool,
}

/// What damaged records are made of, and compared with.
struct Corpus {
    trees: Vec<Value>,
    files: Vec<Vec<u8>>,
    /// The same, understood.
    whole: Vec<RunRecord>,
    limits: Vec<Limit>,
}

#[test]
fn damaged_records_are_salvaged_as_consistent_ones_or_refused() {
    // The histogram in the old one never was one.
    let old = OLD.replace("HISTFAAA", &LatencyHistogram::new().to_text());
    let texts: Vec<&str> = TEXTS.lines().chain([old.as_str()]).collect();
    let corpus = Corpus {
        trees: texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect(),
        files: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        whole: texts.iter().map(|it| RunRecord::from_json(it.as_bytes()).unwrap()).collect(),
        limits: ["p99.9=5ms", "stutter=0.1s/GB", "waf=2"].map(|it| it.parse().unwrap()).to_vec(),
    };
    let watched = Watched::new("records");
    bolero::check!()
        .with_iterations(4_000)
        .with_generator(Drawn(|draw: &mut dyn Draw| corpus.draw(draw)))
        .for_each(|record| watched.read(record, |record| corpus.is_read(record)));
    // Nearly every record has parts that can be understood.
    watched.expect_understood(0.75..0.99);
}

impl Corpus {
    fn draw(&self, draw: &mut dyn Draw) -> DrawnRecord {
        let mut json = match draw.below(8) {
            0 => damage::file(&self.files, draw),
            _ => document::to_json(&document::damaged(&self.trees, draw)).into_bytes(),
        };
        if draw.one_in(8) {
            damage::bytes(&mut json, &self.files, draw);
        }
        DrawnRecord {
            json: InputBytes(json),
            other: draw.below(self.whole.len()),
            has_page: draw.one_in(PAGES),
            has_plan: draw.one_in(PLANS),
            view: draw.below(8),
            unicode: draw.one_in(2),
        }
    }

    fn is_read(&self, drawn: &DrawnRecord) -> bool {
        let parsed = RunRecord::from_json(&drawn.json.0);
        let salvaged = match (&parsed, RunRecord::salvage(&drawn.json.0)) {
            (Err(error), Err(refusal)) => {
                assert_eq!(error.to_string(), refusal.to_string());
                return false;
            }
            (_, salvaged) => salvaged.expect("what is whole can be salvaged"),
        };
        let Salvaged { record, flaws } = salvaged;
        match parsed {
            Ok(whole) => assert!(flaws.is_empty() && record == whole, "{flaws:?}"),
            Err(error) => assert!(!flaws.is_empty(), "salvaged without a word of `{error}`"),
        }
        // What is written of it reads as the same, and is written in the same bytes.
        let written = record.to_json();
        let again = RunRecord::from_json(&written).expect("what is written can be read");
        assert!(again == record && again.to_json() == written, "it reads as another record");
        self.is_judged(&record, drawn);
        is_shown(&record, drawn);
        if drawn.has_plan {
            plan(&record);
        }
        if drawn.view == 0 || drawn.has_page {
            self.is_drawn(record, flaws, drawn);
        }
        true
    }

    /// Limits, comparisons, advice and histograms.
    fn is_judged(&self, record: &RunRecord, drawn: &DrawnRecord) {
        // Whether a limit can be judged depends on the record; that it is says nothing here.
        let _ = evaluate(record, &self.limits, |_, _| true);
        let other = &self.whole[drawn.other];
        let (before, after) = match drawn.view {
            0..=2 => (record, record),
            3 | 4 => (record, other),
            _ => (other, record),
        };
        let comparison = compare(before, after);
        let _ = judge(&comparison, before, &["10".parse().expect("a limit")]);
        comparison.worst_first();
        serde_json::to_string(&comparison).expect("a comparison can be written");
        let advice = advise(&record.sessions.iter().collect::<Vec<&Session>>());
        serde_json::to_string(&advice).expect("advice can be written");
        let steps = record.sessions.iter().flat_map(|session| &session.steps);
        steps.flat_map(|step| step.histograms.values()).for_each(|text| is_histogram(text));
    }

    /// The charts of it, and the page.
    fn is_drawn(&self, record: RunRecord, messages: Vec<String>, drawn: &DrawnRecord) {
        let of_session = |session: &Session| session.environment_before.clone();
        let host: BTreeMap<String, String> = record.sessions.iter().flat_map(of_session).collect();
        let sources = [
            PageSource { name: "record".to_owned(), record: Some(record), host, messages },
            PageSource::of("other", self.whole[drawn.other].clone()),
        ];
        let context = PageContext::of(&sources, method_view);
        serde_json::from_str::<Value>(&context.to_json()).expect("charts are JSON");
        if drawn.has_page {
            let figures = vec![String::new(); context.charts.len()];
            page(&sources, method_view, &context, &figures);
        }
    }
}

/// What a report shows of a method beside its record.
pub(crate) fn method_view(id: &str) -> Option<MethodView> {
    let info = METHODS.iter().find(|info| info.id == id)?;
    Some(MethodView { page: info.page, charts: info.charts })
}

/// Nothing of the record controls a terminal, and tables are rectangular.
fn is_shown(record: &RunRecord, drawn: &DrawnRecord) {
    let style = Style { width: 80, colour: false, unicode: drawn.unicode };
    let detail = if drawn.view < 5 { Detail::Full } else { Detail::Answer { place: "RUN" } };
    let text = terminal(record, detail, style);
    let controls = text.chars().find(|it| it.is_control() && *it != '\n');
    assert_eq!(controls, None, "it reaches the terminal");
    for (name, text) in if drawn.view < 2 { csv(record) } else { Vec::new() } {
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        // The reader refuses a row of another width.
        reader.records().for_each(|row| drop(row.unwrap_or_else(|it| panic!("{name}: {it}"))));
    }
}

/// A histogram that is read answers, and reads again as the same.
fn is_histogram(text: &str) {
    let Ok(mut histogram) = LatencyHistogram::from_text(text) else { return };
    let written = histogram.to_text();
    let read = LatencyHistogram::from_text(&written).expect("what is written can be read");
    assert_eq!(written, read.to_text());
    for quantile in Quantile::STANDARD {
        histogram.percentile(quantile);
        histogram.latency_weighted(quantile);
    }
    assert!(histogram.mean().is_none_or(f64::is_finite));
    histogram.merge(&read);
    histogram.max();
}

fn plan(record: &RunRecord) {
    for session in &record.plan {
        let info = METHODS.iter().find(|info| info.id == session.method);
        if let (Some(info), Some(preset)) = (info, Preset::from_id(&session.preset)) {
            let _ = info.resolve(preset, &session.options);
        }
    }
    for session in record.sessions.iter().filter(|it| it.plan.method == Postmark::INFO.id) {
        let Some(preset) = Preset::from_id(&session.plan.preset) else { continue };
        let Ok(method) = Postmark::resolve(preset, &session.plan.options) else { continue };
        session.steps.iter().for_each(|step| drop(method.terse_1_51(step)));
    }
}
