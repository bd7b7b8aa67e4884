use trimbench_results::Step;

use super::*;
use crate::acceptance::planted::{Planted, failing, record, session as planted_session};

/// Lines of 1,100 writes, and of the huge TRIM in two pieces if it is kept.
fn lines(kept: bool) -> String {
    let issue = |at: u64, (kind, offset, length): (&str, u64, u64)| {
        let kind = kind.to_owned();
        serde_json::to_string(&Issue { at, kind, offset, length }).unwrap() + "\n"
    };
    let mut lines: String =
        (0..1_100).map(|at| issue(at * 7, ("write", at << 14, 1 << 14))).collect();
    if kept {
        let middle = 2 << 30;
        lines += &issue(50, ("discard", HUGE.0, middle - HUGE.0));
        lines += &issue(50, ("discard", middle, HUGE.1 - middle));
        lines += &issue(51, ("discard", 1 << 20, 1 << 14));
    }
    lines
}

/// What fails with the first place of the lines changed, and a stall of such times.
fn failed((from, to): (&str, &str), held: f64, late: f64) -> Vec<String> {
    let planted = Planted::new();
    planted.capture("kept", 0, &lines(true).replacen(from, to, 1));
    planted.capture("stripped", 0, &lines(false));
    planted.capture(&stall(0), 0, "");
    let mut session = planted_session("/dev/loop0", &[]);
    let mut pass = Step::new("paced-kept", "pass");
    pass.measure("service_ms_max", held);
    pass.measure("lateness_ms_max", late);
    pass.measure("write_count", 5_000.0);
    session.steps.push(pass);
    planted.record("stall-0/run.json", &record(vec![session]));
    let found = read(&planted.raw()).unwrap();
    failing(&found).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_schedule_that_moved_or_a_trim_that_was_cut_fails() {
    assert_eq!(failed(("", ""), 2_000.0, 3.0), [""; 0]);
    let moved = "emulated: commands that are issued at another time without the TRIMs";
    assert_eq!(failed(("\"at\":700,", "\"at\":701,"), 2_000.0, 3.0), [moved]);
    let bytes = "emulated: bytes of a TRIM of 4 GiB and 4 KiB that arrived";
    let length = format!("\"length\":{}", HUGE.1 - (2 << 30));
    assert_eq!(failed((&length, "\"length\":2147483648"), 2_000.0, 3.0), [bytes]);
}

#[test]
fn a_stall_that_did_not_happen_or_was_felt_in_the_schedule_fails() {
    assert_eq!(failed(("", ""), 900.0, 3.0), ["loop device, stall-0: longest write"]);
    assert_eq!(failed(("", ""), 2_000.0, 11.0), ["loop device, stall-0: latest issue"]);
}
