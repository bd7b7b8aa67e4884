use super::*;
use trimbench_block::Scheduler;

fn load(file: u32, fs_blocks: u64) -> FileCommand {
    FileCommand::Load { file: FileId(file), length: bytes(fs_blocks), stream: STREAM }
}

#[test]
fn dirty_data_go_when_they_are_old() {
    let mut machine = Machine::new(None);
    machine.rest(SECOND);
    machine.store(1, 50);
    machine.rest(Nanos::from_secs(29));
    assert_eq!(machine.fs().counters().written_back, Bytes(0));
    machine.rest(Nanos::from_secs(2));
    assert_eq!(machine.fs().counters().written_back, bytes(50));
}

#[test]
fn write_back_begins_above_the_background_limit_and_ends_below() {
    // 10 % of 64 MiB.
    let limit = 64 * MIB / 10 / 4096;
    let mut machine = Machine::new(None);
    machine.store(1, limit);
    machine.rest(SECOND);
    assert_eq!(machine.fs().counters().written_back, Bytes(0));
    machine.store(2, 100);
    machine.rest(SECOND);
    // The oldest file goes, up to an allocation of 2048 blocks at once.
    assert_eq!(machine.fs().counters().written_back, bytes(limit));
    assert_eq!(machine.fs().cache.dirty(), 100);
}

#[test]
fn a_writer_waits_at_the_limit() {
    // 20 % of 64 MiB are dirty at most; the rest waits for a device of 10 us per 4 KiB.
    let limit = 64 * MIB / 5 / 4096;
    let mut machine = Machine::new(None);
    assert_eq!(machine.store(1, limit), Nanos::ZERO);
    machine.sync();
    let took = machine.store(2, 3 * limit);
    let ideal = Nanos::from_micros(10).times(2 * limit);
    // The commit in between takes some, and no more than some.
    assert!(took >= ideal && took < ideal + Nanos::from_millis(20), "{took:?} against {ideal:?}");
    assert!(machine.fs().counters().throttled > 0);
    machine.fs().check();
}

#[test]
fn a_read_comes_from_the_cache_or_from_the_device() {
    let mut machine = Machine::new(None);
    machine.store(1, 100);
    machine.sync();
    machine.clear();
    assert_eq!(machine.done(load(1, 100)), Nanos::ZERO);
    machine.unmount();
    machine.mount();
    machine.clear();
    assert_eq!(machine.done(load(1, 100)), Nanos::from_micros(1_000));
    // Four blocks, then each time twice as many up to 128 KiB, one after the other.
    let (start, read) = (machine.extents(1)[0].start, machine.sent(OperationKind::Read));
    let windows = [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 8)];
    assert_eq!(read, windows.map(|(at, length)| Extent::new(start + at, length)));
    assert_eq!(machine.done(load(1, 100)), Nanos::ZERO, "now it is in the cache");
}

#[test]
fn clean_files_are_forgotten_in_the_order_of_their_use() {
    let mut machine = Machine::new(None);
    // 64 MiB of memory hold 8 files of 8 MiB.
    for file in 0..8 {
        machine.store(file, 2_048);
        machine.sync();
    }
    machine.done(load(0, 2_048));
    machine.store(8, 2_048);
    machine.clear();
    assert_eq!(machine.done(load(0, 2_048)), Nanos::ZERO, "it was used");
    assert!(machine.done(load(1, 2_048)) > Nanos::ZERO, "it was not");
    machine.fs().check();
}

#[test]
fn an_append_reads_the_page_that_it_changes_in_part() {
    let mut machine = Machine::new(None);
    let length = Bytes(100_000);
    machine.done(FileCommand::Store {
        file: FileId(1),
        directory: DirectoryId::OWN,
        length,
        stream: STREAM,
    });
    machine.unmount();
    machine.mount();
    machine.clear();
    machine.done(FileCommand::Append { file: FileId(1), length: Bytes(10), stream: STREAM });
    let start = machine.extents(1)[0].start;
    assert_eq!(machine.sent(OperationKind::Read), [Extent::new(start + 24, 1)]);
    assert_eq!(machine.fs().files[FileId(1)].size, 100_010);
    machine.sync();
    assert_eq!(machine.extents(1).len(), 1, "no further block was needed");
}

#[test]
fn transfers_past_the_cache_go_to_the_device_at_once() {
    let mut machine = Machine::new(None);
    machine.done(FileCommand::Create { file: FileId(1) });
    let (file, offset, length) = (FileId(1), Bytes(0), bytes(64));
    machine.clear();
    let took = machine.done(FileCommand::Write { file, offset, length });
    assert_eq!(took, Nanos::from_micros(640));
    assert_eq!(machine.sent(OperationKind::Write), [machine.extents(1)[0]]);
    let took = machine.done(FileCommand::Read { file, offset, length });
    assert_eq!(took, Nanos::from_micros(640));
    // Behind the end there is nothing to read.
    let took = machine.done(FileCommand::Read { file, offset: bytes(64), length });
    assert_eq!(took, Nanos::ZERO);
    machine.fs().check();
}

#[test]
fn a_transfer_past_the_cache_has_dirty_pages_written_first() {
    let mut machine = Machine::new(None);
    machine.store(1, 64);
    let (file, offset, length) = (FileId(1), Bytes(0), bytes(64));
    machine.done(FileCommand::Read { file, offset, length });
    assert_eq!(machine.fs().counters().written_back, bytes(64));
    assert_eq!(machine.sent(OperationKind::Read), machine.sent(OperationKind::Write));
}

#[test]
fn processor_time_counts_calls_and_bytes() {
    let cpu = CpuCosts { metadata: Nanos(10_000), call: Nanos(700), kib: Nanos(250) };
    let mut machine =
        Machine::with(FsConfig { cpu, ..config(None) }, Recorder::new(Bytes::mib(128)));
    // 100 KiB in 25 calls.
    assert_eq!(machine.store(1, 25), Nanos(10_000 + 25 * 700 + 100 * 250));
    let piece = Stream { piece: 1_024, ..STREAM };
    let stored = |file, stream| FileCommand::Store {
        file: FileId(file),
        directory: DirectoryId::OWN,
        length: bytes(25),
        stream,
    };
    assert_eq!(machine.done(stored(2, piece)), Nanos(10_000 + 100 * 700 + 100 * 250));
    // The C library makes calls of 4 KiB of them.
    let buffered = Stream { buffered: true, ..piece };
    assert_eq!(machine.done(stored(3, buffered)), Nanos(10_000 + 25 * 700 + 100 * 250));
}

fn with_scheduler(scheduler: Scheduler) -> FsConfig {
    let own = config(None);
    FsConfig { queue: QueueConfig { scheduler, ..own.queue }, ..own }
}

/// The most writes of write-back that the device has at once, when four are to be made `quiet`
/// after the last read, or, with `read`, right after one more.
fn writes_at_once(scheduler: Scheduler, quiet: Nanos, read: bool) -> usize {
    let config = with_scheduler(scheduler);
    let mut machine = Machine::with(config, Recorder::new(Bytes::mib(128)));
    machine.store(1, 4);
    machine.unmount();
    machine.mount();
    machine.rest(quiet);
    if read {
        machine.done(load(1, 4));
    }
    machine.clear();
    // The fifth is above the background limit, and the first goes, in requests of 128 blocks.
    (2..7).for_each(|file| {
        machine.store(file, 400);
    });
    machine.rest(SECOND);
    let log = machine.fs().device().log();
    assert_eq!(log.len(), 4, "{log:?}");
    let others = |at: Instant| log.iter().filter(|entry| entry.from <= at && at < entry.to).count();
    log.iter().map(|entry| others(entry.from)).max().unwrap_or(0)
}

#[test]
fn cfq_lets_writes_in_one_by_one_after_a_read() {
    let quiet = Nanos::from_millis(350);
    assert_eq!(writes_at_once(Scheduler::None, Nanos::ZERO, true), 4);
    assert_eq!(writes_at_once(Scheduler::Cfq, Nanos::ZERO, false), 1);
    assert_eq!(writes_at_once(Scheduler::Cfq, quiet, false), 3);
    assert_eq!(writes_at_once(Scheduler::Cfq, quiet, true), 1);
}

#[test]
fn under_cfq_writes_wait_while_a_read_is_under_way_but_not_for_ever() {
    for (write, waits) in [(Nanos::from_millis(10), true), (Nanos::from_millis(40), false)] {
        let config = with_scheduler(Scheduler::Cfq);
        let mut machine = Machine::with(config, Recorder::new(Bytes::mib(128)));
        machine.store(1, 8);
        machine.unmount();
        machine.mount();
        machine.clear();
        machine.target.model_mut().device_mut().write = write;
        // Two reads of four blocks: 80 ms, or 320 ms.
        machine.target.submit(Tag(1), load(1, 8)).unwrap();
        (2..7).for_each(|file| machine.target.submit(Tag(file), stored(file, 400)).unwrap());
        let (until, mut out) = (machine.now() + SECOND, Vec::new());
        while machine.now() < until {
            machine.target.reap(until, &mut out);
        }
        let log = machine.fs().device().log();
        let of = |kind| log.iter().filter(move |entry| entry.command.kind() == kind);
        let read_until = of(OperationKind::Read).map(|entry| entry.to).max().unwrap();
        let written_from = of(OperationKind::Write).map(|entry| entry.from).min().unwrap();
        assert_eq!(written_from >= read_until, waits, "{log:?}");
    }
}

#[test]
fn closed_small_files_are_packed_from_linux_6_0_on() {
    let today = Allocation::ByIndex { processors: 1 };
    for (allocation, follows) in [(today, false), (Allocation::Linear, true)] {
        let config = FsConfig { allocation, ..config(None) };
        let mut machine = Machine::with(config, Recorder::new(Bytes::mib(128)));
        machine.store(1, 4);
        machine.store(2, 100);
        machine.sync();
        let (small, large) = (machine.extents(1)[0], machine.extents(2)[0]);
        assert_eq!(large.start == small.end(), follows, "{small:?} {large:?}");
    }
}
