use super::*;

#[test]
fn space_is_taken_in_order_and_given_back_once() {
    let mut space = Space::new(100, 400, 3);
    assert_eq!(space.free(), 300);
    assert_eq!([space.take(60), space.take(30)], [Some(100), Some(160)]);
    assert_eq!(space.take(42), Some(200), "the next metaslab, which is emptier");
    space.give(Extent::new(100, 60), Instant::START);
    assert_eq!(space.take(42), Some(242), "the cursor goes on, though there is room behind it");
    assert_eq!(space.free(), 300 - 30 - 84);
    assert_eq!(space.take(42), Some(300), "the emptiest of the others");
    let rest: u64 = std::iter::from_fn(|| space.take(1)).map(|_| 1).sum();
    assert_eq!((rest, space.free()), (300 - 30 - 126, 0));
}

#[test]
fn a_metaslab_wraps_before_another_is_taken() {
    let mut space = Space::new(0, 200, 2);
    for start in [0, 40] {
        assert_eq!(space.take(40), Some(start));
    }
    space.give(Extent::new(0, 40), Instant::START);
    assert_eq!(space.take(30), Some(0), "behind the cursor are 20 only");
}

#[test]
fn neighbours_that_are_given_back_are_one_again() {
    let mut space = Space::new(0, 90, 1);
    for start in [0, 30, 60] {
        assert_eq!(space.take(30), Some(start));
    }
    for start in [0, 60, 30] {
        space.give(Extent::new(start, 30), Instant::START);
    }
    assert_eq!(space.take(90), Some(0));
}

#[test]
#[should_panic(expected = "added once")]
fn space_that_is_free_is_not_given_back() {
    Space::new(0, 90, 1).give(Extent::new(10, 5), Instant::START);
}

#[test]
fn what_was_freed_is_to_be_trimmed_until_it_is_allocated_again() {
    let at = |seconds| Instant::START + trimbench_core::Nanos::from_secs(seconds);
    let mut space = Space::new(0, 100, 1);
    space.take(100);
    space.give(Extent::new(90, 10), at(1));
    assert!(!space.has_trims(0), "automatic trimming is off");
    space.keep_trims(true);
    for (start, seconds) in [(10, 2), (20, 3), (50, 4)] {
        space.give(Extent::new(start, 10), at(seconds));
    }
    assert_eq!(space.take(15), Some(10), "behind the cursor are 10 only");
    assert_eq!((space.to_trim(), space.reused()), (15, 15));
    let (trims, since) = space.take_trims(0);
    assert_eq!(since, at(2));
    assert_eq!(trims.iter().collect::<Vec<_>>(), [Extent::new(25, 5), Extent::new(50, 10)]);
    assert_eq!((space.to_trim(), space.has_trims(0), space.free()), (0, false, 25));
}

#[test]
fn nothing_is_allocated_from_a_disabled_metaslab_and_no_fourth_is_disabled() {
    let mut space = Space::new(0, 50, 5);
    assert!(space.disable(0) && space.disable(1) && space.disable(2));
    assert!(!space.disable(3), "three are");
    assert!(space.disable(2), "for another drive");
    assert_eq!(space.withheld(), 30);
    assert_eq!([space.take(10), space.take(10), space.take(1)], [Some(30), Some(40), None]);
    space.enable(2);
    assert_eq!(space.take(1), None, "one drive trims it");
    space.enable(2);
    assert_eq!((space.take(1), space.disable(3)), (Some(20), true));
}

#[test]
fn metaslabs_are_as_large_as_openzfs_makes_them() {
    let (mib, gib) = (1 << 20, 1 << 30);
    for (pool, bytes) in [
        (64 * mib, 16 * mib),
        (gib, 128 * mib),
        (8 * gib, 512 * mib),
        (100 * gib, 512 * mib),
        (101 * gib, gib),
        (1_000 * gib, 8 * gib),
        (3_520 * gib, 16 * gib),
        (100_000 * gib, 16 * gib),
        (4 << 50, 64 * gib),
    ] {
        assert_eq!(metaslab_bytes(pool), bytes, "{pool}");
    }
}
