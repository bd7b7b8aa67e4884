use super::*;

fn times(ms: &[u64]) -> ResponseTimes {
    ResponseTimes::of(ms.iter().map(|ms| Nanos::from_millis(*ms)).collect())
}

#[test]
fn a_quantile_is_the_least_time_that_the_share_keeps() {
    let hundred = times(&(1..=100).rev().collect::<Vec<_>>());
    for (share, expected) in [(0.5, 50.0), (0.99, 99.0), (0.999, 100.0), (1.0, 100.0)] {
        assert!((hundred.quantile_ms(share) - expected).abs() < 1e-9, "{share}");
    }
    assert!(times(&[]).quantile_ms(0.5).is_nan());
}

#[test]
fn a_read_that_takes_just_the_target_is_in_time() {
    assert!((times(&[1, 5, 5, 6]).share_later(Nanos::from_millis(5)) - 0.25).abs() < 1e-9);
}

#[test]
fn a_window_is_cut_by_the_intended_starts() {
    let at = |ms| Instant::from_start(Nanos::from_millis(ms));
    let read = |ms| TimedRead { intended: at(ms), response: Nanos::from_millis(100 + ms) };
    let reads = TimedReads((1..=5).map(read).collect());
    let window = reads.within(at(2), at(3));
    assert_eq!(window.0, [102, 103].map(Nanos::from_millis));
}

#[test]
fn no_read_of_the_grid_is_left_out() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("read");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    let reader = OpenLoopReader::start(&path, 1_000).unwrap();
    pause(Nanos::from_millis(300));
    let reads = reader.end().unwrap();
    let mut starts: Vec<_> = reads.0.iter().map(|read| read.intended).collect();
    starts.sort_unstable();
    // 50 ms pass before the first.
    assert!(starts.len() >= 250, "{} reads", starts.len());
    let gaps = starts.windows(2).map(|pair| pair[1].since(pair[0]));
    assert!(gaps.into_iter().all(|gap| gap == Nanos::from_millis(1)));
}
