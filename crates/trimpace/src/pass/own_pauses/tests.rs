use super::*;

fn sample(from_ms: u64, to_ms: u64) -> SeenRequest {
    let at = |ms| Instant::from_start(Nanos::from_millis(ms));
    let stands_for = Nanos::from_millis(1);
    SeenRequest { submitted: at(from_ms), completed: at(to_ms), stands_for }
}

#[test]
fn a_request_that_is_known_a_look_after_its_pause_is_still_explained() {
    let noticed = Instant::from_start(Nanos::from_millis(2_000));
    let pause = OwnPause { longest: Nanos::from_secs(1), noticed };
    let explained = [sample(990, 2_010), sample(999, 2_000), sample(1_999, 2_001)];
    assert!(explained.into_iter().all(|sample| pause.explains(sample)));
    // It lasted for much longer than the pause, or began after it.
    assert!(!pause.explains(sample(0, 2_010)));
    assert!(!pause.explains(sample(2_001, 3_000)));
}
