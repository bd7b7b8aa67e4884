use proptest::prelude::*;
use trimbench_core::Nanos;

use super::*;

fn complete(tag: u32) -> Action {
    Action::Complete(InFlight {
        tag: Tag(tag),
        kind: OperationKind::Read,
        bytes: Bytes(0),
        submitted: Instant::START,
    })
}

proptest! {
    #[test]
    fn events_come_in_the_order_of_time_and_then_of_addition(
        times in prop::collection::vec(0..50_u64, 0..200),
    ) {
        let mut events = Events::default();
        for (tag, &at) in (0..).zip(&times) {
            events.add(Instant::from_start(Nanos(at)), complete(tag));
        }
        let mut expected: Vec<(u64, u32)> = times.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        for (at, tag) in expected {
            let at = Instant::from_start(Nanos(at));
            prop_assert_eq!(events.next_at(), at);
            if at > Instant::START {
                prop_assert_eq!(events.take_due(at - Nanos(1)), None);
            }
            prop_assert_eq!(events.take_due(at), Some((at, complete(tag))));
        }
        prop_assert_eq!(events.next_at(), Instant::NEVER);
    }
}
