//! The discard thread of f2fs: what its source says, calculated apart from the model.
//!
//! The first command comes at 0, so the thread looks at 50 ms, 60.05 s, 120.05 s and so on. A
//! discard takes 1 ms, one after the other.

use super::*;
use recorder::Entry;

const F2FS: Discard = Some(Issuer::F2fs);
/// The thread's first look after what the tests do at the beginning.
const LOOK: Nanos = Nanos::from_millis(60_050);
const MINUTES: Nanos = Nanos::from_secs(300);

fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A f2fs on a device of 1 GiB.
fn f2fs(queue: QueueConfig) -> Machine {
    f2fs_on(Recorder::new(Bytes::gib(1)), queue)
}

fn f2fs_on(device: Recorder, queue: QueueConfig) -> Machine {
    let config = FsConfig { queue, ..config(F2FS) };
    let mut machine = Machine::with(config, device);
    // Past the first look.
    machine.sync();
    machine.rest(millis(100));
    machine
}

/// Without write-back throttling.
fn free_queue() -> QueueConfig {
    QueueConfig { write_back_throttling: None, ..QueueConfig::default() }
}

/// Stores twice as many files of so many blocks and deletes every second; their extents.
fn delete_apart(machine: &mut Machine, files: u32, fs_blocks: u64) -> Vec<Extent> {
    (0..2 * files).for_each(|file| {
        machine.store(file, fs_blocks);
    });
    machine.sync();
    machine.clear();
    let mut extents = Vec::new();
    for file in 0..files {
        let of_file = machine.extents(2 * file);
        assert_eq!(of_file.len(), 1, "a file is one extent");
        extents.extend(of_file);
        machine.unlink(2 * file);
    }
    machine.sync();
    assert!(machine.discards().is_empty(), "no sync waits for discards");
    assert_eq!(machine.counters().freed, bytes(u64::from(files) * fs_blocks));
    extents
}

fn discards(machine: &Machine) -> Vec<Entry> {
    let log = machine.fs().device().log().iter();
    log.filter(|entry| entry.command.kind() == OperationKind::Discard).copied().collect()
}

/// When each discard was sent.
fn sent_at(machine: &Machine) -> Vec<Nanos> {
    discards(machine).iter().map(|entry| entry.from.since_start()).collect()
}

/// Rests until this time.
fn rest_until(machine: &mut Machine, until: Nanos) {
    let now = machine.now().since_start();
    machine.rest(until - now);
}

/// Stores a file of so many blocks and frees such pieces of it, which do not touch.
fn punch(machine: &mut Machine, file: u32, fs_blocks: u64, pieces: &[u64]) {
    machine.store(file, fs_blocks);
    machine.sync();
    machine.clear();
    let mut at = 1;
    for length in pieces {
        let (offset, length) = (bytes(at), bytes(*length));
        machine.done(FileCommand::PunchHole { file: FileId(file), offset, length });
        at += length.0 / FS_BLOCK.0 + 1;
    }
    machine.sync();
}

#[test]
fn rounds_of_eight_follow_each_other_by_50_ms() {
    let mut machine = f2fs(free_queue());
    let extents = delete_apart(&mut machine, 20, 1_024);
    machine.rest(MINUTES);
    // 8, 8 and 4: each round ends 8 ms after it began.
    let begin = |at: u64| LOOK + (millis(8) + millis(50)).times(at / 8);
    assert_eq!(sent_at(&machine), (0..20).map(begin).collect::<Vec<_>>());
    // All are of the class of 2 MiB and more: in the order of coming.
    assert_eq!(machine.discards(), extents);
    assert_eq!(machine.counters().discarded, bytes(20 * 1_024));
    machine.fs().check();
}

#[test]
fn the_largest_class_comes_first() {
    let mut machine = f2fs(free_queue());
    punch(&mut machine, 1, 4_000, &[20, 600, 16, 300, 511, 700]);
    machine.rest(MINUTES);
    let lengths: Vec<u64> = machine.discards().iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [600, 700, 511, 300, 20, 16]);
}

#[test]
fn every_class_waits_until_nothing_was_asked_for_five_seconds() {
    for fs_blocks in [32, 1_024] {
        let mut machine = f2fs(free_queue());
        delete_apart(&mut machine, 3, fs_blocks);
        rest_until(&mut machine, Nanos::from_secs(59));
        machine.done(FileCommand::Create { file: FileId(1_000) });
        let asked = machine.now().since_start();
        assert!(asked < LOOK);
        machine.rest(MINUTES);
        assert_eq!(sent_at(&machine)[0], asked + Nanos::from_secs(5));
    }
}

#[test]
fn while_a_read_is_under_way_it_looks_every_500_ms() {
    let mut machine = f2fs(free_queue());
    delete_apart(&mut machine, 3, 1_024);
    machine.target.model_mut().device_mut().write = millis(1);
    rest_until(&mut machine, Nanos::from_secs(60));
    // For 700 ms.
    let read = FileCommand::Read { file: FileId(1), offset: Bytes(0), length: bytes(700) };
    let took = machine.done(read);
    assert!(took > millis(550) && took < millis(1_050), "{took}");
    machine.rest(MINUTES);
    assert_eq!(sent_at(&machine)[0], LOOK + millis(1_000));
}

#[test]
fn a_checkpoint_of_an_idle_filesystem_wakes_the_thread() {
    let mut machine = f2fs(free_queue());
    machine.store(1, 1_024);
    machine.store(2, 32);
    machine.sync();
    machine.clear();
    machine.unlink(1);
    let deleted = machine.now();
    // Nobody syncs: the checkpoint comes after a minute.
    machine.rest(Nanos::from_secs(59));
    assert_eq!(machine.fs().journal.freed(), 1_024);
    machine.rest(Nanos::from_secs(2));
    let discard = discards(&machine)[0];
    let flushes = machine.fs().device().log().iter();
    let mut flushes = flushes.filter(|entry| entry.command == BlockCommand::Flush);
    let checkpoint = flushes.next_back().expect("a checkpoint flushes").to;
    assert_eq!(discard.from, checkpoint);
    assert!(checkpoint - deleted >= Nanos::from_secs(60), "{checkpoint:?}");
}

#[test]
fn less_than_64_kib_stays() {
    let mut machine = f2fs(free_queue());
    punch(&mut machine, 1, 4_000, &[15, 16, 15, 1, 17]);
    machine.rest(MINUTES);
    let lengths: Vec<u64> = machine.discards().iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [17, 16]);
    assert_eq!(machine.fs().discards_pending(), bytes(31));
    machine.fs().check();
}

#[test]
fn above_80_percent_short_ones_follow_by_address() {
    let mut machine = f2fs(free_queue());
    let available = machine.fs().allocator.available();
    machine.store(2, available * 85 / 100);
    let pieces = [4, 9, 2, 5, 7, 1, 3, 8, 16, 6, 10];
    punch(&mut machine, 1, 100, &pieces);
    let place = machine.extents(1)[0];
    machine.rest(MINUTES);
    let discards = machine.discards();
    let lengths: Vec<u64> = discards.iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [16, 4, 9, 2, 5, 7, 1, 3, 8, 6, 10]);
    assert!(discards[1].start == place.end(), "behind the block that is left of the file");
    let begin = |at: u64| LOOK + (millis(8) + millis(50)).times(at / 8);
    assert_eq!(sent_at(&machine), (0..11).map(begin).collect::<Vec<_>>());
    assert_eq!(machine.fs().discards_pending(), Bytes(0));
    machine.fs().check();
}

#[test]
fn an_unmount_discards_for_five_seconds_and_loses_the_rest() {
    let unmounted = |discard| {
        let mut machine = f2fs(free_queue());
        delete_apart(&mut machine, 40, 32);
        machine.target.model_mut().device_mut().discard = discard;
        let from = machine.now();
        machine.unmount();
        machine.fs().check();
        (machine.discards().len(), machine.counters(), machine.now() - from)
    };
    // A round takes 3.2 s: the second begins in time, the third would begin after 6.4 s.
    let (sent, counters, took) = unmounted(millis(400));
    assert_eq!((sent, counters.dropped_at_unmount), (16, bytes(24 * 32)));
    assert!(took >= millis(6_400) && took < millis(6_500), "{took}");
    // Without pauses between rounds: 40 ms.
    let (sent, counters, took) = unmounted(millis(1));
    assert_eq!((sent, counters.dropped), (40, Bytes(0)));
    assert!(took >= millis(40) && took < millis(50), "{took}");
}

#[test]
fn an_unmount_discards_short_ones_too() {
    let mut machine = f2fs(free_queue());
    punch(&mut machine, 1, 4_000, &[15, 1, 700]);
    machine.unmount();
    let lengths: Vec<u64> = machine.discards().iter().map(|extent| extent.length).collect();
    assert_eq!(lengths, [700, 15, 1]);
}

#[test]
fn a_class_is_one_command_where_the_drive_takes_ranges() {
    let taking_ranges = || {
        let mut device = Recorder::new(Bytes::gib(1));
        device.ranges = 256;
        device
    };
    let mut machine = f2fs_on(taking_ranges(), free_queue());
    let extents = delete_apart(&mut machine, 20, 1_024);
    machine.rest(MINUTES);
    // Commands of 8, 8 and 4 ranges, each 1 ms.
    let begin = |at: u64| LOOK + (millis(1) + millis(50)).times(at / 8);
    assert_eq!(sent_at(&machine), (0..20).map(begin).collect::<Vec<_>>());
    let commands = |machine: &Machine| {
        let mut ends: Vec<Instant> = discards(machine).iter().map(|entry| entry.to).collect();
        ends.dedup();
        ends.len()
    };
    assert_eq!((commands(&machine), machine.discards()), (3, extents));
    // Classes are not in one plug.
    let mut machine = f2fs_on(taking_ranges(), free_queue());
    punch(&mut machine, 1, 4_000, &[20, 600, 20, 700]);
    machine.rest(MINUTES);
    assert_eq!((commands(&machine), machine.discards().len()), (2, 4));
}

#[test]
fn pieces_of_the_drives_longest_discard_count_in_a_round() {
    let mut device = Recorder::new(Bytes::gib(1));
    device.limit_discards(bytes(512));
    let mut machine = Machine::with(config(F2FS), device);
    machine.store(1, 512 * 11);
    machine.sync();
    let place = machine.extents(1);
    machine.unlink(1);
    machine.sync();
    machine.rest(MINUTES);
    let whole: u64 = place.iter().map(|extent| extent.length).sum();
    assert_eq!(machine.counters().discarded, bytes(whole));
    assert!(machine.discards().iter().all(|extent| extent.length <= 512));
    let mut rounds = sent_at(&machine);
    let first = rounds.iter().filter(|at| **at == rounds[0]).count();
    rounds.dedup();
    assert_eq!((first, rounds.len()), (8, machine.discards().len().div_ceil(8)));
}

#[test]
fn throttling_holds_a_round_back_and_the_next_waits_for_it() {
    let mut machine = f2fs(QueueConfig { tags: Some(128), ..QueueConfig::default() });
    delete_apart(&mut machine, 12, 1_024);
    machine.rest(MINUTES);
    let sent = sent_at(&machine);
    // Four at first, then as two have ended each time.
    assert_eq!(sent.iter().filter(|at| **at == LOOK).count(), 4);
    let last_of_first = discards(&machine)[7].to.since_start();
    assert_eq!(sent[8], last_of_first + millis(50));
    assert_eq!(sent.len(), 12);
}

#[test]
fn a_segment_in_which_nothing_is_left_is_discarded_as_a_whole() {
    let mut machine = f2fs(free_queue());
    (0..12).for_each(|file| {
        machine.store(file, 256);
    });
    machine.sync();
    let aligned = |file: &u32| machine.extents(*file)[0].start.is_multiple_of(512);
    let first = (2..10).find(aligned).expect("one of them begins a segment");
    let start = machine.extents(first)[0].start;
    assert_eq!(machine.extents(first + 1)[0].start, start + 256);
    machine.clear();
    machine.unlink(first);
    machine.sync();
    machine.rest(MINUTES);
    assert_eq!(machine.discards(), [Extent::new(start, 256)]);
    machine.clear();
    machine.unlink(first + 1);
    machine.sync();
    machine.rest(MINUTES);
    assert_eq!(machine.discards(), [Extent::new(start, 512)]);
    machine.fs().check();
}

#[test]
fn what_is_allocated_again_is_not_discarded() {
    let mut machine = Machine::new(F2FS);
    let all = machine.fs().allocator.available();
    machine.store(1, all / 2);
    machine.sync();
    let extents = machine.extents(1);
    machine.unlink(1);
    machine.sync();
    machine.clear();
    // The rest of the filesystem is too small: the file gets blocks that are candidates.
    machine.store(2, all * 3 / 4);
    machine.sync();
    machine.rest(MINUTES);
    let taken = machine.extents(2);
    assert!(machine.counters().reused > Bytes(0), "{:?}", machine.counters());
    let touch = |one: &[Extent], other: &[Extent]| {
        one.iter().any(|a| other.iter().any(|b| a.overlap(*b).is_some()))
    };
    assert!(touch(&extents, &taken) && !touch(&machine.discards(), &taken));
    let counters = machine.counters();
    assert_eq!(counters.discarded + counters.reused, counters.freed, "what is still free goes");
    machine.fs().check();
}

#[test]
fn an_fsync_writes_a_node_block_and_no_checkpoint() {
    let mut machine = f2fs(free_queue());
    machine.store(1, 1_024);
    machine.sync();
    machine.unlink(1);
    machine.done(FileCommand::Create { file: FileId(2) });
    machine.clear();
    let commits = machine.fs().counters().commits;
    machine.done(fsync(2));
    assert_eq!(machine.fs().counters().commits, commits);
    assert_eq!(machine.sent(OperationKind::Write).len(), 1);
    let kinds: Vec<OperationKind> =
        machine.fs().device().log().iter().map(|entry| entry.command.kind()).collect();
    assert_eq!(kinds, [OperationKind::Write, OperationKind::Flush]);
    // What was deleted waits for the next checkpoint.
    assert_eq!(machine.fs().journal.freed(), 1_024);
    machine.fs().check();
}

/// One that does not discard online.
fn without_discard(made_trimmed: bool) -> Machine {
    let config = FsConfig { discard: None, made_trimmed, ..config(F2FS) };
    Machine::with(config, Recorder::new(Bytes::gib(1)))
}

#[test]
fn fitrim_discards_in_rounds_by_address_with_20_ms_between() {
    let mut machine = without_discard(true);
    let mut extents = delete_apart(&mut machine, 20, 1_024);
    extents.sort_unstable();
    machine.rest(MINUTES);
    assert!(machine.discards().is_empty());
    let took = machine.done(FileCommand::TrimFreeSpace);
    assert_eq!(machine.discards(), extents);
    // Nothing is to be committed; after the last round, which is not full, there is no pause.
    assert_eq!(took, millis(8 + 20 + 8 + 20 + 4));
    machine.clear();
    machine.done(FileCommand::TrimFreeSpace);
    assert!(machine.discards().is_empty(), "it remembers");
    machine.fs().check();
}

#[test]
fn fitrim_of_a_device_that_mkfs_did_not_discard_takes_all_free_space() {
    let mut machine = without_discard(false);
    delete_apart(&mut machine, 4, 32);
    let free = machine.fs().allocator.free();
    machine.done(FileCommand::TrimFreeSpace);
    assert_eq!(machine.counters().trimmed, bytes(free));
    machine.fs().check();
}

#[test]
fn fitrim_beside_online_discard_leaves_it_to_the_thread() {
    let mut machine = f2fs(free_queue());
    let free = machine.fs().allocator.free();
    let took = machine.done(FileCommand::TrimFreeSpace);
    assert_eq!((took, machine.counters().trimmed), (Nanos::ZERO, Bytes(0)));
    assert_eq!(machine.fs().discards_pending(), bytes(free));
    machine.rest(MINUTES);
    assert_eq!(machine.counters().discarded, bytes(free));
    machine.fs().check();
}
