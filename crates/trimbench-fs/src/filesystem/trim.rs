//! Discards outside the commit: those of the worker, and FITRIM.
//!
//! FITRIM, after `ext4_trim_fs`: group by group, one free extent after the other, each withheld
//! from allocation while it is discarded. A trimmed group is skipped until blocks of it are freed;
//! a mount resets that. Unlike ext4, both skip an extent if this would withhold space that dirty
//! pages were promised.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, Errno, Instant, Model, Support};

use crate::commands::{Progress, Slot, Stage, Stop, ended, require};
use crate::config::FS_BLOCK;
use crate::discards::{Job, bytes};
use crate::extent::Extent;
use crate::lower::{Owner, Transfer};

use super::FileSystem;

impl<M: Model<Command = BlockCommand>> FileSystem<M> {
    /// The worker sends its next discard, if none is under way.
    pub(super) fn work_off_discards(&mut self, now: Instant) {
        loop {
            let job = match self.discards.job.take() {
                Some(job) => job,
                None => match self.discards.pop() {
                    Some(rest) => Job { rest, withheld: None, io: 0 },
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
        let free = self.allocator.free_from(rest.start);
        let Some(free) = free.filter(|free| free.start < rest.end()) else {
            self.discards.counters.reused += bytes(rest.length);
            return None;
        };
        let end = self.config.discard.rule().end(rest.end(), free.end());
        let extent = Extent::between(free.start, end);
        let within = end.min(rest.end());
        let counters = &mut self.discards.counters;
        counters.reused += bytes(free.start - rest.start);
        if self.allocator.obtainable() < self.cache.delayed + extent.length {
            counters.dropped += bytes(rest.end() - free.start);
            return None;
        }
        self.allocator.withhold(extent);
        let sent = self.lower.send(now, Owner::Worker, Transfer::Discard, extent);
        counters.issued += u64::from(sent);
        counters.discarded += bytes(within - free.start);
        counters.discarded_beyond += bytes(end - within);
        Some(Job { rest: Extent::between(within, rest.end()), withheld: Some(extent), io: sent })
    }

    pub(super) fn worker_io_ended(&mut self, now: Instant) {
        let job = self.discards.job.as_mut().expect("the worker waits for it");
        job.io -= 1;
        if job.io > 0 {
            return;
        }
        if let Some(extent) = job.withheld.take() {
            self.allocator.give(extent);
        }
        self.work_off_discards(now);
        self.space_came(now);
        if self.discards.job.is_none()
            && let Some(slot) = self.unmounting.take()
        {
            self.step(slot, now);
        }
    }

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
        while failure.is_none() && at < self.layout.total() {
            let group = index(at / size);
            let next = (group as u64 + 1) * size;
            let fresh = !self.trimmed[group] || !at.is_multiple_of(size);
            let Some(free) = self.allocator.free_from(at).filter(|_| fresh) else {
                self.trimmed[group] = true;
                at = next;
                continue;
            };
            at = free.end();
            if at == next {
                self.trimmed[group] = true;
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
