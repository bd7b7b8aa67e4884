use trimbench_results::{PlannedSession, Program, SCHEMA};

use super::*;

/// A running record of this seed with one unfinished session of so many steps.
fn record(seed: u64, steps: usize) -> RunRecord {
    let plan = PlannedSession {
        method: "trim-integrity".to_owned(),
        target: "image".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let mut session = Session {
        state: String::new(),
        steps: (0..steps).map(step).collect(),
        ..Session::planned(plan.clone(), 1)
    };
    session.target.kind = "image".to_owned();
    session.target.clock = "wall".to_owned();
    let program = Program {
        name: "trimbench".to_owned(),
        version: "0.0.0".to_owned(),
        commit: "abc".to_owned(),
        model_version: 1,
    };
    let outcome = Outcome::Running;
    RunRecord {
        schema: SCHEMA,
        program,
        run_id: None,
        seed,
        outcome,
        advice: Vec::new(),
        plan: vec![plan],
        sessions: vec![session],
    }
}

/// What has come so far of one session.
fn steps(steps: usize) -> Progress {
    Progress { sessions: 0, steps }
}

fn step(number: usize) -> Step {
    let mut step = Step::new(format!("step-{number}"), "trim");
    step.metrics.insert("latency_s".to_owned(), number as f64 / 3.0);
    step
}

/// The record that comes of `record(1, steps)`.
fn completed(steps: usize) -> RunRecord {
    let mut record = record(1, steps);
    record.outcome = Outcome::Complete;
    record.sessions[0].finished = true;
    record
}

#[test]
fn a_record_between_what_was_kept_and_the_end_is_good() {
    let whole = completed(5);
    for is_same in [true, false] {
        for (has, least) in [(3, 3), (4, 3), (0, 0)] {
            let found = record(1, has);
            let checked = check((&found.to_json(), b""), (&whole, is_same), steps(least));
            assert_eq!(checked, Ok(found));
        }
        assert!(check((&whole.to_json(), b""), (&whole, is_same), Progress::END).is_ok());
        let mut compared = whole.clone();
        compared.sessions[0].steps[0].metrics.insert("stutter_s".to_owned(), 0.5);
        assert!(check((&record(1, 3).to_json(), b""), (&compared, is_same), steps(3)).is_ok());
    }
}

#[test]
fn a_record_that_is_cut_off_is_found() {
    let bytes = record(1, 3).to_json();
    for length in [0, 1, bytes.len() / 2, bytes.len() - 2] {
        let wrong = check((&bytes[..length], b""), (&completed(5), true), steps(0)).unwrap_err();
        assert!(wrong.starts_with("unreadable: "), "{length}: {wrong}");
    }
}

#[test]
fn the_record_of_another_run_is_found() {
    let whole = completed(5);
    let mut other_step = record(1, 3);
    other_step.sessions[0].steps[1] = step(7);
    let mut other_value = record(1, 3);
    other_value.sessions[0].steps[1].metrics.insert("latency_s".to_owned(), 1.0);
    let mut other_method = record(1, 3);
    other_method.plan[0].method = "settle".to_owned();
    for (other, is_same) in [
        (record(2, 3), true),
        (record(2, 3), false),
        (other_method, false),
        (other_step.clone(), true),
        (other_step, false),
        (other_value, true),
    ] {
        let wrong = check((&other.to_json(), b""), (&whole, is_same), steps(0)).unwrap_err();
        assert_eq!(wrong, "it is the record of another run");
    }
}

#[test]
fn a_record_that_is_older_than_what_was_kept_is_found() {
    let wrong = check((&record(1, 2).to_json(), b""), (&completed(5), true), steps(3)).unwrap_err();
    assert!(wrong.starts_with("it is older than what was kept: "), "{wrong}");
    let whole = completed(5);
    let running = check((&record(1, 5).to_json(), b""), (&whole, true), Progress::END).unwrap_err();
    assert!(running.starts_with("it is older"), "{running}");
}

#[test]
fn an_event_says_that_what_came_before_it_is_kept() {
    let printed = "{\"event\":\"step\",\"session\":0}\n{\"event\":\"step\",\"session\":0}\n\
                   {\"event\":\"figure\",\"session\":0}\n{\"event\":\"step\",\"session\":1}\n\
                   {\"event\":\"step\",\"session\":1}\n";
    let upto = |lines: usize, promise| {
        let text: String = printed.split_inclusive('\n').take(lines).collect();
        Acknowledged::by_all(promise, &text)
    };
    for (lines, by_step, by_session) in
        [(0, (0, 0), (0, 0)), (1, (0, 0), (0, 0)), (3, (0, 1), (0, 0)), (5, (1, 1), (1, 0))]
    {
        let progress = |(sessions, steps)| Progress { sessions, steps };
        assert_eq!(upto(lines, Promise::Steps), progress(by_step), "{lines}");
        assert_eq!(upto(lines, Promise::Sessions), progress(by_session), "{lines}");
    }
    let half = format!("{printed}{{\"event\":\"end\",\"end\":{{\"status\":\"complete\"}}}}");
    assert_eq!(Acknowledged::by_all(Promise::Steps, &half), upto(5, Promise::Steps), "cut off");
    assert_eq!(Acknowledged::by_all(Promise::Steps, &format!("{half}\n")), Progress::END);
}

#[test]
fn a_resumed_run_that_lacks_something_or_measures_again_is_found() {
    let (kept, whole) = (record(1, 3), completed(5));
    assert_eq!(check_resumed(&whole, Some(&kept), &completed(5)), Ok(()));
    let mut again = whole.clone();
    again.sessions[0].steps[1].metrics.insert("latency_s".to_owned(), 9.0);
    let wrong = check_resumed(&again, Some(&kept), &whole).unwrap_err();
    assert!(wrong.contains("measured again"), "{wrong}");
    let wrong = check_resumed(&completed(4), Some(&kept), &whole).unwrap_err();
    assert!(wrong.contains("other steps"), "{wrong}");
    let wrong = check_resumed(&record(1, 5), Some(&kept), &whole).unwrap_err();
    assert!(wrong.contains("not complete"), "{wrong}");
}
