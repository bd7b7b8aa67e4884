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

use crate::allocator::Change;
use crate::config::FS_BLOCK;
use crate::discards::{DiscardCounters, bytes};
use crate::extent::Extent;
use crate::kind::FsKind;
use crate::lower::{Owner, Transfer};

use super::FileSystem;

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
    wakes_at: Instant,
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
    /// Keeps its queue in step with free space.
    fn follow(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Withheld(extent) => self.trimmer.withheld(extent.range(1)),
                Change::Used(extent) => {
                    self.trimmer.rewritten(extent.range(1));
                }
                Change::Returned(extent) => self.trimmer.returned(extent.range(1)),
            }
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
        let policy = match policy {
            FsPolicy::OwnPath(issuer) => {
                assert_eq!(self.config.discard, Some(issuer), "it is made as it is to discard");
                self.own_path = Some(OwnPath::default());
                return self;
            }
            FsPolicy::Queue(policy) => policy,
        };
        let options = Options {
            discard_max: Blocks(self.lower.discard_max()),
            extents: Extents::Atomic,
            extents_max: EXTENTS_MAX,
        };
        self.policy = Some(Policy {
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
        });
        self.config.discard = None;
        self.capabilities.discard = native;
        self.allocator.changes();
        self
    }

    /// What its trim policy has done; `None` without one. What was left alone for want of space
    /// counts as skipped.
    pub fn policy_account(&self) -> Option<DiscardAccount> {
        if let Some(own) = &self.own_path {
            return Some(self.own_account(own));
        }
        let policy = self.policy.as_ref()?;
        let mut totals = policy.trimmer.discards(block_size());
        let ExtentCounts { count, blocks } = policy.left_alone;
        totals.issued.count -= count;
        totals.issued.bytes = totals.issued.bytes - bytes(blocks.0);
        totals.skipped.count += count;
        totals.skipped.bytes += bytes(blocks.0);
        Some(DiscardAccount {
            totals,
            waiting_max: bytes(policy.waiting_max),
            withheld_max: bytes(policy.withheld_max),
            longest: policy.longest,
        })
    }

    fn own_account(&self, own: &OwnPath) -> DiscardAccount {
        let counters = self.discards.counters;
        let of = |count: u64, bytes: Bytes| DiscardCounts { count, bytes };
        let totals = DriveDiscards {
            freed: of(counters.freed_extents, counters.freed + self.discarded_ahead()),
            issued: of(counters.issued, counters.discarded),
            deferred: of(counters.deferred, counters.deferred_bytes),
            skipped: of(counters.dropped_extents, counters.dropped),
            invalidated: of(counters.reused_extents, counters.reused),
            waiting: bytes(self.discards.pending()),
        };
        DiscardAccount {
            totals,
            waiting_max: bytes(own.waiting_max),
            withheld_max: bytes(own.withheld_max),
            longest: self.discards.longest,
        }
    }

    /// Keeps the maxima of the own path's account.
    fn watch_own_path(&mut self) {
        let Some(own) = &mut self.own_path else { return };
        let commit = self.journal.committing.as_ref().filter(|commit| commit.discarded > 0);
        let freed = commit.iter().flat_map(|commit| &commit.transaction.freed[commit.given..]);
        let of_worker = self.discards.job.and_then(|job| job.withheld);
        let withheld = freed.chain(&of_worker).map(|extent| extent.length).sum();
        own.withheld_max = own.withheld_max.max(withheld);
        own.waiting_max = own.waiting_max.max(self.discards.pending());
    }

    /// Lets the maxima of its policy's account begin anew, from what is now.
    pub fn forget_policy_maxima(&mut self) {
        if self.own_path.is_some() {
            self.own_path = Some(OwnPath::default());
            self.discards.longest = Nanos::ZERO;
            self.watch_own_path();
        }
        let waiting = self.policy_pending();
        if let Some(policy) = &mut self.policy {
            policy.waiting_max = waiting;
            policy.withheld_max = policy.withheld;
            policy.longest = Nanos::ZERO;
        }
    }

    /// What became of freed space, whoever decided.
    pub(super) fn discard_counters(&self) -> DiscardCounters {
        let counters = self.discards.counters;
        let Some(policy) = &self.policy else { return counters };
        let its = policy.trimmer.counters();
        DiscardCounters {
            issued: policy.sent,
            discarded: bytes(its.issued.blocks.0 - policy.left_alone.blocks.0),
            dropped: bytes(its.skipped.blocks.0 + policy.left_alone.blocks.0),
            reused: bytes(its.invalidated.blocks.0),
            ..counters
        }
    }

    /// Blocks that wait for the policy, those that are set aside included.
    pub(super) fn policy_pending(&self) -> u64 {
        self.policy
            .as_ref()
            .map_or(0, |policy| policy.trimmer.backlog().blocks.0 + policy.trimmer.set_aside().0)
    }

    /// Blocks that the policy's discards withhold.
    pub(super) fn policy_withholds(&self) -> u64 {
        self.policy.as_ref().map_or(0, |policy| policy.withheld)
    }

    pub(super) fn policy_withheld(&self) -> impl Iterator<Item = Extent> {
        let under_way = self.policy.iter().flat_map(|policy| policy.under_way.iter());
        under_way.flat_map(|discard| discard.withheld.iter().copied())
    }

    /// When the policy is asked again, if nothing happens before.
    pub(super) fn policy_wakes_at(&self) -> Instant {
        self.policy.as_ref().map_or(Instant::NEVER, |policy| policy.wakes_at)
    }

    pub(super) fn policy_frees(&mut self, extent: Extent, now: Instant) {
        let policy = self.policy.as_mut().expect("whoever calls has seen that there is one");
        policy.trimmer.freed(now, extent.range(1));
    }

    /// A command of the foreground ended.
    pub(super) fn policy_sees(&mut self, latency: Nanos, now: Instant) {
        if let Some(policy) = &mut self.policy {
            let (outstanding, latency) = (self.lower.foreground(), Some(latency));
            policy.trimmer.foreground(now, Foreground { outstanding, latency });
            policy.told = outstanding;
        }
    }

    /// All that waits is given up.
    pub(super) fn policy_gives_up(&mut self) {
        if let Some(policy) = &mut self.policy {
            policy.follow(self.allocator.changes());
            policy.trimmer.give_up();
        }
    }

    /// Tells the policy what has happened, and does what it grants.
    pub(super) fn run_policy(&mut self, now: Instant) {
        self.watch_own_path();
        let Some(mut policy) = self.policy.take() else { return };
        policy.follow(self.allocator.changes());
        let outstanding = self.lower.foreground();
        if policy.told != outstanding {
            policy.told = outstanding;
            policy.trimmer.foreground(now, Foreground { outstanding, latency: None });
        }
        policy.wakes_at = loop {
            match policy.trimmer.next(now) {
                TrimmerStep::Discard(range) => self.send_granted(&mut policy, range, now),
                TrimmerStep::Until(at) => break at,
                TrimmerStep::Idle => break Instant::NEVER,
            }
        };
        // What it withholds itself no longer waits.
        self.allocator.changes();
        self.policy = Some(policy);
        let waiting = self.policy_pending();
        if let Some(policy) = &mut self.policy {
            policy.waiting_max = policy.waiting_max.max(waiting);
        }
    }

    fn send_granted(&mut self, policy: &mut Policy, granted: LbaRange, now: Instant) {
        let whole = Extent::new(granted.start().0, granted.length().0);
        if self.allocator.obtainable() < self.cache.delayed + whole.length {
            policy.left_alone.count += 1;
            policy.left_alone.blocks += Blocks(whole.length);
            policy.trimmer.completed(now);
            return;
        }
        let withheld: Vec<Extent> = self.allocator.split(whole).collect();
        let discard = UnderWay { since: now, withheld: withheld.clone(), io: 0 };
        let number = policy.under_way.add(discard);
        let mut io = 0;
        for extent in withheld {
            self.allocator.withhold(extent);
            io += self.lower.send(now, Owner::Policy(number), Transfer::Discard, extent);
        }
        policy.under_way.get(number).io = io;
        policy.sent += u64::from(io);
        policy.withheld += whole.length;
        policy.withheld_max = policy.withheld_max.max(policy.withheld);
    }

    /// A command of a discard ended; one that failed costs the device's knowledge only.
    pub(super) fn policy_io_ended(&mut self, which: u32, now: Instant) {
        let policy = self.policy.as_mut().expect("its discard was under way");
        let discard = policy.under_way.get(which);
        discard.io -= 1;
        if discard.io > 0 {
            return;
        }
        let UnderWay { since, withheld, .. } = policy.under_way.remove(which);
        policy.longest = policy.longest.max(now - since);
        policy.withheld -= withheld.iter().map(|extent| extent.length).sum::<u64>();
        policy.trimmer.completed(now);
        for extent in withheld {
            self.allocator.give(extent);
        }
        self.space_came(now);
        self.discards_ended(now);
    }
}
