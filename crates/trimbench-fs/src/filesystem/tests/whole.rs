use super::*;

#[test]
fn fitrim_discards_all_free_space_once() {
    let mut machine = Machine::new(None);
    machine.store(1, 32);
    machine.sync();
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    let discarded: u64 = machine.discards().iter().map(|extent| extent.length).sum();
    assert_eq!(discarded, machine.fs().allocator.free());
    assert_eq!(machine.counters().trimmed, bytes(discarded));
    machine.fs().check();
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    assert!(machine.discards().is_empty(), "the groups are known to be trimmed");
    // A group of which blocks are freed is trimmed anew, the others are not.
    let start = machine.extents(1)[0].start;
    machine.unlink(1);
    machine.sync();
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    assert!(!machine.discards().is_empty());
    assert!(machine.discards().iter().all(|extent| extent.start / 4_096 == start / 4_096));
    // A mount forgets.
    machine.unmount();
    machine.mount();
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    let discarded: u64 = machine.discards().iter().map(|extent| extent.length).sum();
    assert_eq!(discarded, machine.fs().allocator.free());
}

#[test]
fn fitrim_leaves_short_extents_alone() {
    let mut machine = Machine::with(
        FsConfig { trim_minimum: bytes(64), ..config(None) },
        Recorder::new(Bytes::mib(128)),
    );
    for file in 0..4 {
        machine.store(file, 32);
    }
    machine.sync();
    machine.unlink(1);
    machine.sync();
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    assert!(machine.discards().iter().all(|extent| extent.length >= 64));
    let mut short = 0;
    machine.fs().allocator.check(|free| short += free.length * u64::from(free.length < 64));
    let left = machine.fs().allocator.free() * FS_BLOCK.0 - machine.counters().trimmed.0;
    assert!(short >= 32, "the deleted file among them");
    assert_eq!(Bytes(left), bytes(short));
}

#[test]
fn what_does_not_fit_is_refused_and_what_was_deleted_makes_room() {
    let mut machine = Machine::new(WORKER);
    let all = machine.fs().allocator.available();
    assert_eq!(machine.run(stored(1, all + 1)).0, Status::Failed(Errno::ENOSPC));
    machine.fs().check();
    machine.unlink(1);
    machine.sync();
    // A block is that of its extents: it has one in each group at least.
    machine.store(2, all - 1);
    assert_eq!(machine.run(stored(3, 1)).0, Status::Failed(Errno::ENOSPC));
    machine.unlink(2);
    machine.unlink(3);
    machine.store(4, all - 1);
    machine.sync();
    machine.fs().check();
}

#[test]
fn files_run_out_with_the_inodes() {
    let mut machine = Machine::new(None);
    // 8 groups of 256; the directory has one.
    for file in 0..2_047 {
        machine.done(FileCommand::Create { file: FileId(file) });
    }
    let create = FileCommand::Create { file: FileId(9_999) };
    assert_eq!(machine.run(create).0, Status::Failed(Errno::ENOSPC));
    let refused = machine.target.submit(Tag(0), fsync(9_999));
    assert_eq!(refused, Err(Rejected::UnknownFile { file: FileId(9_999) }));
    machine.unlink(5);
    machine.done(create);
    machine.fs().check();
}

#[test]
fn a_truncation_and_a_hole_free_whole_blocks() {
    let mut machine = Machine::new(IN_COMMIT);
    machine.store(1, 100);
    machine.sync();
    let start = machine.extents(1)[0].start;
    let file = FileId(1);
    let hole = FileCommand::PunchHole { file, offset: Bytes(5_000), length: Bytes(20_000) };
    machine.done(hole);
    machine.done(FileCommand::Truncate { file, length: Bytes(90 * 4_096 + 1) });
    assert_eq!(
        machine.extents(1),
        [Extent::new(start, 2), Extent::new(start + 6, 85)],
        "blocks 2 to 5 are a hole, and 91 to 99 are gone"
    );
    machine.clear();
    machine.sync();
    assert_eq!(machine.discards(), [Extent::new(start + 2, 4), Extent::new(start + 91, 9)]);
    machine.fs().check();
}

#[test]
fn an_unmounted_filesystem_takes_no_command() {
    let mut machine = Machine::new(None);
    machine.store(1, 10);
    machine.unmount();
    assert!(!machine.fs().mounted);
    let refused = machine.target.submit(Tag(0), fsync(1));
    assert!(matches!(refused, Err(Rejected::Refused { .. })));
    let now = machine.now();
    assert!(machine.target.model_mut().unmount(now, Tag(0)).is_err());
    machine.mount();
    assert_eq!(machine.fs().extent_count(FileId(1)), Some(1));
    // With a command outstanding it cannot be unmounted.
    machine.target.submit(Tag(1), FileCommand::SyncFilesystem).expect("it is mounted");
    let now = machine.now();
    let busy = machine.target.model_mut().unmount(now, Tag(0));
    assert_eq!(busy, Err(Rejected::Kernel { errno: Errno::EBUSY }));
}

#[test]
fn commands_on_one_file_run_in_their_order() {
    let mut machine = Machine::new(None);
    let commands = [stored(1, 64), fsync(1), FileCommand::Unlink { file: FileId(1) }, stored(1, 8)];
    for (number, command) in (0..).zip(commands) {
        machine.target.submit(Tag(number), command).expect("the file is there by then");
    }
    let mut out = Vec::new();
    while out.len() < 4 {
        machine.target.reap(Instant::NEVER, &mut out);
    }
    let tags: Vec<u32> = out.iter().map(|completion| completion.tag.0).collect();
    assert_eq!(tags, [0, 1, 2, 3]);
    assert!(out.iter().all(|completion| completion.status == Status::Done));
    assert_eq!(machine.fs().files[FileId(1)].size, 8 * 4_096);
    machine.fs().check();
}

#[test]
fn subdirectories_come_and_go_when_they_are_empty() {
    let mut machine = Machine::new(None);
    let directory = DirectoryId(1);
    let free = machine.fs().allocator.available();
    machine.done(FileCommand::MakeDirectory { directory });
    let (file, length, stream) = (FileId(1), bytes(1), STREAM);
    machine.done(FileCommand::Store { file, directory, length, stream });
    let remove = FileCommand::RemoveDirectory { directory };
    assert_eq!(machine.run(remove).0, Status::Failed(Errno(39)));
    machine.unlink(1);
    machine.done(remove);
    machine.sync();
    assert_eq!(machine.fs().allocator.available(), free);
    machine.fs().check();
    let store = FileCommand::Store { file, directory, length, stream };
    assert_eq!(machine.run(store).0, Status::Failed(Errno(2)));
}

#[test]
fn a_device_that_is_too_small_or_a_value_out_of_range_is_refused() {
    let config = config(None);
    let made = FileSystem::make(config, Recorder::new(Bytes::mib(16)));
    assert!(matches!(made, Err(FsConfigError::DeviceTooSmall { .. })));
    let wrong = FsConfig { group_inodes: 17, ..config };
    let made = FileSystem::make(wrong, Recorder::new(Bytes::mib(128)));
    assert!(matches!(made, Err(FsConfigError::OutOfRange { key: "group_inodes", .. })));
}

#[test]
fn fitrim_leaves_alone_what_dirty_pages_were_promised() {
    let mut machine = Machine::new(None);
    let all = machine.fs().allocator.available();
    machine.store(1, all - 2_000);
    machine.sync();
    machine.store(2, 1_500);
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    let longest = machine.discards().iter().map(|extent| extent.length).max();
    assert!(longest.is_none_or(|longest| longest <= 500), "{longest:?}");
    machine.sync();
    assert_eq!(machine.extents(2).iter().map(|extent| extent.length).sum::<u64>(), 1_500);
}

#[test]
fn fitrim_of_xfs_reads_the_tree_of_a_group_that_the_mount_has_not_used() {
    let mut machine = Machine::new(Some(Issuer::Xfs));
    machine.store(1, 32);
    machine.sync();
    let group = machine.fs().allocator.total() / 4;
    assert!(machine.extents(1)[0].end() < group, "the file is in the first group");
    let trim = |machine: &mut Machine| {
        machine.clear();
        machine.done(FileCommand::TrimFreeSpace);
        machine.sent(OperationKind::Read)
    };
    // By length from the third block, the last by number from the second.
    let roots = [group + 2, 2 * group + 2, 3 * group + 1].map(|at| Extent::new(at, 1));
    assert_eq!(trim(&mut machine), roots);
    assert_eq!(trim(&mut machine), [], "they are in memory");
    machine.unmount();
    machine.mount();
    let again = trim(&mut machine);
    assert_eq!(again[again.len() - 3..], roots, "and after a mount they are not");
    assert_eq!(again[0], Extent::new(2, 1));
}
