use super::*;

const STUTTER: Metric = Metric::new("stutter", "stutter per GB", "s/GB", Direction::Lower)
    .headline()
    .of_role(Role::StutterPerGb);

fn text(value: &str) -> String {
    value.to_owned()
}

/// A record with every kind of content.
pub(super) fn record() -> RunRecord {
    let mut step = Step::new("delete-1GiB-0", "delete");
    step.parameters.insert(text("size_bytes"), 1_073_741_824.0);
    step.metrics.insert(text("stutter_s"), 0.1 + 0.2);
    step.histograms.insert(text("probe"), crate::LatencyHistogram::new().to_text());
    let series = Series::new("s", "ms", vec![0.0, 0.5], vec![Some(1e-7), None]).unwrap();
    step.series.insert(text("response-ms-max"), series);
    let mut figure = STUTTER.measured(1.0 / 3.0).unwrap();
    figure.interval = Interval::new(0.3, 0.4, 0.95);
    let plan = PlannedSession {
        method: text("delete-stall"),
        target: text("sim:vendor2"),
        preset: text("quick"),
        options: BTreeMap::from([(text("rate"), text("1000")), (text("mode"), text("unlink"))]),
    };
    let mut session = Session {
        state: text("fresh, filled once"),
        steps: vec![step],
        figures: vec![figure],
        caveats: vec![text("emulated")],
        trace_hash: Some(text("00ff")),
        finished: true,
        ..Session::planned(plan.clone(), 1)
    };
    session.target.name = text("vendor2");
    session.target.provenance = Some(Provenance { sourced: 10, fitted: 4, assumed: 9, set: 0 });
    RunRecord {
        schema: SCHEMA,
        program: Program {
            name: text("trimbench"),
            version: text("0.0.0"),
            commit: text("abc"),
            model_version: 1,
        },
        run_id: None,
        seed: u64::MAX,
        outcome: Outcome::Failed { message: text("device \"gone\"") },
        advice: Vec::new(),
        plan: vec![plan],
        sessions: vec![session],
    }
}

fn edited(from: &str, to: &str) -> Result<RunRecord, RecordError> {
    let json = String::from_utf8(record().to_json()).unwrap();
    assert!(json.contains(from), "the text to edit is there: {from}");
    RunRecord::from_json(json.replacen(from, to, 1).as_bytes())
}

#[test]
fn a_record_read_and_written_again_keeps_its_bytes() {
    let json = record().to_json();
    let again = RunRecord::from_json(&json).unwrap();
    assert_eq!(again, record());
    assert_eq!(again.to_json(), json);
    assert_eq!(json.last(), Some(&b'\n'));
}

#[test]
fn a_record_of_schema_1_is_read_as_what_it_would_be_today() {
    // The histogram in it never was one.
    let old = include_str!("golden/schema-1.json");
    let old = old.replace("HISTFAAA", &crate::LatencyHistogram::new().to_text());
    assert!(!old.contains("direction"));
    assert_eq!(RunRecord::from_json(old.as_bytes()).unwrap(), record());
}

#[test]
fn a_record_of_schema_2_is_read_with_its_words_as_verdicts() {
    let mut now = record();
    for verdict in [Verdict::SteadyAt { round: 7 }, Verdict::Other(text("as never before"))] {
        now.sessions[0].figures[0].verdict = Some(verdict);
        let mut old = RunRecord { schema: 2, ..now.clone() };
        let figure = &mut old.sessions[0].figures[0];
        figure.verdict = figure.words().map(Verdict::Other);
        assert_eq!(RunRecord::from_json(&old.to_json()).unwrap(), now);
        assert_eq!(RunRecord::from_json(&now.to_json()).unwrap(), now);
    }
}

#[test]
fn every_float_survives_reading_to_the_last_bit() {
    let mut rng = trimbench_core::rng::Rng::new(7);
    let mut record = record();
    let numbers = (0..20_000).map(|index| (format!("m{index}"), f64::from_bits(rng.bits())));
    let finite = numbers.filter(|(_, number)| number.is_finite());
    record.sessions[0].steps[0].metrics.extend(finite);
    let json = record.to_json();
    assert_eq!(RunRecord::from_json(&json).unwrap().to_json(), json);
}

#[test]
fn the_layout_is_that_of_schema_4() {
    let json = String::from_utf8(record().to_json()).unwrap();
    let top: Vec<&str> = json
        .lines()
        .filter(|line| line.starts_with("  \""))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert_eq!(top, ["schema", "program", "seed", "outcome", "plan", "sessions"]);
    assert!(json.starts_with("{\n  \"schema\": 4,\n"));
    assert!(json.contains("\"status\": \"failed\",\n    \"message\": \"device \\\"gone\\\"\""));
    assert!(json.contains("\"seed\": 18446744073709551615"));
    assert!(json.contains("\"stutter_s\": 0.30000000000000004"));
    // Maps are sorted, whatever the order of insertion.
    assert!(json.find("\"mode\"").unwrap() < json.find("\"rate\"").unwrap());
}

#[test]
fn a_record_cut_off_anywhere_says_where() {
    let json = record().to_json();
    for length in 0..json.len() - 2 {
        match RunRecord::from_json(&json[..length]) {
            Err(RecordError::CutOff { offset }) => assert_eq!(offset, length as u64),
            other => panic!("{length} bytes: {other:?}"),
        }
    }
    RunRecord::from_json(&json[..json.len() - 1]).unwrap();
}

#[test]
fn what_is_no_record_is_refused_with_its_kind_and_a_hint() {
    let kind = |json: &str| match RunRecord::from_json(json.as_bytes()) {
        Err(error) => {
            assert!(!error.hint().is_empty());
            error.to_string()
        }
        Ok(_) => text("accepted"),
    };
    assert_eq!(kind("hello"), "not JSON: unexpected text at line 1, column 1");
    assert_eq!(kind("{\n  ]"), "not JSON: unexpected text at line 2, column 3");
    assert_eq!(kind("[]"), "JSON, but not a run record of trimbench");
    assert_eq!(kind("{\"schema\": 1}"), "JSON, but not a run record of trimbench");
    assert_eq!(kind("{\"schema\": 0, \"program\": 1}"), "JSON, but not a run record of trimbench");
    assert_eq!(
        kind("{\"schema\": 7, \"program\": 1}"),
        "the record has format 7; this version reads up to 4"
    );
    assert_eq!(
        kind("{\"schema\": 1, \"program\": 1}"),
        "a value in the record is not what its field holds"
    );
}

#[test]
fn a_missing_field_is_named() {
    match edited("      \"method_version\": 1,\n", "") {
        Err(RecordError::MissingField { field, line }) => {
            assert_eq!(field, "method_version");
            assert!(line > 1);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_record_with_a_null_or_huge_number_is_not_read() {
    let number = "\"stutter_s\": 0.30000000000000004";
    assert!(matches!(edited(number, "\"stutter_s\": null"), Err(RecordError::WrongValue { .. })));
    assert!(edited(number, "\"stutter_s\": 1e999").is_err());
    assert!(matches!(
        edited("\"low\": 0.3", "\"low\": 0.5"),
        Err(RecordError::NotANumber { session: 0, .. })
    ));
}

#[test]
fn no_constructor_lets_a_number_in_that_is_none() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(STUTTER.measured(bad), None);
        assert_eq!(Series::new("s", "ms", vec![bad], vec![None]), None);
        assert_eq!(Series::new("s", "ms", vec![0.0], vec![Some(bad)]), None);
        assert_eq!(Interval::new(bad, 1.0, 0.95), None);
        assert_eq!(Interval::new(0.0, 1.0, bad), None);
    }
    assert_eq!(Interval::new(1.0, 0.0, 0.95), None);
    assert_eq!(Series::new("s", "ms", vec![0.0], vec![]), None);
}

#[test]
fn validation_finds_a_number_that_is_none_wherever_it_stands() {
    let spoil: [fn(&mut Session); 5] = [
        |session| session.steps[0].metrics.extend([(text("m"), f64::NAN)]),
        |session| session.steps[0].parameters.extend([(text("p"), f64::INFINITY)]),
        |session| session.steps[0].series.values_mut().for_each(|s| s.y[0] = Some(f64::NAN)),
        |session| session.figures[0].value = f64::NAN,
        |session| session.figures[0].interval.as_mut().unwrap().high = f64::NAN,
    ];
    record().validate().unwrap();
    for (index, spoil) in spoil.into_iter().enumerate() {
        let mut record = record();
        spoil(&mut record.sessions[0]);
        assert!(
            matches!(record.validate(), Err(RecordError::NotANumber { .. })),
            "spoiled in way {index}"
        );
    }
}

#[test]
#[should_panic(expected = "a record to be written is valid")]
fn a_number_that_is_none_is_never_written() {
    let mut record = record();
    record.sessions[0].figures[0].value = f64::NAN;
    record.to_json();
}

#[test]
fn one_invalidating_caveat_anywhere_invalidates_the_run() {
    let bad = || text(Caveat::WindowTooShort.id());
    assert!(record().is_valid());
    let put: [fn(&mut Session, String); 3] = [
        |session, id| session.caveats.push(id),
        |session, id| session.steps[0].caveats.push(id),
        |session, id| session.figures[0].caveats.push(id),
    ];
    for put in put {
        let mut record = record();
        put(&mut record.sessions[0], text("from-the-future"));
        assert!(record.is_valid());
        put(&mut record.sessions[0], bad());
        assert!(!record.is_valid());
    }
}

#[test]
fn a_caveat_is_noted_once() {
    let mut step = Step::new("a", "delete");
    step.caveat(Caveat::Noise);
    step.caveat(Caveat::Noise);
    assert_eq!(step.caveats, ["noise"]);
}

#[test]
fn an_interval_holds_its_ends() {
    let interval = Interval::new(-1.0, 2.0, 0.95).unwrap();
    assert!(interval.contains(-1.0) && interval.contains(0.0) && interval.contains(2.0));
    assert!(!interval.contains(2.1) && !interval.contains(-1.1));
    assert!(!interval.contains(f64::NAN));
}

#[test]
fn a_histogram_that_cannot_be_read_or_counts_otherwise_is_refused_and_named() {
    let with = |key: &str, histogram: &str| {
        let mut record = record();
        let step = &mut record.sessions[0].steps[0];
        step.metrics.insert(text("command_count"), 1.0);
        step.histograms.insert(text(key), text(histogram));
        record.to_json()
    };
    let mut one = crate::LatencyHistogram::new();
    one.record(trimbench_core::Nanos(5));
    RunRecord::from_json(&with("latency", &one.to_text())).unwrap();
    one.record(trimbench_core::Nanos(5));
    for (histogram, expected) in [
        ("no base64", "`latency`: the histogram is not base64"),
        ("AAAA", "`latency`: the histogram is not in HdrHistogram V2 format"),
        (one.to_text().as_str(), "histogram `latency` has 2 commands, and `command_count` is 1"),
    ] {
        let json = with("latency", histogram);
        let refusal = RunRecord::from_json(&json).unwrap_err();
        let place = "session 0, step `delete-1GiB-0`: ";
        assert_eq!(refusal.to_string(), format!("{place}{expected}"));
        // What is shown of it has all but the histogram.
        let Salvaged { record, flaws } = RunRecord::salvage(&json).unwrap();
        assert_eq!(flaws, [format!("{place}{expected}: left out")]);
        let step = &record.sessions[0].steps[0];
        assert!(step.histograms.contains_key("probe") && !step.histograms.contains_key("latency"));
    }
}

#[test]
fn a_session_that_is_not_of_the_plan_is_found() {
    let mut record = record();
    assert_eq!(record.stray_session(), None);
    record.sessions.push(record.sessions[0].clone());
    assert_eq!(record.stray_session(), Some(1));
    record.plan.push(record.plan[0].clone());
    assert_eq!(record.stray_session(), None);
    record.sessions[0].plan.preset = text("other");
    assert_eq!(record.stray_session(), Some(0));
}
