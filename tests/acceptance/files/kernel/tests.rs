use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What is printed: of each log the model's discards, discarded and written bytes where the kernel
/// has 1000 each in all runs but two.
fn found(model: [u64; 3], discarded_at_unmount: u64) -> Vec<Finding> {
    let tally = |[discards, discarded, written]: [u64; 3]| {
        json!({
            "discards": discards,
            "discarded_bytes": discarded,
            "written_bytes": written,
        })
    };
    let runs = [[1_000; 3], [500; 3], [1_000; 3], [1_000; 3], [3_000; 3]].map(tally);
    let log = |name: &str| {
        json!({
            "name": name,
            "freed_bytes": 400,
            "model": tally(model),
            "kernel": runs,
        })
    };
    let logs = [OVER_TRIM, "second", "third"].map(log);
    let unmount = json!({ "files": 300, "model": discarded_at_unmount, "kernel": vec![7; RUNS] });
    let planted = Planted::new();
    planted.capture("tallies", 0, &json!({ "logs": logs, "unmount": unmount }).to_string());
    read(&planted.raw()).unwrap()
}

#[test]
fn a_model_that_is_too_far_off_is_seen() {
    assert_eq!(failing(&found([1_000; 3], 10)), Vec::<&str>::new());
    assert_eq!(failing(&found([1_149, 901, 1_099], 299)), Vec::<&str>::new());
    assert_eq!(failing(&found([1_151, 1_000, 1_000], 10)).len(), 3, "in each log");
    assert_eq!(failing(&found([1_000, 899, 1_000], 10)).len(), 3);
    assert_eq!(failing(&found([1_000, 1_000, 1_101], 10)).len(), 3);
    assert_eq!(failing(&found([1_000; 3], 300)).len(), 1, "nothing dropped");
    // No over-trim: also too few bytes in three logs.
    assert_eq!(failing(&found([1_000, 799, 1_000], 10)).len(), 4);
}

#[test]
fn too_few_runs_are_an_error() {
    let planted = Planted::new();
    let tally = json!({ "discards": 1, "discarded_bytes": 1, "written_bytes": 1 });
    let log = json!({ "name": "x", "freed_bytes": 1, "model": tally, "kernel": [tally] });
    let unmount = json!({ "files": 1, "model": 1, "kernel": [1] });
    let printed = json!({ "logs": [log, log, log], "unmount": unmount });
    planted.capture("tallies", 0, &printed.to_string());
    assert!(read(&planted.raw()).is_err());
}
