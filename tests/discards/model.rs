//! What the models do.

use std::collections::BTreeSet;

use trimbench_block::{BlockLayer, QueueConfig, QueueEvent};
use trimbench_core::settings::Named as _;
use trimbench_core::{
    BlockCommand, BlockSize, Blocks, Bytes, Capabilities, Clock, Completion, DeviceStatistics,
    DirectoryId, DrainRule, FileCommand, FileId, Instant, LbaRange, Medium, Model, Nanos,
    Operation as _, OperationKind, Payload, Rejected, Status, Storage, Stream, Support, Tag,
    Target as _, Virtual,
};
use trimbench_fs::{FileSystem, FsConfig, FsKind};
use trimbench_policy::Issuer;

use super::{DiscardAction, DiscardCase, FsyncCase, SeenRequests};

/// A sector of a loop device.
const SECTOR: u64 = 512;
/// What a loop device takes at most: 4 GiB less a sector, down to a granule.
const LOOP_MAX: Bytes = Bytes((1 << 32) - 4096);
/// Requests that a loop device has at once.
const LOOP_DEPTH: u32 = 128;
/// Write-back throttling is back at its first step after this rest.
const SETTLE: Nanos = Nanos::from_secs(4);
/// How a program stores a file.
const STREAM: Stream = Stream { piece: 1 << 20, buffered: false, payload: Payload::Random };

/// A loop device whose one thread does discards and flushes one after the other, and hands the rest
/// on, each in a stated time; keeps when discards came and ended.
#[derive(Debug)]
pub(super) struct LoopWorker {
    capabilities: Capabilities,
    under_way: BTreeSet<(Instant, u32)>,
    free_at: Instant,
    discard: Nanos,
    other: Nanos,
    seen: Vec<(u64, u64, u64)>,
}

impl LoopWorker {
    fn new(capacity: Bytes, discard_max: Option<Bytes>) -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity, logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: discard_max.unwrap_or(LOOP_MAX),
            discard_granularity: Bytes(4096),
            queue_depth: LOOP_DEPTH,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            capabilities,
            under_way: BTreeSet::new(),
            free_at: Instant::START,
            discard: Nanos::ZERO,
            // A write to a file in memory, through FUSE.
            other: Nanos::from_micros(30),
            seen: Vec::new(),
        }
    }

    fn begin(&mut self, discard: Nanos) {
        self.discard = discard;
        self.seen.clear();
    }

    fn seen(&self, issuer: Issuer) -> SeenRequests {
        SeenRequests { requests: self.seen.clone(), sender: issuer.id().to_owned() }
    }

    fn take(&mut self, now: Instant, tag: Tag, kind: OperationKind, sectors: u64) {
        let is_discard = kind == OperationKind::Discard;
        let begins = self.free_at.max(now);
        let ends = begins + if is_discard { self.discard } else { self.other };
        let holds_thread = is_discard || kind == OperationKind::Flush;
        self.free_at = if holds_thread { ends } else { begins };
        self.under_way.insert((ends, tag.0));
        if is_discard {
            let times = (now.since_start().0, ends.since_start().0);
            self.seen.push((times.0, times.1, sectors * SECTOR));
        }
    }
}

impl Storage for LoopWorker {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        DeviceStatistics::default()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for LoopWorker {
    fn submit(&mut self, now: Instant, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let sectors = match command {
            BlockCommand::Flush => Blocks(0),
            BlockCommand::Read(range)
            | BlockCommand::Write { range, .. }
            | BlockCommand::Discard(range) => range.length(),
        };
        self.take(now, tag, command.kind(), sectors.0);
        Ok(())
    }

    fn submit_discard(
        &mut self,
        now: Instant,
        tag: Tag,
        ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        let sectors = ranges.iter().map(|range| range.length().0).sum();
        self.take(now, tag, OperationKind::Discard, sectors);
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.under_way.first().map_or(Instant::NEVER, |(at, _)| *at)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while let Some(&(at, tag)) = self.under_way.first()
            && at <= now
        {
            self.under_way.pop_first();
            out.push(Completion { tag: Tag(tag), at, status: Status::Done });
        }
    }
}

/// Does a case in the model, each discard in `discard`.
///
/// # Panics
/// If it does not fit.
pub(super) fn by_model(case: &DiscardCase, discard: Nanos) -> SeenRequests {
    let device = LoopWorker::new(case.capacity, case.discard_max);
    let Some(kind) = case.kind() else {
        return discard_whole(device, case, discard);
    };
    let online = (case.action != DiscardAction::Trim).then_some(case.issuer);
    let config = FsConfig {
        discard: online,
        journaling: case.journaling,
        queue: queue(case.throttled),
        ..FsConfig::of(kind)
    };
    let mut target = Virtual::new(FileSystem::make(config, device).expect("it fits"));
    for file in 0..case.files {
        perform(&mut target, stored(file, case.size));
        perform(&mut target, FileCommand::Fsync { file: FileId(file) });
    }
    perform(&mut target, FileCommand::SyncFilesystem);
    let remove = |target: &mut Modelled| {
        case.deleted().for_each(|file| {
            perform(target, FileCommand::Unlink { file: FileId(file) });
        });
    };
    if case.action == DiscardAction::Trim {
        remove(&mut target);
        settle_deletions(&mut target, kind);
    }
    rest(&mut target, SETTLE);
    target.model_mut().device_mut().begin(discard);
    match case.action {
        DiscardAction::Trim => {
            perform(&mut target, FileCommand::TrimFreeSpace);
        }
        DiscardAction::Unmount => {
            remove(&mut target);
            let now = target.now();
            target.model_mut().unmount(now, Tag(0)).expect("nothing is outstanding");
            one(&mut target);
        }
        DiscardAction::DeleteAlternate | DiscardAction::DeleteAll | DiscardAction::Device => {
            remove(&mut target);
            settle_deletions(&mut target, kind);
        }
    }
    rest(&mut target, Nanos::from_secs(30));
    target.model().device().seen(case.issuer)
}

/// How long an fsync takes behind a mass deletion, each discard in `discard` and everything else in
/// `other`.
///
/// # Panics
/// If it does not fit.
pub(super) fn fsync_by_model(case: &FsyncCase, discard: Nanos, other: Nanos) -> Nanos {
    let device = LoopWorker::new(case.capacity(), None);
    let config =
        FsConfig { discard: case.issuer, queue: queue(case.throttled), ..FsConfig::of(case.kind) };
    let mut target = Virtual::new(FileSystem::make(config, device).expect("it fits"));
    for file in 0..2 * case.files {
        perform(&mut target, stored(file, case.size));
        perform(&mut target, FileCommand::Fsync { file: FileId(file) });
    }
    perform(&mut target, FileCommand::SyncFilesystem);
    rest(&mut target, SETTLE);
    target.model_mut().device_mut().begin(discard);
    target.model_mut().device_mut().other = other;
    for file in 0..case.files {
        perform(&mut target, FileCommand::Unlink { file: FileId(2 * file) });
    }
    rest(&mut target, Nanos::from_millis(500));
    let begin = target.now();
    let new = FileId(2 * case.files);
    perform(&mut target, FileCommand::Create { file: new });
    perform(&mut target, FileCommand::Fsync { file: new });
    target.now() - begin
}

type Modelled = Virtual<FileSystem<LoopWorker>>;

fn queue(throttled: bool) -> QueueConfig {
    let own = QueueConfig::default();
    let throttling = own.write_back_throttling.filter(|_| throttled);
    QueueConfig { write_back_throttling: throttling, ..own }
}

/// As blkdiscard does it: the whole device at once.
fn discard_whole(mut device: LoopWorker, case: &DiscardCase, discard: Nanos) -> SeenRequests {
    device.begin(discard);
    let mut layer = BlockLayer::new(device, &queue(case.throttled)).expect("a block device");
    let whole = LbaRange::from_bytes(Bytes(0), case.capacity, BlockSize::SECTOR);
    layer.discard(Instant::START, (), &[whole.expect("whole sectors")], true);
    let mut out: Vec<QueueEvent<()>> = Vec::new();
    while !layer.is_idle() {
        let now = layer.next_event();
        layer.advance(now, &mut out);
        layer.dispatch(now);
    }
    layer.device().seen(case.issuer)
}

fn stored(file: u32, length: Bytes) -> FileCommand {
    FileCommand::Store { file: FileId(file), directory: DirectoryId::OWN, length, stream: STREAM }
}

/// As in the kernel: of XFS a pause, then an fsync of a new file; then a sync.
fn settle_deletions(target: &mut Modelled, kind: FsKind) {
    if kind == FsKind::Xfs {
        let last = FileId(1 << 20);
        rest(target, Nanos::from_millis(300));
        perform(target, stored(last.0, Bytes(4096)));
        perform(target, FileCommand::Fsync { file: last });
    }
    perform(target, FileCommand::SyncFilesystem);
}

fn perform(target: &mut Modelled, command: FileCommand) {
    target.submit(Tag(0), command).expect("it is a command");
    one(target);
}

fn one(target: &mut Modelled) {
    let mut out = Vec::new();
    while out.is_empty() {
        target.reap(Instant::NEVER, &mut out);
    }
    assert_eq!(out[0].status, Status::Done, "the device has room and works");
}

fn rest(target: &mut Modelled, span: Nanos) {
    let (until, mut out) = (target.now() + span, Vec::new());
    while target.now() < until {
        target.reap(until, &mut out);
    }
}
