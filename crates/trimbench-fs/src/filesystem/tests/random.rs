//! Random commands against what must hold whatever they are.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trimbench_core::trace_hash::TraceHash;

use super::*;

/// What a random step is.
#[derive(Clone, Copy, Debug)]
enum Step {
    Command(FileCommand),
    Rest(u64),
    Remount,
}

fn step() -> impl Strategy<Value = Step> {
    let file = (0..12_u32).prop_map(FileId);
    // Some files are larger than the cache or the filesystem can take.
    let length = prop_oneof![6 => 1..300_000_u64, 2 => 1..6_000_000_u64, 1 => 1..30_000_000_u64];
    let range =
        (0..2_000_000_u64, 1..2_000_000_u64).prop_map(|(at, length)| (Bytes(at), Bytes(length)));
    let stored = (file.clone(), length.clone()).prop_map(|(file, length)| FileCommand::Store {
        file,
        directory: DirectoryId::OWN,
        length: Bytes(length),
        stream: STREAM,
    });
    let appended = (file.clone(), length).prop_map(|(file, length)| FileCommand::Append {
        file,
        length: Bytes(length),
        stream: STREAM,
    });
    let ranged =
        (file.clone(), range, 0..5_u32).prop_map(|(file, (offset, length), kind)| match kind {
            0 => FileCommand::Write { file, offset, length },
            1 => FileCommand::Read { file, offset, length },
            2 => FileCommand::PunchHole { file, offset, length },
            3 => FileCommand::Truncate { file, length: offset },
            _ => FileCommand::Load { file, length, stream: STREAM },
        });
    let plain = (file, 0..2_u32).prop_map(|(file, kind)| match kind {
        0 => FileCommand::Unlink { file },
        _ => FileCommand::Fsync { file },
    });
    let whole = prop_oneof![
        2 => Just(FileCommand::SyncFilesystem),
        1 => Just(FileCommand::TrimFreeSpace),
    ];
    prop_oneof![
        8 => stored.prop_map(Step::Command),
        3 => appended.prop_map(Step::Command),
        6 => ranged.prop_map(Step::Command),
        8 => plain.prop_map(Step::Command),
        2 => whole.prop_map(Step::Command),
        4 => (0..7_000_u64).prop_map(Step::Rest),
        1 => (0..70_000_u64).prop_map(Step::Rest),
        1 => Just(Step::Remount),
    ]
}

/// Whether a file is there, and its size, as a program would expect it; `None` for the size once a
/// command on it failed for want of space.
type Expected = BTreeMap<FileId, Option<u64>>;

fn expect(expected: &mut Expected, command: FileCommand, status: Status) {
    let sizes = |entry: &mut Option<u64>, size: &dyn Fn(u64) -> u64| {
        *entry = entry.filter(|_| status == Status::Done).map(size);
    };
    match command {
        FileCommand::Store { file, length, .. } => {
            expected.entry(file).or_insert((status == Status::Done).then_some(length.0));
        }
        FileCommand::Append { file, length, .. } => {
            sizes(expected.get_mut(&file).expect("it is there"), &|size| size + length.0);
        }
        FileCommand::Write { file, offset, length } => {
            let end = offset.0 + length.0;
            sizes(expected.get_mut(&file).expect("it is there"), &|size| size.max(end));
        }
        FileCommand::Truncate { file, length } => {
            *expected.get_mut(&file).expect("it is there") = Some(length.0);
        }
        FileCommand::Unlink { file } => {
            expected.remove(&file);
        }
        _ => {}
    }
}

/// A machine under random steps, with what is expected of it.
struct Trial {
    machine: Machine,
    expected: Expected,
    outstanding: BTreeMap<u32, FileCommand>,
    next_tag: u32,
    hash: TraceHash,
    /// Discards of the log that were looked at.
    seen: usize,
}

impl Trial {
    fn new(discard: Discarding, slow: bool) -> Self {
        let mut device = Recorder::new(Bytes::mib(128));
        device.discard = if slow { SECOND } else { Nanos::from_micros(50) };
        device.limit_discards(Bytes::mib(8));
        let policy = match discard {
            Discarding::Path(_) | Discarding::NobodyOnF2fs => None,
            Discarding::Policy(policy) => super::super::policy(FsKind::Ext4, policy).ok(),
        };
        let path = match discard {
            Discarding::Path(path) => path,
            Discarding::Policy(_) => policy.as_ref().expect("a policy").issuer(),
            Discarding::NobodyOnF2fs => None,
        };
        let base = match discard {
            Discarding::NobodyOnF2fs => FsConfig { discard: None, ..config(Some(Issuer::F2fs)) },
            _ => config(path),
        };
        let config = FsConfig { memory: Bytes::mib(16), journal: Some(bytes(256)), ..base };
        let mut made = FileSystem::make(config, device).expect("it fits");
        if let Some(policy) = policy {
            made = made.with_policy(policy);
        }
        Self {
            machine: Machine { target: Virtual::new(made) },
            expected: Expected::new(),
            outstanding: BTreeMap::new(),
            next_tag: 0,
            hash: TraceHash::default(),
            seen: 0,
        }
    }

    fn take(&mut self, step: Step, depth: usize) {
        match step {
            Step::Command(command) => {
                let tag = Tag(self.next_tag);
                self.next_tag += 1;
                match self.machine.target.submit(tag, command) {
                    Ok(()) => {
                        self.outstanding.insert(tag.0, command);
                    }
                    Err(Rejected::UnknownFile { .. }) => {}
                    Err(other) => panic!("{command:?}: {other}"),
                }
                self.reap_to(depth);
            }
            Step::Rest(millis) => {
                let until = self.machine.now() + Nanos::from_millis(millis);
                while self.machine.now() < until {
                    self.reap(until);
                }
            }
            Step::Remount => {
                self.reap_to(0);
                self.machine.unmount();
                assert_eq!(self.machine.fs().discards_pending(), Bytes(0));
                self.machine.mount();
            }
        }
        self.look();
    }

    fn reap_to(&mut self, depth: usize) {
        while self.outstanding.len() > depth {
            self.reap(Instant::NEVER);
        }
    }

    fn reap(&mut self, deadline: Instant) {
        let mut out = Vec::new();
        self.machine.target.reap(deadline, &mut out);
        for Completion { tag, at, status } in out {
            let command = self.outstanding.remove(&tag.0).expect("a command ends once");
            let allowed = [Errno::ENOSPC, Errno::EEXIST].map(Status::Failed);
            assert!(status == Status::Done || allowed.contains(&status), "{command:?} {status:?}");
            expect(&mut self.expected, command, status);
            self.hash.word(tag.0.into());
            self.hash.word(at.since_start().0);
        }
        self.look();
    }

    /// No discard that is under way touches a block that someone owns.
    fn look(&mut self) {
        let (fs, now) = (self.machine.fs(), self.machine.now());
        let log = fs.device().log();
        while log.get(self.seen).is_some_and(|entry| entry.to <= now) {
            self.seen += 1;
        }
        let under_way = log[self.seen..].iter();
        for entry in under_way.filter(|entry| entry.command.kind() == OperationKind::Discard) {
            let discard = recorder::extent(entry.command).expect("it has a range");
            for (_, file) in fs.files.iter() {
                let mut extents = file.map.extents().iter();
                assert!(extents.all(|mapped| mapped.extent.overlap(discard).is_none()));
            }
            assert!(fs.allocator.reserved().all(|extent| extent.overlap(discard).is_none()));
            assert!(fs.journal.layout.metadata().all(|extent| extent.overlap(discard).is_none()));
            // Where btrfs keeps its trees it discards the blocks that it replaces.
            let is_tree = fs.config.discard == Some(Issuer::BtrfsSync) && discard.length == 4;
            let mut journal = fs.journal.region().iter().filter(|_| !is_tree);
            assert!(journal.all(|extent| extent.overlap(discard).is_none()));
        }
    }
}

/// Runs the steps and returns the hash of all completions.
fn run(discard: Discarding, slow: bool, depth: usize, steps: &[Step]) -> u64 {
    let mut trial = Trial::new(discard, slow);
    for step in steps {
        trial.take(*step, depth);
        trial.machine.fs().check();
    }
    trial.reap_to(0);
    trial.machine.sync();
    let fs = trial.machine.fs();
    fs.check();
    assert_eq!(fs.cache.room(), PageCache::new(fs.config()).room(), "all is written");
    fs.allocator.check_promised(0);
    if depth == 0 {
        let there: Vec<FileId> = fs.files.iter().map(|(id, _)| id).collect();
        assert_eq!(there, trial.expected.keys().copied().collect::<Vec<_>>());
        for (file, size) in &trial.expected {
            let size = size.unwrap_or(fs.files[*file].size);
            assert_eq!(fs.files[*file].size, size, "{file:?}");
        }
    }
    trial.hash.value()
}

/// What becomes of freed space.
#[derive(Clone, Copy, Debug)]
enum Discarding {
    Path(Discard),
    Policy(&'static str),
    /// An f2fs that only FITRIM discards.
    NobodyOnF2fs,
}

/// Every path, none, and some policies.
fn discardings() -> Vec<Discarding> {
    let online = Issuer::NAMES.iter().map(|(_, issuer)| *issuer);
    let online = online.filter(|issuer| FsKind::of(*issuer).is_some());
    let paths = online.map(|issuer| Discarding::Path(Some(issuer)));
    let policies = [
        "ext4",
        "ext4-4.13",
        "btrfs-async,delay=2s",
        "skip-by-queue,pending-max=2",
        "paced,discard-max=1MiB",
        "talos,chunk=1MiB,delay=1s",
        "mean-law",
    ];
    let without = [Discarding::Path(None), Discarding::NobodyOnF2fs];
    without.into_iter().chain(paths).chain(policies.map(Discarding::Policy)).collect()
}

/// A log so small that write-back finds the transaction full, and whose commit writes the last
/// dirty file back itself.
#[test]
fn a_commit_that_write_back_starts_may_leave_nothing_to_write() {
    let stored = |file| FileCommand::Store {
        file: FileId(file),
        directory: DirectoryId::OWN,
        length: Bytes(1),
        stream: STREAM,
    };
    let appended = FileCommand::Append { file: FileId(0), length: Bytes(1), stream: STREAM };
    let commands = [stored(3), stored(0), stored(0), FileCommand::SyncFilesystem, stored(1)];
    let steps = commands.map(Step::Command).into_iter().chain([
        Step::Command(appended),
        Step::Rest(2),
        Step::Command(FileCommand::SyncFilesystem),
    ]);
    run(Discarding::Path(Some(Issuer::BtrfsSync)), false, 0, &steps.collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_keep_every_invariant(
        path in prop::sample::select(discardings()),
        slow in any::<bool>(),
        depth in 0..6_usize,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let once = run(path, slow, depth, &steps);
        let twice = run(path, slow, depth, &steps);
        prop_assert_eq!(once, twice, "the same commands give the same times");
    }
}
