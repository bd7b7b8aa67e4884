use serde_json::json;
use trimbench_results::Step;

use super::*;
use crate::acceptance::planted::{
    Planted, failing, record as record_of, session as planted_session,
};

/// The counters of a device that has written and trimmed so many bytes.
fn counters(written: u64, trimmed: u64) -> String {
    format!("9 0 9 0 7 0 {} 1 0 1 1 3 0 {} 0 0 0\n", written / 512, trimmed / 512)
}

/// What fails of a recording of 8 MiB in 100 writes and 4 MiB in 100 TRIMs.
fn failed(counted: (u64, u64), trims: u64, replayed: (f64, f64)) -> String {
    let planted = Planted::new();
    planted.capture("before", 0, &counters(512, 1024));
    planted.capture("after", 0, &counters(512 + counted.0, 1024 + counted.1));
    let statistics = json!({"kinds": [
        {"kind": "write", "commands": 100, "bytes": 8 << 20},
        {"kind": "trim", "commands": trims, "bytes": 4 << 20},
    ]});
    planted.capture("stat", 0, &statistics.to_string());
    for (name, _) in REPLAYS {
        planted.capture(name, 0, "");
        let mut session = planted_session(name, &[]);
        let mut pass = Step::new("qd32-kept", "pass");
        pass.measure("write_count", replayed.0);
        pass.measure("discarded_bytes", replayed.1);
        session.steps.push(pass);
        planted.record(&format!("{name}/run.json"), &record_of(vec![session]));
    }
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

#[test]
fn what_was_recorded_counted_and_replayed_must_agree() {
    let (all, whole) = ((8 << 20, 4 << 20), (100.0, f64::from(4 << 20)));
    assert_eq!(failed(all, 100, whole), "");
    let written = "recorded less counted by the device: bytes written";
    assert_eq!(failed(((8 << 20) + 512, 4 << 20), 100, whole), written);
    let trimmed = "recorded less counted by the device: bytes trimmed";
    assert_eq!(failed((8 << 20, 0), 100, whole), trimmed);
    assert_eq!(failed(all, 99, whole), "TRIMs recorded");
    let writes = "emulated drive: writes replayed, loop device: writes replayed";
    assert_eq!(failed(all, 100, (99.0, whole.1)), writes);
    let trims = "emulated drive: bytes trimmed, loop device: bytes trimmed";
    assert_eq!(failed(all, 100, (100.0, 0.0)), trims);
}
