use super::*;

use DiscardPath::{InCommit, Worker, WorkerUnclipped};

/// Files of 32 blocks (too large for the common chunk), one behind the other, on the device.
fn filled(discard: DiscardPath, files: u32) -> Machine {
    let mut machine = Machine::new(discard);
    for file in 0..files {
        machine.store(file, 32);
    }
    machine.sync();
    for file in 1..files {
        let (before, this) = (machine.extents(file - 1), machine.extents(file));
        assert_eq!(before[0].end(), this[0].start, "one extent behind the other");
        assert_eq!(this.len(), 1);
    }
    machine.clear();
    machine
}

#[test]
fn what_was_never_written_is_not_discarded() {
    let mut machine = Machine::new(Worker);
    machine.store(1, 100);
    machine.unlink(1);
    machine.sync();
    assert!(machine.discards().is_empty());
    assert_eq!(machine.fs().counters().written_back, Bytes(0));
    assert_eq!(machine.counters().freed, Bytes(0));
}

#[test]
fn nothing_is_discarded_without_a_path() {
    let mut machine = filled(DiscardPath::None, 4);
    machine.unlink(0);
    machine.sync();
    machine.rest(Nanos::from_secs(60));
    assert!(machine.discards().is_empty());
    assert_eq!((machine.counters().freed, machine.counters().dropped), (bytes(32), bytes(32)));
}

#[test]
fn neighbours_of_one_commit_are_one_discard() {
    for path in [InCommit, Worker] {
        let mut machine = filled(path, 8);
        let start = machine.extents(2)[0].start;
        for file in [4, 2, 3, 6] {
            machine.unlink(file);
        }
        machine.sync();
        machine.rest(SECOND);
        assert_eq!(
            machine.discards(),
            [Extent::new(start, 96), Extent::new(start + 128, 32)],
            "{path:?}"
        );
        machine.fs().check();
    }
}

#[test]
fn neighbours_of_two_commits_are_two_discards() {
    let mut machine = filled(Worker, 8);
    machine.unlink(2);
    machine.sync();
    machine.unlink(3);
    machine.sync();
    machine.rest(SECOND);
    let lengths: Vec<u64> = machine.discards().iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [32, 32]);
}

#[test]
fn a_commit_waits_for_its_discards_in_the_old_way_only() {
    // 1 ms a discard, three extents that do not touch.
    let fsync_after_three = |path| {
        let mut machine = filled(path, 8);
        for file in [1, 3, 5] {
            machine.unlink(file);
        }
        machine.done(FileCommand::Create { file: FileId(100) });
        let took = machine.done(fsync(100));
        (took, machine.counters().issued)
    };
    let (without, _) = fsync_after_three(DiscardPath::None);
    assert_eq!(fsync_after_three(InCommit), (without + Nanos::from_millis(3), 3));
    // The worker has begun one when the fsync returns.
    assert_eq!(fsync_after_three(Worker), (without, 1));
}

#[test]
fn discards_come_after_the_commit_one_after_the_other() {
    for path in [InCommit, Worker] {
        let mut machine = filled(path, 8);
        for file in [1, 3, 5] {
            machine.unlink(file);
        }
        machine.sync();
        machine.rest(SECOND);
        let log = machine.fs().device().log();
        let record = log.iter().filter(|entry| entry.command == BlockCommand::Flush).nth(1);
        let mut before = record.expect("the flush behind the record").to;
        let discards = log.iter().filter(|entry| entry.command.kind() == OperationKind::Discard);
        for entry in discards {
            assert!(entry.from >= before);
            before = entry.to;
        }
        assert_eq!(machine.counters().issued, 3);
    }
}

/// As on Linux 6.18: of files side by side the even ones are deleted, then the odd ones. The first
/// free what lies alone; the second free neighbours of what is free.
#[test]
fn the_unclipped_worker_discards_to_the_end_of_the_free_extent() {
    let expected_second = |path| match path {
        // The files are in one group; behind the last is nothing but free space.
        WorkerUnclipped => None,
        _ => Some(bytes(5 * 32)),
    };
    for path in [Worker, WorkerUnclipped] {
        let mut machine = filled(path, 10);
        let start = machine.extents(0)[0].start;
        // The group's end; files and this space are all that is free behind `start`.
        let end = (start / 4_096 + 1) * 4_096;
        for file in [0, 2, 4, 6, 8] {
            machine.unlink(file);
        }
        machine.sync();
        machine.rest(SECOND);
        assert_eq!(machine.counters().discarded, bytes(5 * 32));
        assert_eq!(machine.counters().discarded_beyond, Bytes(0), "odd files are in the way");
        machine.clear();
        for file in [1, 3, 5, 7, 9] {
            machine.unlink(file);
        }
        machine.sync();
        machine.rest(SECOND);
        let discards = machine.discards();
        assert_eq!(discards.len(), 5, "each freed extent is one discard");
        let sum: u64 = discards.iter().map(|extent| extent.length).sum();
        // From each odd file's start to the end of the group.
        let to_end = |file: u64| end - (start + 32 * file);
        let all = bytes([1, 3, 5, 7, 9].map(to_end).iter().sum());
        assert_eq!(bytes(sum), expected_second(path).unwrap_or(all), "{path:?}");
        assert_eq!(machine.counters().discarded, bytes(10 * 32));
        machine.fs().check();
    }
}

#[test]
fn an_unmount_gives_up_what_the_worker_has_not_begun() {
    let mut machine = filled(Worker, 40);
    machine.target.model_mut().device_mut().discard = SECOND;
    for file in (0..40).step_by(2) {
        machine.unlink(file);
    }
    machine.unmount();
    let counters = machine.counters();
    // Metadata wait for the first discard on their way to their places; then the second is sent.
    assert_eq!((counters.freed, counters.issued), (bytes(20 * 32), 2));
    assert_eq!(counters.dropped_at_unmount, bytes(18 * 32));
    assert_eq!(counters.dropped, counters.dropped_at_unmount);
    machine.fs().check();
    // And never comes back to it.
    machine.mount();
    machine.rest(Nanos::from_secs(60));
    assert_eq!(machine.discards().len(), 2);
}

#[test]
fn an_unmount_gives_up_nothing_within_commits() {
    let mut machine = filled(InCommit, 40);
    for file in (0..40).step_by(2) {
        machine.unlink(file);
    }
    machine.unmount();
    assert_eq!(machine.counters().discarded, bytes(20 * 32));
    assert_eq!(machine.counters().dropped, Bytes(0));
}

#[test]
fn the_worker_leaves_alone_what_is_taken_again() {
    let mut machine = filled(Worker, 120);
    machine.target.model_mut().device_mut().discard = SECOND;
    for file in (0..120).step_by(2) {
        machine.unlink(file);
    }
    machine.done(FileCommand::Create { file: FileId(1_000) });
    machine.done(fsync(1_000));
    // The space is free while the worker is at its first extents: fill the rest of the filesystem
    // and it is taken again.
    let available = machine.fs().available();
    machine.store(2_000, available - 64);
    machine.done(fsync(2_000));
    machine.rest(Nanos::from_secs(100));
    let counters = machine.counters();
    assert!(counters.reused > bytes(1_000), "{counters:?}");
    let log = machine.fs().device().log();
    let overlap = |one: BlockCommand, other: BlockCommand| {
        recorder::extent(one)
            .zip(recorder::extent(other))
            .is_some_and(|(a, b)| a.overlap(b).is_some())
    };
    for discard in log.iter().filter(|entry| entry.command.kind() == OperationKind::Discard) {
        let mut writes = log.iter().filter(|entry| entry.command.kind() == OperationKind::Write);
        let after = |write: &recorder::Entry| write.from >= discard.to;
        assert!(writes.all(|write| !overlap(write.command, discard.command) || after(write)));
    }
    assert_eq!(counters.discarded + counters.reused + counters.dropped, counters.freed);
    machine.fs().check();
}

#[test]
fn freed_space_is_not_taken_before_its_discard_within_the_commit() {
    let mut machine = Machine::new(InCommit);
    machine.target.model_mut().device_mut().discard = SECOND;
    let all = machine.fs().available();
    machine.store(1, all - 100);
    machine.sync();
    machine.unlink(1);
    machine.clear();
    // There is no space but what the transaction frees: the write waits for commit and discards.
    let took = machine.store(2, 1_000);
    let discards = machine.discards().len() as u64;
    assert!(discards >= 7, "each group at least one: {discards}");
    assert!(took >= SECOND.times(discards), "{took:?}");
    machine.fs().check();
}

#[test]
fn a_discard_beyond_the_devices_limit_is_split() {
    let mut device = Recorder::new(Bytes::mib(128));
    device.limit_discards(bytes(10));
    let mut machine = Machine::with(config(InCommit), device);
    machine.store(1, 32);
    machine.sync();
    machine.unlink(1);
    machine.sync();
    let lengths: Vec<u64> = machine.discards().iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [10, 10, 10, 2]);
    assert_eq!(machine.counters().issued, 4);
}

#[test]
fn a_device_without_discards_is_sent_none() {
    let mut device = Recorder::new(Bytes::mib(128));
    device.refuse_discards();
    let mut machine = Machine::with(config(Worker), device);
    assert_eq!(machine.target.capabilities().discard, Support::None);
    machine.store(1, 32);
    machine.sync();
    machine.unlink(1);
    machine.sync();
    assert_eq!(machine.run(FileCommand::TrimFreeSpace).0, Status::Failed(Errno::EOPNOTSUPP));
    machine.rest(SECOND);
    assert!(machine.discards().is_empty());
}

#[test]
fn a_filesystem_says_whether_deletions_are_discarded() {
    let says = |path| Machine::new(path).target.capabilities().discard;
    assert_eq!(says(DiscardPath::None), Support::None);
    assert_eq!(says(InCommit), Support::Native);
}
