//! What `OpenZFS` does beside a policy: metaslab by metaslab, drive by drive, group by group.

use super::*;

/// A pool of 8 metaslabs with 22 files of 1 MiB in each, of which `deleted` is asked by number;
/// their space has returned. A discard takes 100 ms.
fn holed(manner: TrimManner, rate: Bytes, deleted: fn(u32) -> bool) -> Machine {
    let mut device = Device::new();
    device.discard = Nanos::from_millis(100);
    let mut config = config(manner);
    config.trim_rate = rate;
    let mut machine = Machine::with(config, &device, FaultPlan::default());
    for number in 1..=150 {
        machine.done(store(number, MIB));
    }
    machine.sync();
    for number in (1..=150).filter(|&number| deleted(number)) {
        machine.done(FileCommand::Unlink { file: file(number) });
    }
    for _ in 0..3 {
        machine.done(FileCommand::Create { file: file(999) });
        machine.done(FileCommand::Unlink { file: file(999) });
        machine.sync();
    }
    machine
}

/// The discards of each drive, in the order of their starts.
fn discards(machine: &Machine) -> Vec<Vec<device::Entry>> {
    let of_drive = |drive: &Drive<Faulty<Device>>| {
        let log = drive.device().inner().log.iter();
        log.filter(|entry| entry.kind == OperationKind::Discard).copied().collect()
    };
    machine.pool().drives.iter().map(of_drive).collect()
}

/// The discards of the first drive by metaslab, in the order of the visits.
fn visits(machine: &Machine) -> Vec<(u64, Vec<device::Entry>)> {
    let pool = machine.pool();
    let first = pool.metadata_sectors;
    let metaslab = (pool.drives[0].sectors() - first) / 8;
    let of = |entry: &device::Entry| (entry.start - first) / metaslab;
    let log = &discards(machine)[0];
    let visits = log.chunk_by(|one, next| of(one) == of(next));
    visits.map(|visit| (of(&visit[0]), visit.to_vec())).collect()
}

fn even(number: u32) -> bool {
    number.is_multiple_of(2)
}

#[test]
fn a_metaslab_is_trimmed_drive_after_drive_with_two_at_once() {
    let mut machine = holed(TrimManner::ZfsAutotrim, Bytes(0), even);
    machine.pass(SECOND.times(400));
    machine.check(true);
    let drives = discards(&machine);
    for (drive, log) in drives.iter().enumerate() {
        // 352 sectors of 4 drives.
        assert!(log.len() >= 75 && log.iter().all(|entry| entry.sectors >= 88), "drive {drive}");
        for (number, entry) in log.iter().enumerate() {
            let active = log[..number].iter().filter(|other| other.to > entry.from).count();
            assert!(active < 2, "two at once");
        }
    }
    // The first metaslab has 11 ranges: the next drive begins when ten of them are queued or under
    // way, which is when the first ends.
    let first = |drive: usize| drives[drive][0].from;
    for drive in 1..DRIVES {
        assert_eq!(first(drive) - first(drive - 1), Nanos::from_millis(100));
    }
}

#[test]
fn five_groups_later_and_after_one_more_the_next_metaslab_has_its_turn() {
    let mut machine = holed(TrimManner::ZfsAutotrim, Bytes(0), even);
    machine.pass(SECOND.times(400));
    let visits = visits(&machine);
    assert_eq!(visits.len(), 7, "150 files are in 7 metaslabs");
    for pair in visits.windows(2) {
        let ((one, before), (next, after)) = (&pair[0], &pair[1]);
        // One metaslab of 32 has its turn after each group; there are 8.
        let groups = 5 + (next + 32 - one) % 32;
        let gap = (after[0].from - before[0].from).seconds();
        // Groups of 5 s, and what their own requests take.
        let expected = 5.0 * groups as f64;
        assert!((expected..=expected + 0.6).contains(&gap), "{gap} s for {groups} groups");
    }
}

#[test]
fn a_sync_waits_for_the_discards_of_its_group_and_no_longer_than_five() {
    let mut slowest = Nanos::ZERO;
    let mut machine = holed(TrimManner::ZfsAutotrim, Bytes(0), even);
    for _ in 0..200 {
        machine.pass(Nanos::from_millis(50));
        machine.done(write(1, 0, 1));
        slowest = slowest.max(machine.done(FileCommand::SyncFilesystem));
        machine.check(true);
    }
    let bounds = Nanos::from_millis(400)..=Nanos::from_millis(510);
    assert!(bounds.contains(&slowest), "{slowest}: ten, two at once, 100 ms each");
    let mut machine = holed(TrimManner::FreeBsd2017, Bytes(0), even);
    machine.pass(SECOND.times(32));
    let alone = machine.done(FileCommand::SyncFilesystem);
    assert!(alone < Nanos::from_millis(5), "{alone}: FreeBSD's groups wait for no discard");
}

#[test]
fn what_is_too_short_on_the_drive_is_skipped_and_counted() {
    let mut machine = Machine::new(TrimManner::ZfsAutotrim);
    // 64 KiB are 16 + 6 sectors, at most 6 on a drive; 128 KiB are 44, at least 11.
    for number in 1..=100 {
        let length = if even(number) { 64 << 10 } else { 128 << 10 };
        machine.done(store(number, length));
    }
    machine.sync();
    for number in (1..=100).filter(|number| number % 4 != 0 && number % 4 != 3) {
        machine.done(FileCommand::Unlink { file: file(number) });
        machine.sync();
    }
    machine.pass(SECOND.times(400));
    machine.check(true);
    let drives = machine.target.drive_discards();
    for (drive, log) in drives.iter().zip(discards(&machine)) {
        assert!(log.iter().all(|entry| entry.sectors >= 8), "32 KiB or more");
        assert_eq!(drive.issued.count, log.len() as u64);
        assert_eq!(drive.freed.bytes, drive.issued.bytes + drive.skipped.bytes);
    }
    // Of one record that is between two others.
    let mut machine = holed(TrimManner::ZfsAutotrim, Bytes(0), |_| false);
    machine.done(store(500, 64 << 10));
    machine.done(store(501, MIB));
    machine.sync();
    machine.done(FileCommand::Unlink { file: file(500) });
    machine.pass(SECOND.times(400));
    for drive in machine.target.drive_discards() {
        assert_eq!((drive.issued.count, drive.skipped.count), (0, 1), "{drive:?}");
    }
}

#[test]
fn what_is_allocated_again_is_not_trimmed() {
    let mut machine = holed(TrimManner::ZfsAutotrim, Bytes(0), |number| number < 100);
    machine.done(store(600, 120 * MIB));
    machine.sync();
    machine.check(true);
    let reused = machine.pool().counters().reused;
    assert!(reused > Bytes::mib(20), "{reused}");
    machine.pass(SECOND.times(400));
    machine.check(true);
    assert_eq!(machine.target.statistics().discard_pending, Some(Bytes(0)));
}

#[test]
fn zpool_trim_discards_all_free_space_on_all_drives_at_once() {
    let mut machine = holed(TrimManner::ZfsTrim, Bytes(0), even);
    let free = machine.pool().space.free();
    machine.pass(SECOND.times(100));
    machine.check(true);
    let drives = discards(&machine);
    let sectors: u64 = drives.iter().flatten().map(|entry| entry.sectors).sum();
    assert_eq!(sectors, free, "also what was never written, once");
    let first = drives[0][0].from;
    assert!(drives.iter().all(|log| log[0].from == first));
    // Nobody runs it again until something is deleted.
    machine.done(write(1, 0, MIB));
    machine.pass(SECOND.times(100));
    assert_eq!(discards(&machine).iter().flatten().map(|entry| entry.sectors).sum::<u64>(), free);
}

#[test]
fn the_rate_of_zpool_trim_counts_from_the_begin_of_each_metaslab() {
    let rate = Bytes(100 << 10);
    let mut machine = holed(TrimManner::ZfsTrim, rate, even);
    machine.pass(SECOND.times(1_000));
    let mut slow = 0;
    for (_, visit) in visits(&machine) {
        let (last, before) = visit.split_last().expect("a visit has a discard");
        let bytes: u64 = before.iter().map(|entry| entry.sectors * 4_096).sum();
        let expected = bytes as f64 / rate.0 as f64;
        let took = (last.from - visit[0].from).seconds();
        assert!((0.0..0.02).contains(&(took - expected)), "{took} s, not {expected}");
        slow += u32::from(took > 10.0);
    }
    assert!(slow >= 6, "{slow} metaslabs with holes");
}

#[test]
fn at_the_end_trimming_stops_and_the_pool_is_idle() {
    for manner in [TrimManner::ZfsAutotrim, TrimManner::ZfsTrim] {
        let mut machine = holed(manner, Bytes(0), even);
        machine.pass(SECOND.times(12));
        machine.sync();
        machine.target.model_mut().give_up_discards();
        machine.pass(SECOND.times(20));
        assert!(!machine.pool().is_busy() && machine.target.model().next_event() == Instant::NEVER);
    }
}
