//! `OpenZFS`'s `zpool trim`. Source: \[OPENZFS\] `vdev_trim_thread`.
//!
//! Each drive has a thread that goes through the metaslabs in order. It disables the metaslab,
//! discards all that is free in it, waits for these discards, then for the open group and the two
//! after it, which are synced at once, and enables the metaslab.
//!
//! Who runs the command, and when, is assumed: somebody does as soon as deleted space has returned
//! and no run is under way.

use trimbench_core::{BlockCommand, Instant, Model};

use super::Trimming;
use crate::cow::pool::Pool;

/// Groups behind the open one that are waited for. Source: \[OPENZFS\] `txg_wait_synced`.
const GROUPS_BEHIND: u64 = 2;

#[derive(Debug, Default)]
pub(in crate::cow::pool) struct ManualTrim {
    /// By drive; none while no run is under way.
    threads: Vec<LeafThread>,
    /// Deleted space has returned since the last run began.
    is_wanted: bool,
}

/// Where the thread of a drive is, with its metaslab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafThread {
    /// It waits until it may disable the metaslab.
    Next(usize),
    /// Its discards are queued or under way.
    Discards(usize),
    /// It waits until this group is synced.
    Settles(usize, u64),
    Done,
}

impl ManualTrim {
    pub(super) fn is_busy(&self) -> bool {
        self.is_wanted || !self.threads.is_empty()
    }
}

impl<M: Model<Command = BlockCommand>> Pool<M> {
    fn manual(&mut self) -> &mut ManualTrim {
        let Trimming::Manual(manual) = &mut self.trim else { unreachable!("autotrim is off") };
        manual
    }

    pub(super) fn manual_after_group(&mut self, group: u64, deleted: bool, now: Instant) {
        self.manual().is_wanted |= deleted;
        let mut enabled = Vec::new();
        for thread in &mut self.manual().threads {
            if let LeafThread::Settles(metaslab, until) = *thread
                && until <= group
            {
                *thread = LeafThread::Next(metaslab + 1);
                enabled.push(metaslab);
            }
        }
        for metaslab in enabled {
            self.space.enable(metaslab);
        }
        let drives = self.drives.len();
        let manual = self.manual();
        if manual.threads.is_empty() && std::mem::take(&mut manual.is_wanted) {
            manual.threads = vec![LeafThread::Next(0); drives];
        }
        for drive in 0..self.manual().threads.len() {
            self.next_metaslab(drive, now);
        }
        self.manual_on(now);
        if self.manual().threads.iter().all(|thread| *thread == LeafThread::Done) {
            self.manual().threads.clear();
        }
    }

    /// Begins with the next metaslab of a drive, if it may be disabled.
    fn next_metaslab(&mut self, drive: usize, now: Instant) {
        let LeafThread::Next(metaslab) = self.manual().threads[drive] else { return };
        if metaslab == self.space.metaslabs() {
            self.manual().threads[drive] = LeafThread::Done;
        } else if self.space.disable(metaslab) {
            self.manual().threads[drive] = LeafThread::Discards(metaslab);
            self.counters.passes += 1;
            let free = self.stripe.tree_on_drive(self.space.free_in(metaslab), drive as u64);
            self.drives[drive].hand_in(now, now, &free);
            self.pump(drive, now);
        }
    }

    /// Threads whose discards are over wait for groups.
    pub(super) fn manual_on(&mut self, now: Instant) {
        let until = self.groups.open.number + GROUPS_BEHIND;
        let mut waits = false;
        for number in 0..self.manual().threads.len() {
            let drive = &self.drives[number];
            let over = drive.is_handed_in() && drive.unended() == 0;
            let thread = &mut self.manual().threads[number];
            if let LeafThread::Discards(metaslab) = *thread
                && over
            {
                *thread = LeafThread::Settles(metaslab, until);
                waits = true;
            }
        }
        if waits {
            self.groups.forced = until + 1;
            self.try_sync(now);
        }
    }
}
