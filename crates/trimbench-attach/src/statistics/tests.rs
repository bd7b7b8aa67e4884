use super::*;

fn after(slow_down: u32, requests: &[(RequestKind, u64, u64)]) -> Statistics {
    let mut timing = Timing::new(slow_down);
    for &(kind, took, late) in requests {
        timing.count((kind, 4_096), Nanos(took), Nanos(late));
    }
    timing.statistics(Counted::default())
}

#[test]
fn lateness_counts_by_the_kind_of_request_of_which_it_is_the_largest_part() {
    use RequestKind::{Discard, Read};
    let requests = [(Read, 100_000, 4_000), (Discard, 1_000_000, 70_000)];
    for (slow_down, percent, reasons) in [(1, 7.0, 1), (2, 3.5, 0)] {
        let statistics = after(slow_down, &requests);
        let found = statistics.late_percent().unwrap();
        assert!((found - percent).abs() < 0.15, "{found}");
        assert_eq!(statistics.invalid_because().len(), reasons, "{slow_down}");
    }
    let nothing = after(1, &[]);
    assert_eq!((nothing.late_percent(), nothing.invalid_because()), (None, vec![]));
}
