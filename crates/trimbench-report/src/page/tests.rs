use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use trimbench_results::{DeletionStep, Outcome, Series, Session};

use super::*;
use crate::testing::{detail, record, session, three_drives, view};

/// The page of these sources.
fn made(sources: &[PageSource]) -> String {
    let context = PageContext::of(sources, view);
    page(sources, view, &context, &context.figures().unwrap())
}

fn one(record: RunRecord) -> Vec<PageSource> {
    vec![PageSource::of("run", record)]
}

/// What a script element of the page holds.
fn unpacked(page: &str, id: &str) -> serde_json::Value {
    let begin = format!("<script type=\"application/octet-stream\" id=\"{id}\">");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {id}"));
    let (packed, _) = rest.split_once('<').unwrap();
    let bytes = STANDARD.decode(packed).unwrap();
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_page_holds_every_figure_its_charts_and_the_record() {
    let mut whole = three_drives();
    detail(&mut whole.sessions[0]);
    let page = made(&one(whole.clone()));
    for session in &whole.sessions {
        for figure in &session.figures {
            assert!(page.contains(&figure.title), "{} is missing", figure.title);
            assert!(page.contains(&format!("data-value=\"{}\"", figure.value)), "{}", figure.id);
        }
    }
    let context = unpacked(&page, "context");
    let charts = context["charts"].as_array().unwrap();
    assert!(charts.len() >= 3, "{} charts", charts.len());
    for chart in charts {
        let id = chart["id"].as_str().unwrap();
        assert!(page.contains(&format!("id=\"chart-{id}\"")), "{id} has no place");
    }
    assert_eq!(context["verdicts"].as_array().unwrap().len(), 3);
    let carried: RunRecord = serde_json::from_value(unpacked(&page, "record-0")).unwrap();
    assert_eq!(carried, thinned(&whole), "with verdicts in words");
}

#[test]
fn cells_whose_texts_need_the_width_of_the_page_have_it() {
    let cells = |columns: u32, text: &str| {
        let x: Vec<f64> = (0..columns).map(f64::from).collect();
        let labels = Some(vec![text.to_owned(); x.len()]);
        let series = ChartSeries { kind: ChartKind::Cells, x, labels, ..ChartSeries::default() };
        Chart { series: vec![series], ..Chart::default() }
    };
    assert!(is_wide(&cells(10, "1.23 ms/GB")));
    assert!(!is_wide(&cells(3, "1.23 ms/GB")) && !is_wide(&cells(10, "1.2")));
}

/// What is set of a drive is named where its name alone would not do.
#[test]
fn a_drive_and_the_filesystem_on_it_have_one_card() {
    let on = |name: &str, kind: &str, set: &str| {
        let mut it = session("stall", 0.0, [0.0, 0.0]);
        name.clone_into(&mut it.target.name);
        kind.clone_into(&mut it.target.kind);
        if !set.is_empty() {
            it.target.identity.insert("set-by-the-user".to_owned(), set.to_owned());
        }
        it
    };
    let cards = |sessions: Vec<Session>| -> Vec<String> {
        let page = made(&one(record(sessions, Outcome::Complete)));
        let context = unpacked(&page, "context");
        let cards = context["verdicts"].as_array().unwrap().iter();
        cards.map(|card| card["target"].as_str().unwrap().to_owned()).collect()
    };
    let files = |set| on("ext4 on vendor2", "filesystem", set);
    let drive = |set| on("vendor2", "emulated", set);
    assert_eq!(cards(vec![drive(""), files("")]), ["vendor2"]);
    assert_eq!(cards(vec![drive("a=1"), files("a=1")]), ["vendor2"]);
    assert_eq!(cards(vec![drive(""), files("a=1")]), ["vendor2", "vendor2, a=1"]);
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let sources = one(three_drives());
    assert_eq!(made(&sources), made(&sources));
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere() {
    let page = made(&one(three_drives()));
    let (head, _) = page.split_once("<script>").unwrap();
    for reference in ["src=\"", "@import", "<link", "url(http"] {
        assert!(!head.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// Whoever made the record: what it holds is shown, never run.
#[test]
fn text_of_a_record_stays_text() {
    let mut hostile = three_drives();
    let attack = "</script><img src=x onerror=alert(1)>\"'&";
    let session = &mut hostile.sessions[0];
    session.target.name = attack.to_owned();
    session.state = attack.to_owned();
    session.figures[0].title = attack.to_owned();
    session.figures[0].verdict = Some(Verdict::Other(attack.to_owned()));
    session.caveats.push(attack.to_owned());
    session.target.identity.insert(attack.to_owned(), attack.to_owned());
    hostile.outcome = Outcome::Failed { message: attack.to_owned() };
    let page = made(&[PageSource {
        messages: vec![attack.to_owned()],
        ..PageSource::of(attack, hostile)
    }]);
    assert!(!page.contains("<img src=x"), "the attack is in the page");
    assert!(page.contains("&lt;/script&gt;&lt;img src=x"));
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_the_rest_is_shown() {
    let broken = PageSource {
        name: "broken-run".to_owned(),
        record: None,
        host: BTreeMap::new(),
        messages: vec!["the record is cut off after 17 bytes".to_owned()],
    };
    let sound = PageSource::of("sound-run", three_drives());
    let page = made(&[broken, sound]);
    let (before, _) = page.split_once("id=\"verdict\"").unwrap();
    assert!(before.contains("broken-run") && before.contains("cut off after 17 bytes"));
    assert!(page.contains("vendor2") && page.contains("id=\"method-delete-stall\""));
}

#[test]
fn a_record_of_nothing_still_is_a_page() {
    let page = made(&one(record(Vec::new(), Outcome::Interrupted)));
    assert!(page.contains("interrupted") && page.contains("Nothing was measured"));
}

#[test]
fn a_baseline_is_compared_where_there_are_two_records() {
    let before = three_drives();
    let mut after = before.clone();
    let slower = |figure: &mut trimbench_results::Figure| {
        figure.value *= 3.0;
        figure.interval = trimbench_results::Interval::new(figure.value, figure.value, 0.95);
    };
    after.sessions[0].figures.iter_mut().filter(|one| one.id == "stutter").for_each(slower);
    let alone = made(&one(before.clone()));
    assert!(!alone.contains("id=\"baseline\""));
    let page = made(&[PageSource::of("before", before), PageSource::of("after", after)]);
    let (_, section) = page.split_once("<section id=\"baseline\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    assert!(section.contains("worse"), "{section}");
    assert!(section.contains("1 of "), "{section}");
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let two = |other: RunRecord| {
        vec![PageSource::of("one", three_drives()), PageSource::of("two", other)]
    };
    let elsewhere = record(vec![session("another", 0.1, [0.0, 0.2])], Outcome::Complete);
    let nothing = record(Vec::new(), Outcome::Complete);
    for sources in [one(three_drives()), two(three_drives()), two(elsewhere), one(nothing)] {
        let page = made(&sources);
        let (page, _) = page.split_once("<script>").unwrap();
        for link in page.split("href=\"#").skip(1) {
            let (id, _) = link.split_once('"').unwrap();
            assert!(page.contains(&format!(" id=\"{id}\"")), "#{id} leads nowhere");
        }
    }
}

/// A long series is carried thinned, with its extreme.
#[test]
fn a_long_series_is_carried_without_losing_its_stall() {
    let mut long = session("vendor2", 0.4, [0.3, 0.5]);
    let step = &mut long.steps[2];
    let count = 300_000;
    let mut y = vec![Some(0.1); count];
    y[123_456] = Some(2000.0);
    let x: Vec<f64> = (0..count).map(|place| place as f64 * 1e-5).collect();
    let response_max = Series::new("s", "ms", x, y);
    step.store(&DeletionStep { response_max, ..step.read().unwrap() });
    let page = made(&one(record(vec![long], Outcome::Complete)));
    let carried = unpacked(&page, "record-0").to_string();
    assert!(carried.contains("2000.0"), "the record lost its stall");
    assert!(unpacked(&page, "context").to_string().contains("2000.0"), "the chart lost it");
    assert!(page.contains("no extreme is left out"));
    assert!(carried.len() < 2_000_000, "{} bytes", carried.len());
}
