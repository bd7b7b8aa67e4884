use super::*;

fn at(ms: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(ms))
}

fn sample(from_ms: u64, to_ms: u64) -> SeenRequest {
    let stands_for = Nanos::from_millis(1);
    SeenRequest { submitted: at(from_ms), completed: at(to_ms), stands_for }
}

#[test]
fn a_request_that_is_known_some_looks_after_its_pause_is_still_explained() {
    let mut pauses = OwnPauses::default();
    pauses.note(OwnPause { longest: Nanos::from_secs(1), noticed: at(2_000) });
    pauses.note(OwnPause { longest: Nanos::from_millis(3), noticed: at(2_004) });
    let explained = [sample(990, 2_010), sample(999, 2_000), sample(1_999, 2_001)];
    assert!(explained.into_iter().all(|sample| pauses.explain(sample)));
    // It lasted for much longer than the pauses, or began after the long one.
    assert!(!pauses.explain(sample(0, 2_010)));
    assert!(!pauses.explain(sample(2_001, 3_000)));
}
