//! The contracts: models are told the time, targets own it, workloads say what to submit and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::command::{Completion, FileId, OperationKind, ProgramEnd, Rejected, Tag};
use crate::layers::BlockRequest;
use crate::units::{BlockSize, Bytes, Instant, LbaRange, Nanos};

/// Ranges of one discard, at most. Source: \[NVME\].
pub const DISCARD_RANGES_MAX: usize = 256;

const NO_SWITCH: Rejected =
    Rejected::Unsupported { operation: "a change of how its filesystem discards" };
const NO_PROGRAM: Rejected = Rejected::Unsupported { operation: "running a program" };
const NO_REQUESTS: Rejected = Rejected::Unsupported { operation: "a look at its requests" };
const ONE_RANGE: Rejected = Rejected::Unsupported { operation: "a discard of several ranges" };

/// What a mounted filesystem does about the space that deletions free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MountDiscard {
    /// Nothing: only FITRIM discards it.
    Off,
    /// It discards the space when the transaction that freed it commits; f2fs some time later.
    AtCommit,
    /// btrfs `discard=async`: a worker discards free space of block groups some time later.
    Deferred,
}

impl MountDiscard {
    /// The mount option that asks for it. On btrfs `discard` alone is `discard=sync`.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Off => "nodiscard",
            Self::AtCommit => "discard",
            Self::Deferred => "discard=async",
        }
    }
}

/// Something that takes commands, and what can be seen of it from outside: what the two contracts,
/// [`Model`] and [`Target`], have in common.
pub trait Storage {
    /// What it takes.
    type Command;

    /// What it can do, asked once.
    fn capabilities(&self) -> &Capabilities;

    /// Counters, as the kernel's diskstats; only differences mean something.
    fn statistics(&self) -> DeviceStatistics;

    /// Such a command probably comes soon. Changes nothing: a model with large tables can have the
    /// processor fetch what the command will need.
    #[inline]
    fn prefetch(&self, _command: &Self::Command) {}

    /// What became of freed space, drive by drive; empty where nobody counts it.
    fn drive_discards(&self) -> Vec<DriveDiscards> {
        Vec::new()
    }

    /// The ways to discard that its filesystem can be switched between while it is mounted; none
    /// where that cannot be done, or the user has not agreed to it.
    fn discard_ways(&self) -> Vec<MountDiscard> {
        Vec::new()
    }

    /// Has the filesystem discard in this way from now on, as a remount does: one of
    /// [`Self::discard_ways`]. Its capabilities change with it. No command may be outstanding.
    ///
    /// # Errors
    /// [`Rejected::Unsupported`] where there is no filesystem, [`Rejected::NotSwitched`] where it
    /// stays as it was.
    fn switch_discard(&mut self, _way: MountDiscard) -> Result<(), Rejected> {
        Err(NO_SWITCH)
    }

    /// In how many extents the file lies; `None` where that cannot be told. Each extent is at least
    /// one discard when the file goes.
    fn extent_count(&self, _file: FileId) -> Option<u64> {
        None
    }

    /// Begins or ends to note the requests that its devices are sent. What was noted and not taken
    /// is forgotten either way.
    ///
    /// # Errors
    /// [`Rejected::Unsupported`] where it has no layer below, or none that can be seen;
    /// [`Rejected::Unseen`] where it is the circumstances that forbid it.
    fn watch_requests(&mut self, _watch: bool) -> Result<(), Rejected> {
        Err(NO_REQUESTS)
    }

    /// Appends the requests that ended since the last call, in the order of their ends, then those
    /// under way, as far as they have come: these come again when they have ended. Nothing where
    /// they are not watched.
    fn take_requests(&mut self, _out: &mut Vec<BlockRequest>) {}
}

/// Storage that is passive and is told the time: the emulated SSD, the modelled filesystem, layers
/// that plant faults.
///
/// Time never runs backwards: `now` of successive calls to `submit` and `advance` never falls, and
/// never passes over `next_event`.
pub trait Model: Storage {
    /// Takes a command at `now`. The tag comes back in its completion.
    fn submit(&mut self, now: Instant, tag: Tag, command: Self::Command) -> Result<(), Rejected>;

    /// Takes one discard of several ranges at `now`, as `NVMe` and ATA have it: one command, one
    /// completion. At most [`DISCARD_RANGES_MAX`] of them.
    ///
    /// # Errors
    /// [`Rejected::Unsupported`] where a discard has one range.
    fn submit_discard(
        &mut self,
        _now: Instant,
        _tag: Tag,
        _ranges: &[LbaRange],
    ) -> Result<(), Rejected> {
        Err(ONE_RANGE)
    }

    /// Into one discard a host's block layer puts so many ranges at most, in [1,
    /// [`DISCARD_RANGES_MAX`]]. Linux sends one to SATA and to loop devices
    /// (`max_discard_segments`).
    fn discard_ranges(&self) -> usize {
        1
    }

    /// When something happens next; [`Instant::NEVER`] when idle.
    fn next_event(&self) -> Instant;

    /// Does everything due up to and including `now` and appends the completions in their order.
    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>);
}

/// Storage that owns time and is driven by a runner.
pub trait Target: Storage {
    /// The time on its clock. Between two calls of `reap` a virtual clock stands still.
    fn now(&self) -> Instant;

    /// Takes a command; never waits.
    fn submit(&mut self, tag: Tag, command: Self::Command) -> Result<(), Rejected>;

    /// Takes one discard of several ranges; see [`Model::submit_discard`].
    fn submit_discard(&mut self, _tag: Tag, _ranges: &[LbaRange]) -> Result<(), Rejected> {
        Err(ONE_RANGE)
    }

    /// Waits until something completes or `deadline` passes, and appends what completed. The only
    /// place where time passes. A deadline in the past makes it look without waiting.
    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>);

    /// Gives the bytes that [`crate::Payload::Source`] stands for from now on: as many as the
    /// largest operation writes. Models keep no contents and need none.
    fn set_source(&mut self, _source: &[u8]) {}

    /// What [`crate::FileCommand::RunProgram`] runs from now on: a line for a shell.
    ///
    /// # Errors
    /// [`Rejected::Unsupported`] where there is nothing that runs programs, as in a model.
    fn set_program(&mut self, _line: &str) -> Result<(), Rejected> {
        Err(NO_PROGRAM)
    }

    /// How the program ended that was run last; once.
    fn take_program_end(&mut self) -> Option<ProgramEnd> {
        None
    }

    /// How much of what would have told of requests was lost since they are watched, at least: the
    /// places of stalls are then known in part only. Models lose nothing.
    fn requests_lost(&self) -> u64 {
        0
    }
}

/// Whose time the target's clock shows. The two are never mixed in one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A model's.
    Virtual,
    /// The wall's.
    Wall,
}

/// Whether and how a target does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Not at all.
    None,
    /// With other means: correct, but its timing is not the real thing's.
    Emulated,
    /// As such.
    Native,
}

/// What a target stores on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A block device.
    Device {
        /// Bytes that a host can address.
        capacity: Bytes,
        /// Unit of addresses.
        logical_block: BlockSize,
    },
    /// A directory on a mounted filesystem.
    Directory {
        /// Bytes that may be written before the filesystem counts as full: its free space less a
        /// reserve that is left alone.
        available: Bytes,
        /// Unit in which the filesystem allocates.
        fs_block: Bytes,
    },
}

/// What a target can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whose time its clock shows.
    pub clock: Clock,
    /// What it stores on.
    pub medium: Medium,
    /// Whether discards reach something that can act on them.
    pub discard: Support,
    /// The largest single discard. Larger ones are for the caller to split.
    pub discard_max: Bytes,
    /// Discards are acted on in multiples of this.
    pub discard_granularity: Bytes,
    /// Commands that the device works on at once; more wait in the host.
    pub queue_depth: u32,
    /// When the discards of a deletion are over.
    pub drain: DrainRule,
}

/// Counters of one class of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassStatistics {
    /// Commands completed.
    pub completed: u64,
    /// Bytes of those commands.
    pub bytes: Bytes,
    /// Sum of their times from submission to completion, at most 584 years: the waits in a queue
    /// that grows for hours of virtual time do add up to that.
    pub time: Nanos,
}

/// Counters of a target, in the spirit of `/proc/diskstats`. Monotonic, except the last two fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStatistics {
    /// Reads.
    pub read: ClassStatistics,
    /// Writes.
    pub write: ClassStatistics,
    /// Discards, as the device completed them.
    pub discard: ClassStatistics,
    /// Flushes.
    pub flush: ClassStatistics,
    /// Commands submitted and not completed.
    pub outstanding: u64,
    /// Bytes freed that the filesystem still means to discard; `None` if it does not say.
    pub discard_pending: Option<Bytes>,
}

impl DeviceStatistics {
    /// The counters of `kind`; `None` for kinds that devices do not know.
    pub fn class_mut(&mut self, kind: OperationKind) -> Option<&mut ClassStatistics> {
        match kind {
            OperationKind::Read => Some(&mut self.read),
            OperationKind::Write => Some(&mut self.write),
            OperationKind::Discard => Some(&mut self.discard),
            OperationKind::Flush => Some(&mut self.flush),
            OperationKind::Metadata => None,
        }
    }
}

/// What became of the space that a filesystem freed on one of its drives, since it was made. In
/// bytes, freed = issued + skipped + invalidated + waiting; numbers do not add up so, because
/// extents merge and split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveDiscards {
    /// Extents that came up for a discard.
    pub freed: DiscardCounts,
    /// Discards issued.
    pub issued: DiscardCounts,
    /// Of these, the ones that did not go at the instant of their freeing.
    pub deferred: DiscardCounts,
    /// Given up without a discard: by choice, or because they are too short.
    pub skipped: DiscardCounts,
    /// Written again before their discard.
    pub invalidated: DiscardCounts,
    /// Waiting for a discard.
    pub waiting: Bytes,
}

/// A number of extents or discards, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardCounts {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// What a workload wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<C> {
    /// Submit this. `intended` is when it should have started: response time counts from there, so
    /// that a stall cannot hide the requests that it held up. Never later than now.
    Issue {
        /// When it should start.
        intended: Instant,
        /// What to submit.
        command: C,
    },
    /// Nothing before this instant.
    NotBefore(Instant),
    /// Nothing until a command completes.
    Await,
    /// Nothing ever again.
    Done,
}

/// A source of commands. Asked for the next one until it answers something else than
/// [`Next::Issue`], told of every completion of its own commands.
pub trait Workload {
    /// What it issues.
    type Command;

    /// What to do at `now`.
    fn next(&mut self, now: Instant) -> Next<Self::Command>;

    /// One more command that it will issue, after those that it told of before; nothing where it
    /// looks no further ahead.
    #[inline]
    fn upcoming(&mut self) -> Option<Self::Command> {
        None
    }

    /// One of its commands ended at `at`.
    fn completed(&mut self, command: &Self::Command, at: Instant);
}

/// What makes a filesystem send the discards of freed extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForceDiscards {
    /// Nothing beyond the commit that a sync brings (ext4; a block target).
    Sync,
    /// An fsync of a dirty file, which forces the log (XFS: `sync` alone leaves them for 30 s).
    FsyncDirtyFile,
}

impl std::fmt::Display for ForceDiscards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Sync => "sync of the filesystem",
            Self::FsyncDirtyFile => "fsync of a dirty file",
        })
    }
}

/// When the discards of a deletion are over: how a method drains its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainRule {
    /// What to do after the deletion.
    pub force: ForceDiscards,
    /// Discards are over when this long has passed without one.
    pub quiet: Nanos,
    /// The filesystem may legitimately begin this late.
    pub latest_start: Nanos,
    /// Give up after this long.
    pub timeout: Nanos,
}

impl DrainRule {
    /// For block targets: a discard is over when it completes.
    pub const IMMEDIATE: Self = Self {
        force: ForceDiscards::Sync,
        quiet: Nanos::ZERO,
        latest_start: Nanos::ZERO,
        timeout: Nanos::from_secs(3_600),
    };
}

/// Times in which this process should have run and did not: it was stopped, or waited for a
/// processor. Whatever it measured meanwhile took as much longer, by no fault of the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnPauses {
    /// How long pauses were looked for, pauses included.
    pub watched: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// All together. Those that any machine makes are left out.
    pub total: Nanos,
}

/// The user's wish to stop, shared between the signal handler and the runner.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
