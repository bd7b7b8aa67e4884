use trimbench_results::{Session, Step};

use super::{expected, sweep};
use crate::acceptance::Capture;
use crate::acceptance::planted::{failing, session};
use crate::tracepoints::{Kind, TraceEvent};

fn capture() -> Capture {
    Capture {
        name: "sweep".to_owned(),
        command: "trimbench run trim-sweep".to_owned(),
        status: Some(0),
        elapsed_seconds: 1.0,
        output: "sweep.stdout".to_owned(),
        errors: "sweep.stderr".to_owned(),
    }
}

/// A row of three discards of `bytes` each, cut out of pieces of 64 KiB.
fn row(kind: &str, queue_depth: f64, bytes: f64) -> Step {
    let mut step = Step::new(format!("{kind}-64KiB-qd{queue_depth}"), kind);
    step.set("commands_planned", 3.0);
    step.set("queue_depth", queue_depth);
    step.set("size_bytes", 65_536.0);
    step.measure("commands_issued", 3.0);
    step.measure("commands_completed", 3.0);
    step.measure("discarded_bytes_issued", 3.0 * bytes);
    step
}

fn planted() -> Session {
    let mut session = session("loop0", &[]);
    session.steps = vec![
        Step::new("purge", "purge-by-trim"),
        row("mapped", 1.0, 65_536.0),
        row("trimmed", 8.0, 65_536.0),
        row("mapped-unaligned", 1.0, 65_024.0),
    ];
    session
}

/// The purge, and what the rows need: the trimmed one is prepared by as many discards.
fn completed() -> Vec<u64> {
    [vec![4_194_304], vec![128; 3], vec![128; 6], vec![127; 3]].concat()
}

fn events(completed: &[u64], issued: usize) -> Vec<TraceEvent> {
    let event = |kind, sectors| TraceEvent {
        kind,
        is_discard: true,
        at: 0,
        task: String::new(),
        sector: 0,
        sectors,
        error: 0,
    };
    let issues = completed.iter().cycle().take(issued);
    let issues = issues.map(|sectors| event(Kind::Issue, *sectors));
    issues.chain(completed.iter().map(|sectors| event(Kind::Complete, *sectors))).collect()
}

fn failed(session: &Session, events: &[TraceEvent]) -> Vec<String> {
    let findings = sweep(session, events, &capture()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

const ROWS: &str = "rows of which the device completed each discard as it was issued";

#[test]
fn a_row_is_prepared_by_discards_only_where_it_is_to_be_trimmed() {
    let of = |kind| expected(&row(kind, 1.0, 65_536.0)).unwrap();
    assert_eq!(of("mapped"), (vec![], vec![128; 3]));
    assert_eq!(of("trimmed"), (vec![128; 3], vec![128; 3]));
}

#[test]
fn a_trace_of_what_was_issued_holds() {
    let completed = completed();
    let events = events(&completed, completed.len());
    assert_eq!(failed(&planted(), &events), Vec::<String>::new());
    let note = &sweep(&planted(), &events, &capture()).unwrap()[0].note;
    assert!(note.contains("9 discards") && note.contains("depths 1, 8"), "{note}");
}

#[test]
fn merged_cut_and_lost_discards_are_found() {
    // Two of a row became one, and another was cut: as many, and not the same.
    let mut merged = completed();
    merged.splice(1..3, [256]);
    merged.splice(2..3, [64, 64]);
    assert_eq!(failed(&planted(), &events(&merged, merged.len())), [ROWS]);
    let completed = completed();
    let lost = events(&completed[..completed.len() - 2], completed.len() - 2);
    assert!(
        sweep(&planted(), &lost, &capture()).unwrap_err().to_string().contains("11"),
        "too few"
    );
    let never_done = failed(&planted(), &events(&completed, completed.len() + 1));
    assert_eq!(never_done, ["completions at the device over issues to it, all discards"]);
}

#[test]
fn a_failed_discard_and_a_counter_that_says_otherwise_are_found() {
    let completed = completed();
    let mut failing_events = events(&completed, completed.len());
    failing_events.last_mut().unwrap().error = -5;
    assert_eq!(failed(&planted(), &failing_events), ["discards that the device failed"]);
    let mut session = planted();
    session.steps[2].measure("commands_completed", 2.0);
    assert_eq!(failed(&session, &events(&completed, completed.len())), [ROWS]);
}
