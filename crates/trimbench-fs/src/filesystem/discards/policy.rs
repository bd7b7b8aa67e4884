//! Discards by a trim policy: the filesystem's own path, of which an account is kept, or a policy
//! of a queue of freed extents instead.
//!
//! Own path: nothing changes but that there is an account. Its counts are those of
//! [`DiscardCounters`]; what runs on beyond freed extents is in none of them.
//!
//! Queue:
//! The extents freed by a commit go into the policy's queue, and can be allocated again at once;
//! allocated space no longer waits for a discard. A discard is issued when the policy grants it,
//! and withheld from allocation meanwhile. An extent is divided only at the device's longest
//! discard and at the borders of groups, because ext4 discards whole free extents. The policy sees
//! the device commands, except discards, as the foreground.
//!
//! Like ext4's worker it skips an extent if this would withhold space that dirty pages were
//! promised, and drops waiting extents at unmount. Space in a chunk for small files, or
//! preallocated for one file, is set aside: not discarded meanwhile, and waiting as before once it
//! is given back unused. Space that FITRIM discards counts as allocated.
//!
//! Conservation: freed = issued + skipped + invalidated + waiting, in blocks; space set aside
//! counts as waiting. Issued extents that are skipped for lack of space count as dropped.

use trimbench_core::slab::Slab;
use trimbench_core::{
    BlockCommand, BlockSize, Blocks, Bytes, DiscardAccount, DiscardCounts, DriveDiscards, Instant,
    LbaRange, Model, Nanos, Support,
};
use trimbench_policy::{
    Choice, ExtentCounts, Extents, Foreground, Issuer, Options, PolicyError, TrimPolicy, Trimmer,
    TrimmerStep,
};

use super::{DiscardCounters, Discards};
use crate::allocator::{Allocator, Change};
use crate::config::FS_BLOCK;
use crate::extent::{Extent, bytes};
use crate::filesystem::FileSystem;
use crate::journal::Journal;
use crate::kind::FsKind;
use crate::lower::{Lower, Owner, Transfer};

/// Extents that wait at the most: what the queue of a large filesystem may take of memory, 100 MB.
const EXTENTS_MAX: usize = 1 << 20;

/// What decides about freed space where an account of it is wanted.
#[derive(Debug)]
pub enum FsPolicy {
    /// The filesystem's own path, in the manner of this issuer.
    OwnPath(Issuer),
    /// A policy of a queue of freed extents.
    Queue(Box<dyn TrimPolicy>),
}

/// The most that the filesystem's own path had waiting and withheld, in blocks.
#[derive(Debug, Default)]
pub(super) struct OwnPath {
    waiting_max: u64,
    withheld_max: u64,
}

/// A trim policy at work.
#[derive(Debug)]
pub(super) struct Policy {
    trimmer: Trimmer,
    /// Discards under way, by their numbers.
    under_way: Slab<UnderWay>,
    /// When it is asked again, if nothing happens before.
    pub(super) wakes_at: Instant,
    /// Commands of the foreground under way, as it was last told.
    told: u64,
    /// Blocks that its discards withhold now, and the most that they have.
    withheld: u64,
    withheld_max: u64,
    /// The most blocks that have waited, once it had granted what it would.
    waiting_max: u64,
    /// The longest that a discard took.
    longest: Nanos,
    /// Granted discards that were not sent for want of space, their blocks, and the discards sent.
    left_alone: ExtentCounts,
    sent: u64,
}

#[derive(Debug)]
struct UnderWay {
    since: Instant,
    /// What it withholds: one extent for each group.
    withheld: Vec<Extent>,
    /// Commands of the device.
    io: u32,
}

impl Policy {
    fn new(policy: Box<dyn TrimPolicy>, longest: u64) -> Self {
        let options = Options {
            discard_max: Blocks(longest),
            extents: Extents::Atomic,
            extents_max: EXTENTS_MAX,
        };
        Self {
            trimmer: Trimmer::new(policy, options),
            under_way: Slab::default(),
            wakes_at: Instant::NEVER,
            told: 0,
            withheld: 0,
            withheld_max: 0,
            waiting_max: 0,
            longest: Nanos::ZERO,
            left_alone: ExtentCounts::default(),
            sent: 0,
        }
    }

    /// Blocks that wait for it, those that are set aside included.
    pub(super) fn pending(&self) -> u64 {
        self.trimmer.backlog().blocks.0 + self.trimmer.set_aside().0
    }

    /// What its discards withhold.
    pub(super) fn withheld(&self) -> impl Iterator<Item = Extent> {
        self.under_way.iter().flat_map(|discard| discard.withheld.iter().copied())
    }

    pub(super) fn freed(&mut self, extent: Extent, now: Instant) {
        self.trimmer.freed(now, extent.range(1));
    }

    /// All that waits is given up.
    pub(super) fn give_up(&mut self, allocator: &mut Allocator) {
        self.follow(allocator);
        self.trimmer.give_up();
    }

    /// Keeps its queue in step with free space.
    fn follow(&mut self, allocator: &mut Allocator) {
        for change in allocator.changes() {
            match change {
                Change::Withheld(extent) => self.trimmer.withheld(extent.range(1)),
                Change::Used(extent) => {
                    self.trimmer.rewritten(extent.range(1));
                }
                Change::Returned(extent) => self.trimmer.returned(extent.range(1)),
            }
        }
    }

    /// Tells it how many commands of the foreground are under way, and how long one took that
    /// ended.
    fn tell(&mut self, outstanding: u64, latency: Option<Nanos>, now: Instant) {
        self.trimmer.foreground(now, Foreground { outstanding, latency });
        self.told = outstanding;
    }

    /// Tells it what has happened, and does what it grants.
    fn run<M>(&mut self, allocator: &mut Allocator, lower: &mut Lower<M>, now: Instant)
    where
        M: Model<Command = BlockCommand>,
    {
        self.follow(allocator);
        let outstanding = lower.foreground();
        if self.told != outstanding {
            self.tell(outstanding, None, now);
        }
        self.wakes_at = loop {
            match self.trimmer.next(now) {
                TrimmerStep::Discard(range) => self.send(range, allocator, lower, now),
                TrimmerStep::Until(at) => break at,
                TrimmerStep::Idle => break Instant::NEVER,
            }
        };
        // What it withholds itself no longer waits.
        allocator.changes();
        self.waiting_max = self.waiting_max.max(self.pending());
    }

    /// Sends a discard that it granted.
    fn send<M: Model<Command = BlockCommand>>(
        &mut self,
        granted: LbaRange,
        allocator: &mut Allocator,
        lower: &mut Lower<M>,
        now: Instant,
    ) {
        let whole = Extent::new(granted.start().0, granted.length().0);
        if allocator.available() < whole.length {
            self.left_alone.count += 1;
            self.left_alone.blocks += Blocks(whole.length);
            self.trimmer.completed(now);
            return;
        }
        let withheld: Vec<Extent> = allocator.split(whole).collect();
        let discard = UnderWay { since: now, withheld: withheld.clone(), io: 0 };
        let number = self.under_way.add(discard);
        let mut io = 0;
        for extent in withheld {
            allocator.withhold(extent);
            io += lower.send(now, Owner::Policy(number), Transfer::Discard, extent);
        }
        self.under_way.get(number).io = io;
        self.sent += u64::from(io);
        self.withheld += whole.length;
        self.withheld_max = self.withheld_max.max(self.withheld);
    }

    /// A command of a discard ended; one that failed costs the device's knowledge only. Returns
    /// whether the discard ended.
    fn io_ended(&mut self, which: u32, allocator: &mut Allocator, now: Instant) -> bool {
        let discard = self.under_way.get(which);
        discard.io -= 1;
        if discard.io > 0 {
            return false;
        }
        let UnderWay { since, withheld, .. } = self.under_way.remove(which);
        self.longest = self.longest.max(now - since);
        self.withheld -= withheld.iter().map(|extent| extent.length).sum::<u64>();
        self.trimmer.completed(now);
        for extent in withheld {
            allocator.give(extent);
        }
        true
    }

    fn account(&self) -> DiscardAccount {
        let mut totals = self.trimmer.discards(block_size());
        let ExtentCounts { count, blocks } = self.left_alone;
        totals.issued.count -= count;
        totals.issued.bytes -= bytes(blocks.0);
        totals.skipped.count += count;
        totals.skipped.bytes += bytes(blocks.0);
        DiscardAccount {
            totals,
            waiting_max: bytes(self.waiting_max),
            withheld_max: bytes(self.withheld_max),
            longest: self.longest,
        }
    }
}

/// A trim policy for a modelled filesystem, of a text such as `paced,target=5ms`.
///
/// # Errors
/// There is none of this name, a value is not of its kind or out of its range, or it is another
/// filesystem's own path.
pub fn policy(kind: FsKind, text: &str) -> Result<FsPolicy, PolicyError> {
    let choice: Choice = text.parse()?;
    match choice.own_path() {
        Some(issuer) if FsKind::of(issuer) == Some(kind) => Ok(FsPolicy::OwnPath(issuer)),
        _ => choice.build(block_size()).map(FsPolicy::Queue),
    }
}

/// What policies count in.
fn block_size() -> BlockSize {
    BlockSize::new(FS_BLOCK).expect("4 KiB is a power of two")
}

impl FsPolicy {
    /// Who discards as the filesystem does by itself: what it has to be made with.
    pub fn issuer(&self) -> Option<Issuer> {
        match self {
            Self::OwnPath(issuer) => Some(*issuer),
            Self::Queue(_) => None,
        }
    }
}

impl Discards {
    /// Blocks that the policy's discards withhold.
    pub(crate) fn policy_withholds(&self) -> u64 {
        self.policy.as_ref().map_or(0, |policy| policy.withheld)
    }

    /// What became of freed space, whoever decided.
    pub(crate) fn counters(&self) -> DiscardCounters {
        let Some(policy) = &self.policy else { return self.counters };
        let its = policy.trimmer.counters();
        DiscardCounters {
            issued: policy.sent,
            discarded: bytes(its.issued.blocks.0 - policy.left_alone.blocks.0),
            dropped: bytes(its.skipped.blocks.0 + policy.left_alone.blocks.0),
            reused: bytes(its.invalidated.blocks.0),
            ..self.counters
        }
    }

    /// A command of the foreground ended.
    pub(crate) fn policy_sees(&mut self, outstanding: u64, latency: Nanos, now: Instant) {
        if let Some(policy) = &mut self.policy {
            policy.tell(outstanding, Some(latency), now);
        }
    }

    /// Something happened: the policy does what it wants to do, or the own path's account is kept.
    pub(crate) fn run_policy<M: Model<Command = BlockCommand>>(
        &mut self,
        journal: &Journal,
        allocator: &mut Allocator,
        lower: &mut Lower<M>,
        now: Instant,
    ) {
        self.watch_own_path(journal);
        if let Some(policy) = &mut self.policy {
            policy.run(allocator, lower, now);
        }
    }

    fn account(&self, journal: &Journal) -> Option<DiscardAccount> {
        let Some(own) = &self.own_path else { return self.policy.as_ref().map(Policy::account) };
        let counters = self.counters;
        let of = |count: u64, bytes: Bytes| DiscardCounts { count, bytes };
        let freed = counters.freed + bytes(journal.discarded_ahead());
        let totals = DriveDiscards {
            freed: of(counters.freed_extents, freed),
            issued: of(counters.issued, counters.discarded),
            deferred: of(counters.deferred, counters.deferred_bytes),
            skipped: of(counters.dropped_extents, counters.dropped),
            invalidated: of(counters.reused_extents, counters.reused),
            waiting: bytes(self.pending()),
        };
        Some(DiscardAccount {
            totals,
            waiting_max: bytes(own.waiting_max),
            withheld_max: bytes(own.withheld_max),
            longest: self.longest,
        })
    }

    /// Keeps the maxima of the own path's account.
    fn watch_own_path(&mut self, journal: &Journal) {
        let Some(own) = &self.own_path else { return };
        let of_worker = self.worker.withheld().map_or(0, |extent| extent.length);
        self.own_path = Some(OwnPath {
            waiting_max: own.waiting_max.max(self.pending()),
            withheld_max: own.withheld_max.max(journal.withheld() + of_worker),
        });
    }

    fn forget_maxima(&mut self, journal: &Journal) {
        if self.own_path.is_some() {
            self.own_path = Some(OwnPath::default());
            self.longest = Nanos::ZERO;
            self.watch_own_path(journal);
        }
        if let Some(policy) = &mut self.policy {
            policy.waiting_max = policy.pending();
            policy.withheld_max = policy.withheld;
            policy.longest = Nanos::ZERO;
        }
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The same with a trim policy ([`policy`]); on a device that takes no discards nothing
    /// changes.
    ///
    /// # Panics
    /// If the policy is its own path, and it was made with another issuer.
    #[must_use]
    pub fn with_policy(mut self, policy: FsPolicy) -> Self {
        let native = self.lower.capabilities().discard;
        if native == Support::None {
            return self;
        }
        match policy {
            FsPolicy::OwnPath(issuer) => {
                assert_eq!(self.config.discard, Some(issuer), "it is made as it is to discard");
                self.discards.own_path = Some(OwnPath::default());
            }
            FsPolicy::Queue(policy) => {
                self.discards.policy = Some(Policy::new(policy, self.lower.discard_max()));
                self.config.discard = None;
                self.capabilities.discard = native;
                self.allocator.changes();
            }
        }
        self
    }

    /// What its trim policy has done; `None` without one. What was left alone for want of space
    /// counts as skipped.
    pub fn policy_account(&self) -> Option<DiscardAccount> {
        self.discards.account(&self.journal)
    }

    /// Lets the maxima of its policy's account begin anew, from what is now.
    pub fn forget_policy_maxima(&mut self) {
        self.discards.forget_maxima(&self.journal);
    }

    /// A command of a discard of the policy ended.
    pub(crate) fn policy_io_ended(&mut self, which: u32, now: Instant) {
        let policy = self.discards.policy.as_mut().expect("its discard was under way");
        if policy.io_ended(which, &mut self.allocator, now) {
            self.space_came(now);
            self.discards_ended(now);
        }
    }
}
