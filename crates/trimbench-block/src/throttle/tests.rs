use super::*;

const TARGET: Nanos = Nanos::from_millis(2);

fn at(millis: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(millis))
}

/// Limits window by window, while discards are always under way.
fn limits_under_discards(tags: u32, windows: u64) -> Vec<u32> {
    let mut throttle = Throttle::new(TARGET, tags);
    let mut limits = vec![throttle.limit()];
    assert!(throttle.admits(at(0)));
    for window in 1..=windows {
        assert_eq!(throttle.next_event(), at(100 * window));
        throttle.end_window(at(100 * window));
        limits.push(throttle.limit());
    }
    limits
}

#[test]
fn with_discards_alone_the_limit_grows_to_a_quarter_of_three_quarters_of_the_tags() {
    // As seen on Linux 6.18 with 128 tags: 4, 8 and 24.
    assert_eq!(limits_under_discards(128, 5), [4, 8, 16, 24, 24, 24]);
    assert_eq!(limits_under_discards(32, 3), [4, 6, 6, 6]);
    assert_eq!(limits_under_discards(1_024, 7), [4, 8, 16, 31, 61, 121, 192, 192]);
    assert_eq!(limits_under_discards(1, 2), [1, 1, 1]);
}

#[test]
fn slow_reads_shrink_it_and_fast_ones_let_it_grow() {
    let mut throttle = Throttle::new(TARGET, 128);
    let mut window = |end: u64, latency| {
        for _ in 0..3 {
            assert!(throttle.admits(at(end - 90)));
            throttle.discard_ended();
        }
        throttle.read_begins(7, at(end - 50));
        throttle.read_ended(7, latency);
        throttle.end_window(throttle.next_event().max(at(end)));
        throttle.limit()
    };
    let (fast, slow) = (Nanos::from_micros(100), Nanos::from_millis(5));
    assert_eq!(window(100, fast), 8);
    // Back to the middle at once, then by halves.
    assert_eq!(window(200, slow), 4);
    assert_eq!(window(300, slow), 2);
    assert_eq!(window(400, slow), 1);
    assert_eq!(window(500, fast), 2);
}

#[test]
fn a_read_that_does_not_end_shrinks_it() {
    let mut throttle = Throttle::new(TARGET, 128);
    assert!(throttle.admits(at(0)));
    throttle.read_begins(1, at(10));
    throttle.end_window(at(100));
    assert_eq!(throttle.limit(), 2);
}

#[test]
fn it_returns_to_the_middle_when_nothing_happens() {
    let mut throttle = Throttle::new(TARGET, 128);
    assert!(throttle.admits(at(0)));
    throttle.end_window(at(100));
    throttle.discard_ended();
    // The end of a discard counts in the window in which it falls.
    let mut now = at(100);
    let mut limits = Vec::new();
    while throttle.next_event() != Instant::NEVER {
        now = throttle.next_event();
        throttle.end_window(now);
        limits.push(throttle.limit());
    }
    assert_eq!(limits, [16, 16, 16, 16, 16, 8, 8, 8, 8, 8, 4], "until {now}");
}

#[test]
fn who_waits_is_woken_when_half_of_the_limit_is_free() {
    let mut throttle = Throttle::new(TARGET, 128);
    for _ in 0..4 {
        assert!(throttle.admits(at(0)));
    }
    assert!(!throttle.admits(at(0)));
    assert_eq!([throttle.discard_ended(), throttle.discard_ended()], [false, true]);
}
