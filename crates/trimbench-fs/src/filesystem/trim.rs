//! Discards outside the commit: those of the worker and of the process that deletes, and FITRIM.
//!
//! FITRIM, after `ext4_trim_fs`: group by group, one free extent after the other, each withheld
//! from allocation while it is discarded. A trimmed group is skipped until blocks of it are freed;
//! a mount resets that. btrfs remembers nothing, and its block groups are of 1 GiB. XFS has
//! `trim_xfs.rs`, f2fs `trim_f2fs.rs` and `discard_thread.rs`. Unlike ext4, all skip an extent if
//! this would withhold space that dirty pages were promised.

use std::collections::VecDeque;

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Errno, Instant, Model, Nanos, Support};

use crate::commands::{Progress, Slot, Stage, Stop, ended, require};
use crate::config::FS_BLOCK;
use crate::discards::{Batch, Job, bytes};
use crate::extent::Extent;
use crate::kind::FsKind;
use crate::lower::{Owner, Transfer};

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The worker sends its next discard, if none is under way.
    pub(super) fn work_off_discards(&mut self, now: Instant) {
        loop {
            let job = match self.discards.job.take() {
                Some(job) => job,
                None => match self.discards.pop(now) {
                    Some((rest, freed_at)) => {
                        Job { rest, freed_at, sent_at: now, withheld: None, io: 0 }
                    }
                    None => return,
                },
            };
            if job.io > 0 {
                self.discards.job = Some(job);
                return;
            }
            self.discards.job = self.discard_part(job, now);
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
        let Some(free) = free.filter(|free| free.start < rest.end()) else {
            self.discards.counters.reused += bytes(rest.length);
            self.discards.counters.reused_extents += 1;
            return None;
        };
        let rule = self.config.discard.expect("a worker discards for an issuer").rule();
        let end = rule.end(rest.end(), free.end());
        let extent = Extent::between(free.start, end);
        let within = end.min(rest.end());
        let counters = &mut self.discards.counters;
        counters.reused += bytes(free.start - rest.start);
        counters.reused_extents += u64::from(free.start > rest.start);
        if self.allocator.obtainable() < self.cache.delayed + extent.length {
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

    pub(super) fn worker_io_ended(&mut self, now: Instant) {
        let job = self.discards.job.as_mut().expect("the worker waits for it");
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
        self.discards.pause_until(now + pause);
        self.work_off_discards(now);
        self.space_came(now);
        self.discards_ended(now);
    }

    /// Discards ended: an unmount that waits for the last of them goes on.
    pub(super) fn discards_ended(&mut self, now: Instant) {
        let over = self.discards.is_idle() && self.policy_withholds() == 0;
        if over && let Some(slot) = self.unmounting.take() {
            self.step(slot, now);
        }
    }

    /// The process that deletes has the next of the extents that it freed discarded, and waits
    /// (`ext4_free_blocks` without a journal or with `data=writeback`).
    pub(super) fn discard_as_caller(&mut self, slot: Slot, now: Instant) -> Progress {
        let command = self.commands.get(slot);
        // A discard that fails costs the device's knowledge, not the filesystem's.
        command.failure = None;
        if let Some(extent) = command.withheld.take() {
            self.allocator.give(extent);
            self.trimmed[index(extent.start / self.layout.group_fs_blocks())] = false;
            self.space_came(now);
        }
        let its = self.discards.of_callers.get_mut(&slot);
        let Some(extent) = its.and_then(VecDeque::pop_front) else {
            self.discards.of_callers.remove(&slot);
            return Ok(());
        };
        let sent = self.lower.send(now, Owner::Command(slot), Transfer::Discard, extent);
        let command = self.commands.get(slot);
        (command.io, command.withheld) = (sent, Some(extent));
        command.stage = Stage::Discarding;
        let counters = &mut self.discards.counters;
        counters.freed += bytes(extent.length);
        counters.freed_extents += 1;
        counters.issued += u64::from(sent);
        counters.discarded += bytes(extent.length);
        Err(Stop::Waits)
    }

    /// Sends discards in one plug; the batch's name, and in how many pieces they end.
    pub(super) fn send_batch(
        &mut self,
        trim: Option<Slot>,
        extents: Vec<Extent>,
        now: Instant,
    ) -> (u32, u32) {
        let id = self.discards.next_batch();
        let left = self.lower.discard(now, Owner::Batch(id), &extents, true);
        self.discards.batches.push(Batch { id, trim, extents, left, sent_at: now });
        (id, left)
    }

    /// The last discard of a batch is submitted, and may have ended already: who sent it goes on.
    pub(super) fn batch_submitted(&mut self, id: u32, now: Instant) {
        let trim = self.trims.iter().find(|(_, cursor)| cursor.batch == Some(id));
        match trim.map(|(slot, _)| *slot) {
            Some(slot) => self.step(slot, now),
            None if self.config.kind == FsKind::F2fs => self.send_round(now),
            None => self.advance_commit(now),
        }
    }

    /// A discard of a batch ended; the space of all is free once all have.
    pub(super) fn batch_io_ended(&mut self, id: u32, now: Instant) {
        let batches = &mut self.discards.batches;
        let at = batches.iter().position(|batch| batch.id == id).expect("it is under way");
        batches[at].left -= 1;
        if batches[at].left > 0 {
            return;
        }
        let batch = batches.remove(at);
        self.discards.took(now - batch.sent_at);
        for &extent in &batch.extents {
            if batch.trim.is_some() {
                self.allocator.give(extent);
            } else {
                self.discards.counters.discarded += bytes(extent.length);
                self.give_freed(extent);
            }
        }
        self.space_came(now);
        if self.config.kind == FsKind::F2fs {
            self.plug_ended(&batch, now);
        }
        self.discards_ended(now);
    }

    /// FITRIM of ext4 and btrfs.
    pub(super) fn trim_step(&mut self, slot: Slot, now: Instant) -> Progress {
        require(self.lower.capabilities().discard != Support::None, Errno::EOPNOTSUPP)?;
        let command = self.commands.get(slot);
        let (mut at, failure, withheld) = (command.at, command.failure, command.withheld.take());
        if let Some(extent) = withheld {
            self.allocator.give(extent);
            self.withheld -= extent.length;
            self.space_came(now);
        }
        let granularity = self.capabilities.discard_granularity;
        let least = self.config.trim_minimum.max(granularity).pieces(FS_BLOCK).max(1);
        let size = self.layout.group_fs_blocks();
        // btrfs trims whatever is free each time, by block groups of its own.
        let is_ext4 = self.config.kind == FsKind::Ext4;
        let border = self.config.kind.border(size).unwrap_or(size);
        while failure.is_none() && at < self.layout.total() {
            let group = index(at / size);
            let next = (at / border + 1) * border;
            let fresh = !is_ext4 || !self.trimmed[group] || !at.is_multiple_of(size);
            let free = if fresh { self.allocator.free_run(at, next) } else { None };
            let Some(free) = free else {
                self.trimmed[group] |= is_ext4;
                at = next;
                continue;
            };
            at = free.end();
            if at == next {
                self.trimmed[group] |= is_ext4;
            }
            let spare = self.allocator.obtainable() >= self.cache.delayed + free.length;
            if free.length >= least && spare {
                self.allocator.withhold(free);
                self.allocator.use_up(free);
                self.withheld += free.length;
                let sent = self.lower.send(now, Owner::Command(slot), Transfer::Discard, free);
                let counters = &mut self.discards.counters;
                counters.trim_issued += u64::from(sent);
                counters.trimmed += bytes(free.length);
                let command = self.commands.get(slot);
                (command.at, command.withheld) = (at, Some(free));
                (command.io, command.stage) = (sent, Stage::Moving);
                return Err(Stop::Waits);
            }
        }
        ended(failure)
    }
}
