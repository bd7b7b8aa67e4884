use proptest::prelude::*;
use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    DrainRule, Errno, Nanos, OperationKind, Payload, Status, Stream, Target as _, Virtual,
};

use super::*;
use crate::cow::config::TrimManner;
use crate::cow::stripe::Columns;
use crate::extent::Extent;
use device::Device;

mod device;
mod openzfs;
mod policies;
mod storms;

const MANNERS: [TrimManner; 4] = [
    TrimManner::ZfsAutotrim,
    TrimManner::ZfsTrim,
    TrimManner::FreeBsd2017,
    TrimManner::FreeBsd2013,
];
const POLICIES: [Option<&str>; 3] = [None, Some("rate-limited,iops=50"), Some("skip-by-queue")];
const MIB: u64 = 1 << 20;
const SECOND: Nanos = Nanos::from_secs(1);
const DRIVES: usize = 4;
const STREAM: Stream = Stream { piece: 8192, buffered: false, payload: Payload::Random };

/// raidz1 on four drives of 64 MiB; commands cost no processor time.
fn config(manner: TrimManner) -> PoolConfig {
    let mut config = PoolConfig::new(manner);
    config.parity = 1;
    config.metaslabs = Some(8);
    config.dirty_max = Bytes::mib(8);
    config.dirty_sync = Bytes::mib(4);
    for cost in [
        &mut config.cpu.metadata,
        &mut config.cpu.write_kib,
        &mut config.cpu.read_kib,
        &mut config.cpu.free_record,
    ] {
        *cost = Nanos::ZERO;
    }
    config
}

struct Machine {
    target: Virtual<Pool<Faulty<Device>>>,
}

impl Machine {
    fn new(manner: TrimManner) -> Self {
        Self::with(config(manner), &Device::new(), FaultPlan::default())
    }

    fn with(config: PoolConfig, device: &Device, faults: FaultPlan) -> Self {
        let devices = (0..DRIVES).map(|_| Faulty::new(device.clone(), faults)).collect();
        Self { target: Virtual::new(Pool::make(config, devices).expect("it fits")) }
    }

    fn pool(&self) -> &Pool<Faulty<Device>> {
        self.target.model()
    }

    fn log(&self) -> Vec<device::Entry> {
        self.pool().drives.iter().flat_map(|drive| drive.device().inner().log.clone()).collect()
    }

    fn submit(&mut self, tag: u32, command: FileCommand) {
        self.target.submit(Tag(tag), command).expect("it is a command");
    }

    /// Runs a command to its end; how it ended and how long it took.
    fn run(&mut self, command: FileCommand) -> (Status, Nanos) {
        let from = self.target.now();
        self.submit(0, command);
        let mut ended = Vec::new();
        self.target.reap(Instant::NEVER, &mut ended);
        assert_eq!(ended.len(), 1);
        (ended[0].status, ended[0].at - from)
    }

    fn done(&mut self, command: FileCommand) -> Nanos {
        let (status, span) = self.run(command);
        assert_eq!(status, Status::Done, "{command:?}");
        span
    }

    fn sync(&mut self) {
        self.done(FileCommand::SyncFilesystem);
    }

    fn pass(&mut self, span: Nanos) {
        let until = self.target.now() + span;
        let mut ended = Vec::new();
        while self.target.now() < until {
            self.target.reap(until, &mut ended);
        }
        assert_eq!(ended, [], "nothing was outstanding");
    }

    /// Every sector has one owner, and what a file holds is on the drives.
    fn check(&self, synced: bool) {
        let pool = self.pool();
        let runs = pool.files.values().flat_map(|file| file.runs.values());
        let mut live: Vec<Extent> =
            runs.clone().map(|run| Extent::new(run.start, pool.stripe.taken(*run))).collect();
        live.sort_unstable();
        assert!(live.windows(2).all(|pair| pair[0].end() <= pair[1].start), "one owner each");
        let sectors: u64 = live.iter().map(|extent| extent.length).sum();
        let first = Space::new(
            pool.metadata_sectors * pool.stripe.drives,
            pool.drives[0].sectors() * pool.stripe.drives,
            pool.config.metaslabs.expect("it is set").into(),
        );
        assert_eq!(pool.space.free() + pool.groups.returning + sectors, first.free());
        let dirty = |file: &File| file.dirty.total() + file.quiesced.total();
        let dirty: u64 = pool.files.values().map(dirty).sum();
        if synced {
            assert_eq!((pool.groups.dirty_total, dirty), (0, 0), "a sync leaves nothing");
            let mut pieces = Vec::new();
            runs.for_each(|run| pool.stripe.pieces(*run, Columns::All, &mut pieces));
            for piece in pieces {
                let device = pool.drives[piece.drive].device().inner();
                for sector in piece.start..piece.start + piece.sectors {
                    assert!(device.written.contains(&sector), "{sector} of {}", piece.drive);
                }
            }
        }
    }
}

fn file(number: u32) -> FileId {
    FileId(number)
}

fn store(number: u32, length: u64) -> FileCommand {
    FileCommand::Store {
        file: file(number),
        directory: DirectoryId::OWN,
        length: Bytes(length),
        stream: STREAM,
    }
}

fn write(number: u32, offset: u64, length: u64) -> FileCommand {
    FileCommand::Write { file: file(number), offset: Bytes(offset), length: Bytes(length) }
}

fn bytes(log: &[device::Entry], kind: OperationKind) -> u64 {
    log.iter().filter(|entry| entry.kind == kind).map(|entry| entry.sectors * FS_BLOCK.0).sum()
}

#[test]
fn records_are_written_with_parity_and_read_without() {
    let mut machine = Machine::new(TrimManner::FreeBsd2017);
    machine.done(store(1, MIB));
    assert_eq!(bytes(&machine.log(), OperationKind::Write), 0, "it waits for its group");
    machine.sync();
    machine.check(true);
    // 8 records of 32 sectors with parity: 32 + 11, padded to 44. Beside them 2 + 1 blocks of
    // metadata twice, 4 sectors each, and an uberblock a drive.
    let expected = (8 * 44 + 3 * 2 * 4 + 4) * 4096;
    assert_eq!(bytes(&machine.log(), OperationKind::Write), expected);
    let read = FileCommand::Read { file: file(1), offset: Bytes(0), length: Bytes(MIB) };
    machine.done(read);
    assert_eq!(bytes(&machine.log(), OperationKind::Read), MIB, "data columns only");
    machine.done(write(1, 0, 128 << 10));
    machine.done(read);
    assert_eq!(bytes(&machine.log(), OperationKind::Read), 2 * MIB - (128 << 10), "less the dirty");
}

#[test]
fn nothing_is_written_in_place_and_what_is_replaced_is_free_two_groups_later() {
    let mut machine = Machine::new(TrimManner::FreeBsd2017);
    machine.done(store(1, MIB));
    machine.sync();
    let places = |machine: &Machine| -> Vec<u64> {
        machine.pool().files[&file(1)].runs.values().map(|run| run.start).collect()
    };
    let (before, free) = (places(&machine), machine.pool().space.free());
    machine.done(write(1, 0, MIB));
    machine.sync();
    assert!(places(&machine).iter().all(|place| !before.contains(place)));
    assert_eq!(machine.pool().space.free(), free - 8 * 44, "the old ones are not free yet");
    for groups in [1, 2] {
        machine.done(write(1, 0, 1));
        machine.sync();
        machine.check(true);
        let free_now = machine.pool().space.free();
        assert_eq!(free_now > free - 8 * 44, groups == 2, "after {groups} groups: {free_now}");
    }
    assert_eq!(machine.pool().counters().freed, Bytes(MIB + 2 * (128 << 10)));
}

#[test]
fn a_group_is_synced_at_its_age_or_with_so_much_dirty_data() {
    let mut machine = Machine::new(TrimManner::FreeBsd2017);
    machine.done(store(1, MIB));
    machine.pass(Nanos::from_millis(4_900));
    assert_eq!(machine.pool().counters().groups, 0);
    machine.pass(Nanos::from_millis(200));
    assert_eq!(machine.pool().counters().groups, 1);
    machine.done(store(2, 4 * MIB));
    machine.pass(Nanos::from_millis(200));
    assert_eq!(machine.pool().counters().groups, 2, "4 MiB are dirty");
}

#[test]
fn much_dirty_data_delays_commands_and_more_stops_them() {
    let mut device = Device::new();
    device.write = Nanos::from_millis(20);
    let mut machine = Machine::with(config(TrimManner::FreeBsd2017), &device, FaultPlan::default());
    let quick = machine.done(store(1, 4 * MIB));
    assert_eq!(quick, Nanos::ZERO);
    // 4 MiB are being written, 5 and more are dirty: above 60 % of 8 MiB.
    let delayed = machine.done(store(2, 2 * MIB));
    assert!(delayed > Nanos::ZERO && delayed < Nanos::from_millis(40), "{delayed}");
    assert_eq!(machine.pool().counters().throttled, 0);
    let stopped = machine.done(store(3, 8 * MIB));
    assert!(stopped > Nanos::from_millis(40), "{stopped}");
    assert!(machine.pool().counters().throttled > 0);
    machine.sync();
    machine.check(true);
}

#[test]
fn a_full_pool_says_so_and_has_room_again_after_a_deletion() {
    let mut machine = Machine::new(TrimManner::FreeBsd2017);
    let Medium::Directory { available, .. } = machine.pool().capabilities().medium else {
        panic!("a pool holds files");
    };
    let most = available.0 / MIB * MIB;
    machine.done(store(1, most - MIB));
    machine.sync();
    assert_eq!(machine.run(store(2, 4 * MIB)).0, Status::Failed(Errno::ENOSPC));
    machine.done(FileCommand::Unlink { file: file(1) });
    machine.pass(SECOND.times(20));
    machine.done(store(3, most - 8 * MIB));
    machine.sync();
    machine.check(true);
}

#[test]
fn names_are_taken_once_and_directories_are_removed_empty() {
    let mut machine = Machine::new(TrimManner::ZfsAutotrim);
    let (create, unlink) =
        (FileCommand::Create { file: file(1) }, FileCommand::Unlink { file: file(1) });
    machine.done(create);
    assert_eq!(machine.run(create).0, Status::Failed(Errno(17)));
    machine.done(unlink);
    assert!(matches!(machine.target.submit(Tag(1), unlink), Err(Rejected::UnknownFile { .. })));
    let directory = DirectoryId(1);
    let inside = FileCommand::Store { file: file(2), directory, length: Bytes(10), stream: STREAM };
    assert_eq!(machine.run(inside).0, Status::Failed(Errno(2)));
    machine.done(FileCommand::MakeDirectory { directory });
    machine.done(inside);
    let remove = FileCommand::RemoveDirectory { directory };
    assert_eq!(machine.run(remove).0, Status::Failed(Errno(39)));
    machine.done(FileCommand::Unlink { file: file(2) });
    machine.done(remove);
    for refused in [
        FileCommand::TrimFreeSpace,
        FileCommand::PunchHole { file: file(1), offset: Bytes(0), length: Bytes(1) },
    ] {
        let refused = machine.target.submit(Tag(1), refused);
        assert!(matches!(refused, Err(Rejected::Unsupported { .. })), "{refused:?}");
    }
}

#[test]
fn a_drive_that_fails_fails_those_who_wait_for_it() {
    let faults = FaultPlan { fail_from: Some(Instant::from_start(SECOND)), ..FaultPlan::default() };
    let mut machine = Machine::with(config(TrimManner::FreeBsd2017), &Device::new(), faults);
    machine.done(store(1, MIB));
    machine.sync();
    machine.pass(SECOND);
    let read = FileCommand::Read { file: file(1), offset: Bytes(0), length: Bytes(MIB) };
    assert_eq!(machine.run(read).0, Status::Failed(Errno::EIO));
    machine.done(store(2, MIB));
    assert_eq!(machine.run(FileCommand::SyncFilesystem).0, Status::Failed(Errno::EIO));
}

#[test]
fn values_out_of_range_are_refused() {
    let make = |change: fn(&mut PoolConfig), drives: usize| {
        let mut config = config(TrimManner::FreeBsd2017);
        change(&mut config);
        Pool::make(config, vec![Device::new(); drives]).map(|_| ()).unwrap_err().to_string()
    };
    for (change, drives, part) in [
        ((|config| config.parity = 2) as fn(&mut PoolConfig), 2, "`parity` is 2"),
        (|config| config.record = Bytes(5_000), 4, "`record` is 5000"),
        (|config| config.dirty_sync = config.dirty_max, 4, "`dirty_sync`"),
        (|config| config.metaslabs = Some(1 << 20), 4, "does not fit on a device of 64MiB"),
        (|config| config.policy = Some("paced,target=soon".parse().unwrap()), 4, "`target`"),
    ] {
        let error = make(change, drives);
        assert!(error.contains(part), "{error}");
    }
}

/// What the random test does.
#[derive(Clone, Debug)]
enum Act {
    Store(u32, u64),
    Write(u32, u64, u64),
    Truncate(u32, u64),
    Unlink(u32),
    Sync,
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let file = 1..5_u32;
    prop_oneof![
        (file.clone(), 1..6 * MIB).prop_map(|(file, length)| Act::Store(file, length)),
        (file.clone(), 0..6 * MIB, 1..2 * MIB)
            .prop_map(|(file, offset, length)| Act::Write(file, offset, length)),
        (file.clone(), 0..6 * MIB).prop_map(|(file, length)| Act::Truncate(file, length)),
        file.prop_map(Act::Unlink),
        Just(Act::Sync),
        (1..40_u64).prop_map(Act::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_sequence_keeps_every_sector_accounted_for(
        acts in proptest::collection::vec(act(), 1..40),
        manner in proptest::sample::select(&MANNERS[..]),
        policy in proptest::sample::select(&POLICIES[..]),
    ) {
        let mut config = config(manner);
        config.policy = policy.map(|policy| policy.parse().unwrap());
        config.group_timeout = SECOND;
        let mut machine = Machine::with(config, &Device::new(), FaultPlan::default());
        for act in acts {
            let there = |machine: &Machine, number: u32| {
                machine.pool().files.contains_key(&file(number))
            };
            match act {
                Act::Store(number, length) if !there(&machine, number) => {
                    machine.done(store(number, length));
                }
                Act::Write(number, offset, length) if there(&machine, number) => {
                    machine.done(write(number, offset, length));
                }
                Act::Truncate(number, length) if there(&machine, number) => {
                    let length = Bytes(length);
                    machine.done(FileCommand::Truncate { file: file(number), length });
                }
                Act::Unlink(number) if there(&machine, number) => {
                    machine.done(FileCommand::Unlink { file: file(number) });
                }
                Act::Pass(seconds) => machine.pass(SECOND.times(seconds)),
                _ => machine.sync(),
            }
            machine.check(false);
        }
        machine.sync();
        machine.check(true);
        machine.pass(SECOND.times(300));
        machine.check(true);
        for drive in machine.target.drive_discards() {
            let ended = drive.issued.bytes + drive.skipped.bytes + drive.invalidated.bytes;
            prop_assert_eq!(drive.freed.bytes, ended + drive.waiting);
        }
        prop_assert_eq!(machine.target.statistics().discard_pending, Some(Bytes(0)));
    }
}
