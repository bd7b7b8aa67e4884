use trimbench_results::Step;

use super::*;
use crate::acceptance::planted::{Planted, failing, record, session as planted_session};

/// What fails of a run that took so long and so much memory, with one metric of the trace changed.
fn failed(seconds: f64, kibibytes: u64, change: (&str, f64), gain: f64) -> Vec<String> {
    let planted = Planted::new();
    planted.timed_capture((NAME, seconds), 0, "");
    planted.file(MEMORY, format!("{kibibytes}\n").as_bytes());
    let ids = ["gain", "gain-min", "gain-max"]
        .into_iter()
        .flat_map(|key| [1, 32].map(|depth| format!("{key}-qd{depth}-kept")));
    let ids: Vec<String> = ids.collect();
    let figures: Vec<(&str, f64)> = ids.iter().map(|id| (id.as_str(), gain)).collect();
    let mut session = planted_session("drive", &figures);
    let mut trace = Step::new("trace", "survey");
    for (key, value) in [
        ("write_bytes", 800.1e9),
        ("write_count", 37.2e6),
        ("sequential_share", 0.251),
        ("trimmed_share", 0.129),
        ("read_count", 0.0),
        change,
    ] {
        trace.measure(key, value);
    }
    session.steps.push(trace);
    for id in ["qd1-kept", "qd1-stripped", "qd32-kept", "qd32-stripped"] {
        let mut pass = Step::new(id, "pass");
        for (key, value) in
            [("write_count", 37.2e6), ("written_bytes", 800.1e9), ("write_iops", 4_000.0)]
        {
            pass.measure(key, value);
        }
        session.steps.push(pass);
    }
    planted.record("master/run.json", &record(vec![session]));
    let found = read(&planted.raw()).unwrap();
    failing(&found).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_figure_is_held_to_its_bar() {
    let same = ("read_count", 0.0);
    assert_eq!(failed(44.9, 2_000_000, same, 2.4), [""; 0]);
    assert_eq!(failed(45.1, 2_000_000, same, 2.4), ["four passes, wall time"]);
    let memory = "most memory resident, two passes side by side";
    assert_eq!(failed(40.0, 2_100_000, same, 2.4), [memory]);
    for (key, value, what) in [
        ("write_bytes", 810e9, "bytes written"),
        ("write_count", 36.9e6, "write commands"),
        ("write_count", 37.8e6, "write commands"),
        ("sequential_share", 0.23, "share of sequential writes"),
        ("trimmed_share", 0.14, "share of the space trimmed in the end"),
        ("read_count", 1.0, "reads"),
    ] {
        let expected = format!("generated trace: {what}");
        assert_eq!(failed(40.0, 2_000_000, (key, value), 2.4), [expected]);
    }
    assert_eq!(failed(40.0, 2_000_000, same, 0.9).len(), 1);
}
