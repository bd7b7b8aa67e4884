use proptest::prelude::*;
use trimbench_core::Nanos;

use super::*;

proptest! {
    #[test]
    fn events_come_in_the_order_of_time_and_then_of_addition(
        times in prop::collection::vec(0..50_u64, 0..200),
    ) {
        let mut events = Events::default();
        for (slot, &at) in (0..).map(Slot).zip(&times) {
            events.add(Instant::from_start(Nanos(at)), Action::Complete(slot));
        }
        let mut expected: Vec<(u64, u32)> = times.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        for (at, slot) in expected {
            let at = Instant::from_start(Nanos(at));
            prop_assert_eq!(events.next_at(), at);
            prop_assert_eq!(events.take(), Some((at, Action::Complete(Slot(slot)))));
        }
        prop_assert_eq!(events.take(), None);
        prop_assert_eq!(events.next_at(), Instant::NEVER);
    }
}
