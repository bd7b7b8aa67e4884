use super::super::events::EventTask;
use super::*;

fn event(kind: OperationKind, sector: u64, sectors: u64) -> BlockEvent {
    let at = Nanos(1_500);
    let task = EventTask::default();
    BlockEvent { at, happened: Happened::Queued, device: 7, kind, sector, sectors, task }
}

#[test]
fn a_command_of_a_partition_counts_from_its_beginning() {
    let place = (2_048, 4_096);
    let found = command(&event(OperationKind::Write, 2_056, 8), Nanos(1_000), place).unwrap();
    let expected = RecordedCommand {
        at: Nanos(500),
        kind: OperationKind::Write,
        offset: Bytes(4_096),
        length: Bytes(4_096),
    };
    assert_eq!(found, expected);
    assert_eq!(command(&event(OperationKind::Write, 2_000, 8), Nanos(0), place), None);
    assert_eq!(command(&event(OperationKind::Write, 2_048 + 4_090, 8), Nanos(0), place), None);
}

#[test]
fn a_long_discard_is_whole_and_a_flush_has_no_place() {
    let whole = (0, u64::MAX);
    let sectors = (4 << 30) / 512 + 8;
    let long = command(&event(OperationKind::Discard, 0, sectors), Nanos(0), whole).unwrap();
    assert_eq!(long.length, Bytes((4 << 30) + 4_096));
    let flush = command(&event(OperationKind::Flush, 0, 0), Nanos(0), (2_048, 8)).unwrap();
    assert_eq!((flush.offset, flush.length), (Bytes(0), Bytes(0)));
}
