use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::settings::Named as _;
use trimbench_core::{
    Lba, Nanos, Operation as _, OperationKind, Payload, Stream, Target as _, Virtual,
};

use super::*;
use crate::config::{Allocation, CpuCosts};
use crate::kind::{FsKind, Journaling};
use recorder::Recorder;
use trimbench_block::QueueConfig;
use trimbench_policy::Issuer;

mod commits;
mod extent_tree;
mod f2fs;
mod issuers;
mod pages;
mod policy;
mod random;
mod recorder;
mod whole;

const MIB: u64 = 1 << 20;
const SECOND: Nanos = Nanos::from_secs(1);

/// How the tests write and read.
const STREAM: Stream = Stream { piece: 4096, buffered: false, payload: Payload::Random };

/// Who discards, or nobody.
type Discard = Option<Issuer>;
const IN_COMMIT: Discard = Some(Issuer::Ext4Since2_6_33);
const ALL_IN_COMMIT: Discard = Some(Issuer::Ext4Since4_13);
const WORKER: Discard = Some(Issuer::Ext4Since5_15);
const UNCLIPPED: Discard = Some(Issuer::Ext4);

/// A filesystem of 8 groups of 16 MiB on a recorder, commands cost no processor time; nobody holds
/// discards back.
fn config(discard: Discard) -> FsConfig {
    let kind = discard.and_then(FsKind::of).unwrap_or(FsKind::Ext4);
    let journaling = match discard {
        Some(Issuer::Ext4NoJournal) => Journaling::Writeback,
        _ => Journaling::Ordered,
    };
    FsConfig {
        discard,
        journaling,
        queue: QueueConfig { write_back_throttling: None, ..QueueConfig::default() },
        group_fs_blocks: 4_096,
        group_inodes: 256,
        journal: Some(Bytes::mib(4)),
        memory: Bytes::mib(64),
        cpu: CpuCosts { metadata: Nanos::ZERO, call: Nanos::ZERO, kib: Nanos::ZERO },
        ..FsConfig::of(kind)
    }
}

/// A filesystem with a clock.
struct Machine {
    target: Virtual<FileSystem<Recorder>>,
}

impl Machine {
    fn new(discard: Discard) -> Self {
        Self::with(config(discard), Recorder::new(Bytes::mib(128)))
    }

    fn with(config: FsConfig, device: Recorder) -> Self {
        Self { target: Virtual::new(FileSystem::make(config, device).expect("it fits")) }
    }

    fn fs(&self) -> &FileSystem<Recorder> {
        self.target.model()
    }

    fn now(&self) -> Instant {
        self.target.now()
    }

    /// Runs a command to its end; returns how it ended and how long it took.
    fn run(&mut self, command: FileCommand) -> (Status, Nanos) {
        let from = self.now();
        self.target.submit(Tag(0), command).expect("it is a command");
        self.wait(from)
    }

    fn wait(&mut self, from: Instant) -> (Status, Nanos) {
        let mut out = Vec::new();
        while out.is_empty() {
            self.target.reap(Instant::NEVER, &mut out);
        }
        assert_eq!(out.len(), 1);
        (out[0].status, out[0].at - from)
    }

    fn done(&mut self, command: FileCommand) -> Nanos {
        let (status, took) = self.run(command);
        assert_eq!(status, Status::Done, "{command:?}");
        took
    }

    fn store(&mut self, file: u32, fs_blocks: u64) -> Nanos {
        self.done(stored(file, fs_blocks))
    }

    fn unlink(&mut self, file: u32) -> Nanos {
        self.done(FileCommand::Unlink { file: FileId(file) })
    }

    fn sync(&mut self) -> Nanos {
        self.done(FileCommand::SyncFilesystem)
    }

    fn unmount(&mut self) {
        let (from, tag) = (self.now(), Tag(0));
        self.target.model_mut().unmount(from, tag).expect("it is mounted");
        assert_eq!(self.wait(from).0, Status::Done);
    }

    fn mount(&mut self) {
        let (from, tag) = (self.now(), Tag(0));
        self.target.model_mut().mount(from, tag).expect("it is not mounted");
        assert_eq!(self.wait(from).0, Status::Done);
    }

    /// Lets time pass.
    fn rest(&mut self, span: Nanos) {
        let (until, mut out) = (self.now() + span, Vec::new());
        while self.now() < until {
            self.target.reap(until, &mut out);
        }
        assert!(out.is_empty(), "nothing was asked for");
    }

    /// Forgets what the device was sent so far.
    fn clear(&mut self) {
        self.target.model_mut().device_mut().clear();
    }

    /// What the device was sent, by kind.
    fn sent(&self, kind: OperationKind) -> Vec<Extent> {
        let of_kind = self.fs().device().log().iter().filter(|entry| entry.command.kind() == kind);
        of_kind.filter_map(|entry| recorder::extent(entry.command)).collect()
    }

    fn discards(&self) -> Vec<Extent> {
        self.sent(OperationKind::Discard)
    }

    fn extents(&self, file: u32) -> Vec<Extent> {
        let map = &self.fs().files[FileId(file)].map;
        map.extents().iter().map(|mapped| mapped.extent).collect()
    }

    fn counters(&self) -> DiscardCounters {
        self.fs().counters().discards
    }
}

fn stored(file: u32, fs_blocks: u64) -> FileCommand {
    let length = bytes(fs_blocks);
    FileCommand::Store { file: FileId(file), directory: DirectoryId::OWN, length, stream: STREAM }
}

fn fsync(file: u32) -> FileCommand {
    FileCommand::Fsync { file: FileId(file) }
}
