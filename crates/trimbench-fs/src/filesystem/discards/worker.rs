//! The worker of ext4 and of btrfs's `discard=async`: freed extents that wait for a discard.
//!
//! Model, after `ext4_discard_work` and `ext4_try_to_trim_range` (fs/ext4/mballoc.c): it processes
//! freed extents in the order of their commits, one discard at a time. It discards the part of each
//! extent that is still free, and withholds it from allocation meanwhile. The unclipped worker
//! begins at the freed extent's first free block and goes to the end of the free space there, not
//! to that of the freed extent (because it searches the discard's end up to the end of the group).
//! The worker drops its remaining work when the filesystem is unmounted, and when an allocation
//! fails for lack of space. btrfs: [`DelayedQueue`].

use std::collections::{BTreeSet, VecDeque};

use trimbench_core::{BlockCommand, Instant, Model, Nanos};
use trimbench_policy::Issuer;

use super::{DiscardCounters, Discards};
use crate::allocator::Allocator;
use crate::config::FsConfig;
use crate::delayed::DelayedQueue;
use crate::extent::{Extent, bytes};
use crate::filesystem::FileSystem;
use crate::kind::{BTRFS_GROUP, FsKind};
use crate::lower::{Owner, Transfer};

/// What the worker does to one freed extent.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// What is left of the freed extent.
    rest: Extent,
    /// When its commit ended.
    freed_at: Instant,
    /// When what is under way was sent.
    sent_at: Instant,
    /// What is being discarded, withheld from allocation.
    withheld: Option<Extent>,
    /// Device commands under way.
    io: u32,
}

/// What waits for it, and what it is at.
#[derive(Debug, Default)]
pub(super) struct Worker {
    /// Freed extents that it has not begun: at once, or after a wait.
    queue: VecDeque<(Extent, Instant)>,
    queued: u64,
    delayed: DelayedQueue,
    /// Block groups of btrfs whose free space has been queued once.
    looked_at: BTreeSet<u64>,
    /// It sends nothing before.
    paused: Option<Instant>,
    job: Option<Job>,
}

impl Worker {
    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none()
    }

    /// Blocks that it has yet to look at.
    pub(super) fn pending(&self) -> u64 {
        self.queued + self.delayed.total() + self.job.map_or(0, |job| job.rest.length)
    }

    /// What it is discarding.
    pub(super) fn withheld(&self) -> Option<Extent> {
        self.job.and_then(|job| job.withheld)
    }

    /// When it goes on by itself; never while it has something under way.
    pub(super) fn next_event(&self) -> Instant {
        if self.job.is_some() || self.delayed.total() == 0 {
            return Instant::NEVER;
        }
        self.delayed.next_due().max(self.paused.unwrap_or(Instant::START))
    }

    /// After a mount nobody knows what was trimmed.
    pub(super) fn forget_groups(&mut self) {
        self.looked_at.clear();
    }

    /// Gives up everything that waits, and what is left of the job; a discard that is under way
    /// ends. Returns how many blocks.
    pub(super) fn give_up(&mut self, counters: &mut DiscardCounters) -> u64 {
        let mut dropped = std::mem::take(&mut self.queued) + self.delayed.clear();
        counters.dropped_extents += self.queue.len() as u64;
        self.queue.clear();
        if let Some(job) = &mut self.job {
            dropped += job.rest.length;
            counters.dropped_extents += u64::from(job.rest.length > 0);
            job.rest.length = 0;
        }
        dropped
    }

    /// The next freed extent, if it is due, and when it was freed; of one that was delayed, the
    /// start of time.
    fn pop(&mut self, now: Instant, counters: &mut DiscardCounters) -> Option<(Extent, Instant)> {
        if self.delayed.total() > 0 && self.paused.is_none_or(|paused| paused <= now) {
            let extent = self.delayed.pop(now);
            counters.dropped += bytes(std::mem::take(&mut self.delayed.too_short));
            return extent.map(|extent| (extent, Instant::START));
        }
        let (extent, freed_at) = self.queue.pop_front()?;
        self.queued -= extent.length;
        Some((extent, freed_at))
    }
}

impl Discards {
    /// The worker is to discard an extent that is free, some time.
    pub(super) fn hand_to_worker(
        &mut self,
        extent: Extent,
        config: &FsConfig,
        allocator: &Allocator,
        now: Instant,
    ) {
        let Worker { queue, queued, delayed, looked_at, .. } = &mut self.worker;
        if config.discard != Some(Issuer::BtrfsAsync) {
            *queued += extent.length;
            queue.push_back((extent, now));
            return;
        }
        let number = extent.start / BTRFS_GROUP;
        let start = number * BTRFS_GROUP;
        let group = Extent::between(start, (start + BTRFS_GROUP).min(allocator.total()));
        let empty = allocator.is_empty(group);
        if !looked_at.insert(number) {
            delayed.push(extent, empty, now);
            return;
        }
        // Of a group that was never looked at all free space counts as untrimmed, whether it was
        // used before or not.
        let counters = &mut self.counters;
        for run in allocator.free_runs(group) {
            counters.freed += bytes(run.length);
            delayed.push(run, empty, now);
        }
        counters.freed.0 -= bytes(extent.length).0;
    }
}

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The worker sends its next discard, if none is under way.
    pub(crate) fn work_off_discards(&mut self, now: Instant) {
        loop {
            let Discards { worker, counters, .. } = &mut self.discards;
            let job = match worker.job {
                Some(job) if job.io > 0 => return,
                Some(job) => job,
                None => match worker.pop(now, counters) {
                    Some((rest, freed_at)) => {
                        Job { rest, freed_at, sent_at: now, withheld: None, io: 0 }
                    }
                    None => return,
                },
            };
            self.discards.worker.job = self.discard_part(job, now);
        }
    }

    /// Discards the first part of a freed extent that is still free; `None` if there is none.
    fn discard_part(&mut self, job: Job, now: Instant) -> Option<Job> {
        let rest = job.rest;
        if rest.length == 0 {
            return None;
        }
        let free = match self.config.kind {
            // Its groups are where free extents end.
            FsKind::Ext4 => self.allocator.free_from(rest.start),
            _ => self.allocator.free_run(rest.start, rest.end()),
        };
        let counters = &mut self.discards.counters;
        let Some(free) = free.filter(|free| free.start < rest.end()) else {
            counters.reused += bytes(rest.length);
            counters.reused_extents += 1;
            return None;
        };
        let rule = self.config.discard.expect("a worker discards for an issuer").rule();
        let end = rule.end(rest.end(), free.end());
        let extent = Extent::between(free.start, end);
        let within = end.min(rest.end());
        counters.reused += bytes(free.start - rest.start);
        counters.reused_extents += u64::from(free.start > rest.start);
        if self.allocator.available() < extent.length {
            counters.dropped += bytes(rest.end() - free.start);
            counters.dropped_extents += 1;
            return None;
        }
        self.allocator.withhold(extent);
        let sent = self.lower.send(now, Owner::Worker, Transfer::Discard, extent);
        counters.issued += u64::from(sent);
        counters.discarded += bytes(within - free.start);
        counters.discarded_beyond += bytes(end - within);
        if job.freed_at < now {
            counters.deferred += u64::from(sent);
            counters.deferred_bytes += bytes(within - free.start);
        }
        let rest = Extent::between(within, rest.end());
        Some(Job { rest, sent_at: now, withheld: Some(extent), io: sent, ..job })
    }

    /// A discard of the worker ended.
    pub(crate) fn worker_io_ended(&mut self, now: Instant) {
        let job = self.discards.worker.job.as_mut().expect("the worker waits for it");
        job.io -= 1;
        if job.io > 0 {
            return;
        }
        let took = now - job.sent_at;
        if let Some(extent) = job.withheld.take() {
            self.allocator.give(extent);
        }
        self.discards.took(took);
        let pause = self.config.discard.map_or(Nanos::ZERO, |issuer| issuer.rule().pause);
        self.discards.worker.paused = Some(now + pause);
        self.work_off_discards(now);
        self.space_came(now);
        self.discards_ended(now);
    }
}
