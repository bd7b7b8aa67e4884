use super::*;
use recorder::Entry;

/// Files of 32 blocks (too large for the common chunk), one behind the other, on the device.
fn filled(discard: Discard, files: u32) -> Machine {
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
    let mut machine = Machine::new(WORKER);
    machine.store(1, 100);
    machine.unlink(1);
    machine.sync();
    assert!(machine.discards().is_empty());
    assert_eq!(machine.fs().counters().written_back, Bytes(0));
    assert_eq!(machine.counters().freed, Bytes(0));
}

#[test]
fn nothing_is_discarded_without_a_path() {
    let mut machine = filled(None, 4);
    machine.unlink(0);
    machine.sync();
    machine.rest(Nanos::from_secs(60));
    assert!(machine.discards().is_empty());
    assert_eq!((machine.counters().freed, machine.counters().dropped), (bytes(32), bytes(32)));
}

#[test]
fn neighbours_of_one_commit_are_one_discard() {
    for path in [IN_COMMIT, WORKER] {
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
    let mut machine = filled(WORKER, 8);
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
    let (without, _) = fsync_after_three(None);
    assert_eq!(fsync_after_three(IN_COMMIT), (without + Nanos::from_millis(3), 3));
    // The worker has begun one when the fsync returns.
    assert_eq!(fsync_after_three(WORKER), (without, 1));
}

#[test]
fn from_4_13_on_a_commit_sends_its_discards_together() {
    let mut machine = filled(ALL_IN_COMMIT, 40);
    (0..40).step_by(2).for_each(|file| {
        machine.unlink(file);
    });
    machine.done(FileCommand::Create { file: FileId(100) });
    let took = machine.done(fsync(100));
    // All twenty are with the device before the first ends, and the fsync waits for the last.
    let log = machine.fs().device().log();
    let kind = |entry: &&Entry| entry.command.kind() == OperationKind::Discard;
    let discards: Vec<&Entry> = log.iter().filter(kind).collect();
    assert_eq!(discards.len(), 20);
    assert!(discards.iter().all(|entry| entry.from == discards[0].from));
    assert!(took >= Nanos::from_millis(20), "{took}");
}

#[test]
fn without_ordered_data_the_deletion_waits_for_its_discards() {
    for journaling in [Journaling::Writeback, Journaling::None] {
        let config = FsConfig { journaling, ..config(Some(Issuer::Ext4NoJournal)) };
        let mut machine = Machine::with(config, Recorder::new(Bytes::mib(128)));
        machine.store(1, 32);
        machine.store(2, 32);
        machine.done(fsync(1));
        machine.sync();
        machine.clear();
        let place = machine.extents(1);
        assert_eq!(machine.unlink(1), Nanos::from_millis(1), "{journaling:?}: one discard");
        assert_eq!(machine.discards(), place);
        // The space is free without a commit.
        assert_eq!(machine.fs().counters().discards.freed, bytes(32));
        machine.unmount();
        assert_eq!(machine.discards(), place, "nothing is left to discard");
        machine.fs().check();
    }
}

/// An XFS whose files lie apart, on a device with so many tags.
fn xfs(files: u32, queue: QueueConfig) -> Machine {
    let config = FsConfig { queue, ..config(Some(Issuer::Xfs)) };
    let mut machine = Machine::with(config, Recorder::new(Bytes::mib(128)));
    (0..2 * files).for_each(|file| {
        machine.store(file, 32);
    });
    machine.sync();
    machine.clear();
    (0..files).for_each(|file| {
        machine.unlink(2 * file);
    });
    machine
}

#[test]
fn xfs_has_an_fsync_wait_until_the_last_discard_is_submitted() {
    let tags = |tags| QueueConfig {
        tags: Some(tags),
        write_back_throttling: None,
        ..QueueConfig::default()
    };
    let fsync_of_20 = |queue| {
        let mut machine = xfs(20, queue);
        machine.done(FileCommand::Create { file: FileId(1_000) });
        let took = machine.done(fsync(1_000));
        let left = 20 - machine.discards().len();
        machine.rest(SECOND);
        machine.fs().check();
        assert_eq!(machine.discards().len(), 20);
        assert_eq!(machine.counters().discarded, bytes(20 * 32));
        (took, left)
    };
    // With tags enough all are sent at once.
    let (free, left) = fsync_of_20(tags(32));
    assert!(free < Nanos::from_millis(1) && left == 0, "{free}");
    // With eight, twelve end before the last is sent.
    assert_eq!(fsync_of_20(tags(8)), (free + Nanos::from_millis(12), 0));
    // Throttling lets four go, and wakes when half of them are done: pairs follow.
    let throttled = QueueConfig { tags: Some(32), ..QueueConfig::default() };
    assert_eq!(fsync_of_20(throttled), (free + Nanos::from_millis(16), 0));
}

#[test]
fn space_of_xfs_is_free_when_all_discards_of_the_checkpoint_are_done() {
    let mut machine = xfs(20, QueueConfig { write_back_throttling: None, ..Default::default() });
    let free = machine.fs().allocator.free();
    machine.done(FileCommand::Create { file: FileId(1_000) });
    machine.done(fsync(1_000));
    machine.rest(Nanos::from_millis(18));
    assert_eq!(machine.fs().allocator.free(), free, "the twentieth is under way");
    machine.rest(Nanos::from_millis(3));
    assert_eq!(machine.fs().allocator.free(), free + 20 * 32);
}

#[test]
fn an_unmount_of_xfs_loses_nothing() {
    let mut machine = xfs(20, QueueConfig::default());
    machine.unmount();
    assert_eq!((machine.discards().len(), machine.counters().dropped), (20, Bytes(0)));
    machine.fs().check();
}

/// A btrfs whose files lie apart, of which every second is deleted; and how long the fsync of a
/// new file took, and the sync after it.
fn btrfs(issuer: Issuer) -> (Machine, [Nanos; 2]) {
    let mut machine = filled(Some(issuer), 40);
    (0..40).step_by(2).for_each(|file| {
        machine.unlink(file);
    });
    machine.done(FileCommand::Create { file: FileId(100) });
    let took = [machine.done(fsync(100)), machine.sync()];
    (machine, took)
}

#[test]
fn a_sync_of_btrfs_waits_for_the_discards_of_its_commit_an_fsync_does_not() {
    let (machine, [fsync, sync]) = btrfs(Issuer::BtrfsSync);
    assert!(fsync < Nanos::from_millis(1), "{fsync}");
    assert!(sync > Nanos::from_millis(20), "{sync}");
    assert_eq!(machine.counters().discarded, bytes(20 * 32));
    // The blocks of trees that the commit replaced are discarded as well.
    let (data, trees): (Vec<_>, Vec<_>) =
        machine.discards().into_iter().partition(|extent| extent.length == 32);
    assert_eq!(data.len(), 20);
    assert!(!trees.is_empty() && trees.iter().all(|extent| extent.length == 4), "{trees:?}");
    machine.fs().check();
}

#[test]
fn discards_of_btrfs_async_come_late_and_an_unmount_drops_them() {
    let (mut machine, [fsync, sync]) = btrfs(Issuer::BtrfsAsync);
    assert!(fsync.max(sync) < Nanos::from_millis(3), "{fsync}, {sync}");
    let freed = machine.now();
    machine.rest(Nanos::from_secs(119));
    assert!(machine.discards().is_empty());
    machine.rest(Nanos::from_secs(2));
    let log = machine.fs().device().log();
    let kind = |entry: &&Entry| entry.command.kind() == OperationKind::Discard;
    let discards: Vec<&Entry> = log.iter().filter(kind).collect();
    // What was never used counts as untrimmed, too.
    assert!(discards.len() > 20, "{}", discards.len());
    assert_eq!(machine.counters().discarded, machine.counters().freed);
    let delay = discards[0].from - freed;
    assert!(delay > Nanos::from_secs(119) && delay < Nanos::from_secs(121), "{delay}");
    // One at a time, with a pause of 1 ms.
    let pauses = discards.windows(2).map(|two| two[1].from - two[0].to);
    assert!(pauses.clone().all(|pause| pause == Nanos::from_millis(1)), "{discards:?}");
    machine.fs().check();

    let (mut machine, _) = btrfs(Issuer::BtrfsAsync);
    machine.unmount();
    let counters = machine.counters();
    assert_eq!(counters.dropped_at_unmount, counters.freed);
    assert!(machine.discards().is_empty());
}

#[test]
fn discards_come_after_the_commit_one_after_the_other() {
    for path in [IN_COMMIT, WORKER] {
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
        UNCLIPPED => None,
        _ => Some(bytes(5 * 32)),
    };
    for path in [WORKER, UNCLIPPED] {
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
    let mut machine = filled(WORKER, 40);
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
    let mut machine = filled(IN_COMMIT, 40);
    for file in (0..40).step_by(2) {
        machine.unlink(file);
    }
    machine.unmount();
    assert_eq!(machine.counters().discarded, bytes(20 * 32));
    assert_eq!(machine.counters().dropped, Bytes(0));
}

#[test]
fn the_worker_leaves_alone_what_is_taken_again() {
    let mut machine = filled(WORKER, 120);
    machine.target.model_mut().device_mut().discard = SECOND;
    for file in (0..120).step_by(2) {
        machine.unlink(file);
    }
    machine.done(FileCommand::Create { file: FileId(1_000) });
    machine.done(fsync(1_000));
    // The space is free while the worker is at its first extents: fill the rest of the filesystem
    // and it is taken again.
    let available = machine.fs().allocator.available();
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
    let mut machine = Machine::new(IN_COMMIT);
    machine.target.model_mut().device_mut().discard = SECOND;
    let all = machine.fs().allocator.available();
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
    let mut machine = Machine::with(config(IN_COMMIT), device);
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
    let mut machine = Machine::with(config(WORKER), device);
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
    assert_eq!(says(None), Support::None);
    assert_eq!(says(IN_COMMIT), Support::Native);
}
