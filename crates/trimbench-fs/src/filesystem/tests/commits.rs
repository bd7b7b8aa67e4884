use super::*;

use OperationKind::{Flush, Write};

/// Times at which something was written to the journal.
fn journal_writes(machine: &Machine) -> Vec<Instant> {
    let journal = machine.fs().journal.region().to_vec();
    let in_journal = |entry: &&recorder::Entry| {
        matches!(entry.command, BlockCommand::Write { .. })
            && recorder::extent(entry.command)
                .is_some_and(|at| journal.iter().any(|region| region.overlap(at).is_some()))
    };
    machine.fs().device().log().iter().filter(in_journal).map(|entry| entry.from).collect()
}

#[test]
fn a_transaction_commits_at_its_age() {
    let mut machine = Machine::new(None);
    machine.rest(SECOND);
    machine.done(FileCommand::Create { file: FileId(1) });
    machine.rest(Nanos::from_secs(4));
    assert!(journal_writes(&machine).is_empty());
    machine.rest(SECOND);
    assert_eq!(journal_writes(&machine)[0], Instant::from_start(Nanos::from_secs(6)));
    machine.rest(SECOND);
    assert_eq!(machine.fs().counters().commits, 1);
    // Nothing changes, nothing commits.
    machine.rest(Nanos::from_secs(20));
    assert_eq!(machine.fs().counters().commits, 1);
}

#[test]
fn an_fsync_sends_data_then_log_then_flush_record_flush() {
    let mut machine = Machine::new(None);
    machine.store(1, 4);
    assert!(machine.fs().device().log().is_empty(), "it is in the cache");
    machine.done(fsync(1));
    let log = machine.fs().device().log();
    let kinds: Vec<_> = log.iter().map(|entry| entry.command.kind()).collect();
    assert_eq!(kinds, [Write, Write, Flush, Write, Flush]);
    for pair in log.windows(2) {
        assert!(pair[0].to <= pair[1].from, "one after the other");
    }
    // Inode, inode bitmap, descriptor (both of it), leaf, block bitmap; one descriptor of the log.
    // The directory's inode shares its block with that of the file.
    assert_eq!(recorder::extent(log[1].command).map(|extent| extent.length), Some(6));
    assert_eq!(machine.fs().counters().journal_written, bytes(7));
    machine.fs().check();
}

#[test]
fn a_second_fsync_of_an_unchanged_file_sends_nothing() {
    let mut machine = Machine::new(None);
    machine.store(1, 4);
    machine.done(fsync(1));
    machine.clear();
    assert_eq!(machine.done(fsync(1)), Nanos::ZERO);
    assert!(machine.fs().device().log().is_empty());
}

#[test]
fn a_commit_waits_for_data_with_new_places_only() {
    let mut machine = Machine::new(None);
    machine.store(1, 4);
    machine.store(2, 1_024);
    machine.clear();
    // Both files are in the running transaction; the second has no place yet.
    machine.done(fsync(1));
    let data: u64 = machine.sent(OperationKind::Write).iter().map(|extent| extent.length).sum();
    assert!(data < 20, "delayed allocation keeps the other file out of the commit: {data}");
    // A place is allocated by write-back, then someone else's commit comes.
    machine.clear();
    machine.target.submit(Tag(7), fsync(2)).expect("it is a command");
    let mut out = Vec::new();
    machine.target.reap(machine.now(), &mut out);
    machine.target.submit(Tag(8), FileCommand::Create { file: FileId(3) }).expect("likewise");
    machine.target.submit(Tag(9), fsync(3)).expect("likewise");
    while out.len() < 3 {
        machine.target.reap(Instant::NEVER, &mut out);
    }
    let log = machine.fs().device().log();
    let data_end = log
        .iter()
        .filter(|entry| recorder::extent(entry.command).is_some_and(|extent| extent.length >= 128));
    let data_end = data_end.map(|entry| entry.to).max().expect("data were written");
    assert!(journal_writes(&machine)[0] >= data_end, "data come before their commit");
}

#[test]
fn metadata_go_to_their_places_once_they_are_old() {
    let mut machine = Machine::new(None);
    machine.done(FileCommand::Create { file: FileId(1) });
    machine.rest(Nanos::from_secs(34));
    assert_eq!(machine.fs().counters().checkpoint_written, Bytes(0));
    // Committed at 5 s; the flusher looks every 5 s after that.
    machine.rest(Nanos::from_secs(7));
    // Inode block, inode bitmap, descriptor, leaf.
    assert_eq!(machine.fs().counters().checkpoint_written, bytes(4));
    machine.rest(Nanos::from_secs(60));
    assert_eq!(machine.fs().counters().checkpoint_written, bytes(4), "once");
}

#[test]
fn a_block_of_a_later_transaction_is_not_checkpointed_for_an_earlier_one() {
    let mut machine = Machine::new(None);
    machine.done(FileCommand::Create { file: FileId(1) });
    machine.done(fsync(1));
    machine.done(FileCommand::Create { file: FileId(2) });
    machine.sync();
    // The second transaction has the same four blocks.
    assert_eq!(machine.fs().counters().checkpoint_written, bytes(4));
}

#[test]
fn a_log_that_is_full_is_checkpointed_first() {
    let journal = Some(bytes(64));
    let mut machine =
        Machine::with(FsConfig { journal, ..config(None) }, Recorder::new(Bytes::mib(128)));
    for file in 0..40 {
        machine.done(FileCommand::Create { file: FileId(file) });
        machine.done(fsync(file));
    }
    let counters = machine.fs().counters();
    assert_eq!(counters.commits, 40);
    // Four blocks, a descriptor and a record, as long as the inodes share a block with that of the
    // directory; then a block more. All of them do not fit into 64 blocks at once.
    assert_eq!(counters.journal_written, bytes(15 * 6 + 25 * 7));
    assert!(counters.checkpoint_written > Bytes(0));
    machine.fs().check();
}

#[test]
fn a_full_transaction_commits_before_its_time() {
    let journal = Some(bytes(64));
    let mut machine =
        Machine::with(FsConfig { journal, ..config(None) }, Recorder::new(Bytes::mib(128)));
    // 16 inodes a block, 256 a group: 16 blocks of inodes are more than a quarter of the log.
    for file in 0..250 {
        machine.done(FileCommand::Create { file: FileId(file) });
    }
    machine.rest(Nanos::from_millis(100));
    assert_eq!(machine.fs().counters().commits, 1);
    assert!(machine.now() < Instant::from_start(SECOND));
}

#[test]
fn a_device_that_fails_the_journal_stops_the_filesystem() {
    let plan = FaultPlan { fail_from: Some(Instant::from_start(SECOND)), ..FaultPlan::default() };
    let device = Faulty::new(Recorder::new(Bytes::mib(128)), plan);
    let model = FileSystem::make(config(None), device).expect("it fits");
    let mut target = Virtual::new(model);
    let mut out = Vec::new();
    target.reap(Instant::from_start(SECOND), &mut out);
    let mut run = |command| {
        target.submit(Tag(0), command).expect("it is a command");
        let mut out = Vec::new();
        target.reap(Instant::NEVER, &mut out);
        out[0].status
    };
    assert_eq!(run(FileCommand::Create { file: FileId(1) }), Status::Done);
    assert_eq!(run(fsync(1)), Status::Failed(Errno::EIO));
    assert_eq!(run(FileCommand::Create { file: FileId(2) }), Status::Failed(Errno::EROFS));
}
