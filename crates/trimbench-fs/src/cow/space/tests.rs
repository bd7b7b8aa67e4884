use super::*;

#[test]
fn space_is_taken_in_order_and_given_back_once() {
    let mut space = Space::new(100, 400, 3);
    assert_eq!(space.free(), 300);
    assert_eq!([space.take(60), space.take(30)], [Some(100), Some(160)]);
    assert_eq!(space.take(42), Some(200), "the next metaslab, which is emptier");
    space.give(Extent::new(100, 60));
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
    space.give(Extent::new(0, 40));
    assert_eq!(space.take(30), Some(0), "behind the cursor are 20 only");
}

#[test]
fn neighbours_that_are_given_back_are_one_again() {
    let mut space = Space::new(0, 90, 1);
    for start in [0, 30, 60] {
        assert_eq!(space.take(30), Some(start));
    }
    for start in [0, 60, 30] {
        space.give(Extent::new(start, 30));
    }
    assert_eq!(space.take(90), Some(0));
}

#[test]
#[should_panic(expected = "given back once")]
fn space_that_is_free_is_not_given_back() {
    Space::new(0, 90, 1).give(Extent::new(10, 5));
}
