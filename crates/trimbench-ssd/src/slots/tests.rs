use super::*;

fn command(tag: u32) -> InFlight {
    let (kind, bytes) = (OperationKind::Read, Bytes(4_096));
    InFlight { tag: Tag(tag), kind, bytes, submitted: Instant::START }
}

#[test]
fn a_slot_holds_its_command_until_it_leaves() {
    let mut slots = Slots::default();
    let [first, second] = [1, 2].map(|tag| slots.take(command(tag)));
    assert_ne!(first, second);
    assert_eq!((slots.taken(), slots.command(first).tag), (2, Tag(1)));
    assert_eq!(*slots.leave(first), command(1));
    let third = slots.take(command(3));
    assert_eq!(third, first, "a vacant slot is used again");
    assert_eq!((slots.taken(), *slots.command(second)), (2, command(2)));
    assert_eq!((*slots.leave(second), *slots.leave(third)), (command(2), command(3)));
    assert_eq!(slots.taken(), 0);
}

#[test]
fn a_table_by_slot_holds_what_was_set_last() {
    let mut table = BySlot::default();
    table.set(Slot(2), 'a');
    table.set(Slot(0), 'b');
    table.set(Slot(2), 'c');
    *table.of(Slot(0)) = 'd';
    assert_eq!((*table.of(Slot(0)), *table.of(Slot(2))), ('d', 'c'));
}
