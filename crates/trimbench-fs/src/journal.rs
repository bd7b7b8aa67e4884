//! The journal: transactions, the log, and the metadata to be checkpointed. Of XFS the log and its
//! checkpoints; of btrfs and f2fs the transaction and the room that its tree blocks or node blocks
//! are written to.
//!
//! Model, after jbd2 (fs/jbd2/commit.c): one transaction runs, at most one commits. Changes of
//! metadata and freed extents belong to the running one. It commits when it is `commit_interval`
//! old, when someone waits for it, or when it fills a quarter of the log; it cannot commit while
//! the previous one does, and once it is full nothing more joins it. `filesystem/commit.rs` has the
//! phases of a commit.
//!
//! Charged: for each metadata block of the transaction one block of the log, one descriptor for 254
//! of them (64 bit, checksums), one commit record; and one write of each to its place when it is
//! checkpointed: at the age of `dirty_expire`, when the log space is needed, or at a sync. A block
//! that a later transaction holds is written for that one.
//!
//! Not modelled: the blocks of revoke records, the wait of a handle for a block that is just being
//! logged, fast commits, `data=journal`, `nobarrier`, a device for the log of its own, recovery,
//! checkpoints of XFS that overlap.
//!
//! Units: filesystem blocks of 4 KiB.

use std::collections::{BTreeMap, VecDeque};

use trimbench_core::units::index;
use trimbench_core::{Errno, Instant, Nanos};

use crate::commands::Slot;
use crate::config::{Allocation, FS_BLOCK, FsConfig};
use crate::extent::Extent;
use crate::kind::{FsKind, Journaling, Phase, SEGMENT, TREE_BLOCK};
use crate::layout::{Layout, MetadataId};
use checkpoint::Checkpoint;
pub(crate) use commit::Commit;

mod checkpoint;
mod commit;

#[cfg(test)]
mod tests;

/// Changes that become durable together.
#[derive(Debug, Default)]
struct Transaction {
    id: u32,
    /// When its first change came; [`Instant::NEVER`] as long as it has none.
    started: Instant,
    metadata: Vec<MetadataId>,
    /// How often something in them was changed.
    changes: u64,
    /// Extents that it freed, as they came; merged when it commits.
    freed: Vec<Extent>,
    freed_total: u64,
    /// Writes under way of data whose place was allocated in it.
    ordered: u32,
}

/// A committed transaction whose metadata are not all in their places.
#[derive(Debug)]
struct Committed {
    id: u32,
    at: Instant,
    metadata: Vec<MetadataId>,
    log: u64,
}

#[derive(Debug)]
pub(crate) struct Journal {
    kind: FsKind,
    journaling: Journaling,
    /// A transaction commits at this age.
    interval: Nanos,
    /// Where metadata lie.
    pub(crate) layout: Layout,
    /// Where the log lies.
    region: Vec<Extent>,
    length: u64,
    /// Where the next block of the log goes.
    head: u64,
    used: u64,
    /// Blocks of the log that were written.
    written: u64,
    running: Transaction,
    committing: Option<Commit>,
    /// The last transaction that is committed.
    committed: u32,
    /// Someone waits for the transactions up to this one.
    wanted: u32,
    history: VecDeque<Committed>,
    /// By metadata block: the last transaction that holds it; 0 for none.
    holder: Vec<u32>,
    checkpoint: Checkpoint,
    /// Commands that wait for the commit of a transaction.
    waiters: Vec<(u32, Slot)>,
    /// Commands that wait for a transaction to join.
    joiners: Vec<Slot>,
    /// It could not be written.
    aborted: bool,
}

impl Transaction {
    fn new(id: u32) -> Self {
        Self { id, started: Instant::NEVER, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.metadata.is_empty()
    }
}

impl Journal {
    pub(crate) fn new(config: &FsConfig, layout: Layout, region: Vec<Extent>) -> Self {
        Self {
            kind: config.kind,
            journaling: config.journaling,
            interval: config.commit_interval,
            holder: vec![0; layout.ids()],
            layout,
            length: region.iter().map(|extent| extent.length).sum(),
            region,
            head: 0,
            used: 0,
            written: 0,
            running: Transaction::new(1),
            committing: None,
            committed: 0,
            wanted: 0,
            history: VecDeque::new(),
            checkpoint: Checkpoint::default(),
            waiters: Vec::new(),
            joiners: Vec::new(),
            aborted: false,
        }
    }

    pub(crate) fn region(&self) -> &[Extent] {
        &self.region
    }

    /// The transaction that changes belong to now.
    pub(crate) fn running(&self) -> u32 {
        self.running.id
    }

    /// The last transaction that is committed.
    pub(crate) fn committed(&self) -> u32 {
        self.committed
    }

    /// The last transaction with changes that is not committed.
    pub(crate) fn uncommitted(&self) -> Option<u32> {
        let committing = self.committing.as_ref().map(|commit| commit.transaction.id);
        self.has_changes().then_some(self.running.id).or(committing)
    }

    /// Whether the running transaction has changes.
    pub(crate) fn has_changes(&self) -> bool {
        !self.running.is_empty()
    }

    /// Blocks of the log that were written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// What waits for it fails with, once it could not be written.
    pub(crate) fn failure(&self) -> Option<Errno> {
        self.aborted.then_some(Errno::EIO)
    }

    /// The running transaction changes a metadata block.
    #[inline]
    pub(crate) fn touch(&mut self, now: Instant, metadata: MetadataId) {
        self.running.changes += 1;
        let at = index(metadata.into());
        if at >= self.holder.len() {
            self.holder.resize(at + 1, 0);
        }
        if self.holder[at] != self.running.id {
            self.holder[at] = self.running.id;
            self.running.metadata.push(metadata);
            self.running.started = self.running.started.min(now);
        }
    }

    /// A metadata block is one no more: its copies in the log are not written to its place.
    pub(crate) fn revoke(&mut self, metadata: MetadataId) {
        self.holder[index(metadata.into())] = u32::MAX;
    }

    /// The running transaction frees an extent.
    pub(crate) fn free(&mut self, extent: Extent) {
        self.running.freed.push(extent);
        self.running.freed_total += extent.length;
    }

    /// Writes of data are under way whose place was allocated in the running transaction.
    pub(crate) fn add_ordered(&mut self, writes: u32) {
        self.running.ordered += writes;
    }

    /// Calls `own` for the metadata, the log, and what a transaction freed and nobody has yet.
    pub(crate) fn owned(&self, own: &mut impl FnMut(Extent)) {
        let left = self.committing.iter().flat_map(Commit::left);
        let own_extents = self.region.iter().chain(&self.running.freed).chain(left).copied();
        self.layout.metadata().chain(own_extents).for_each(own);
    }

    /// Blocks that are free once everything is committed.
    pub(crate) fn freed(&self) -> u64 {
        let committing = self.committing.as_ref();
        self.running.freed_total + committing.map_or(0, |commit| commit.transaction.freed_total)
    }

    /// Whether nothing more may join the running transaction.
    pub(crate) fn is_full(&self) -> bool {
        /// What a checkpoint of XFS holds at most (`XLOG_CIL_SPACE_LIMIT`).
        const CHECKPOINT: u64 = (32 << 20) / FS_BLOCK.0;
        /// Dirty node blocks of f2fs that bring a checkpoint (`excess_dirty_threshold`).
        const DIRTY_NODES: u64 = 2 * 4 * SEGMENT;
        match self.kind {
            FsKind::Ext4 => self.running.metadata.len() as u64 >= self.length / 4,
            FsKind::Xfs => self.log_length(&self.running) >= (self.length / 8).min(CHECKPOINT),
            FsKind::Btrfs => self.log_length(&self.running) >= self.length / 4,
            FsKind::F2fs => self.running.metadata.len() as u64 >= DIRTY_NODES.min(self.length / 4),
        }
    }

    /// Blocks of the log that a transaction takes.
    fn log_length(&self, transaction: &Transaction) -> u64 {
        match self.journaling {
            Journaling::None => 0,
            _ => self.kind.log_length(transaction.metadata.len() as u64, transaction.changes),
        }
    }

    /// Whether the log has room for so many blocks.
    pub(crate) fn has_room(&self, length: u64) -> bool {
        self.used + length <= self.length
    }

    /// The transaction up to which must be checkpointed for the log to have room.
    pub(crate) fn oldest_making_room(&self, length: u64) -> u32 {
        let mut missing = (self.used + length).saturating_sub(self.length);
        let enough = self.history.iter().find(|committed| {
            missing = missing.saturating_sub(committed.log);
            missing == 0
        });
        enough.expect("a transaction takes a part of the log").id
    }

    /// The running transaction begins to commit.
    fn rotate(&mut self) {
        let next = Transaction::new(self.running.id + 1);
        let transaction = std::mem::replace(&mut self.running, next);
        let replaced = self.replaced(transaction.metadata.len() as u64);
        let commit = Commit::new(transaction, replaced);
        assert!(self.committing.replace(commit).is_none(), "one transaction commits at a time");
    }

    /// Where tree blocks lay that are replaced: apart from each other, which they mostly are.
    fn replaced(&self, metadata: u64) -> Vec<Extent> {
        let room = self.region[0];
        let places = (room.length / (2 * TREE_BLOCK)).max(1);
        let place = |at| room.start + at % places * 2 * TREE_BLOCK;
        (0..self.kind.replaced(metadata)).map(|at| Extent::new(place(at), TREE_BLOCK)).collect()
    }

    pub(crate) fn log(&mut self, length: u64) -> Vec<Extent> {
        self.used += length;
        self.written += length;
        assert!(self.used <= self.length, "the log has room");
        let mut taken = Vec::new();
        let mut left = length;
        while left > 0 {
            let mut offset = self.head;
            let mut at = 0;
            while offset >= self.region[at].length {
                offset -= self.region[at].length;
                at += 1;
            }
            let part = left.min(self.region[at].length - offset);
            taken.push(Extent::new(self.region[at].start + offset, part));
            self.head = (self.head + part) % self.length;
            left -= part;
        }
        taken
    }
}

/// Extents in order, with neighbours merged, but never across a multiple of `border`.
pub(crate) fn merged(mut freed: Vec<Extent>, border: Option<u64>) -> Vec<Extent> {
    freed.sort_unstable();
    let mut merged: Vec<Extent> = Vec::with_capacity(freed.len());
    for extent in freed {
        let joins = border.is_none_or(|border| !extent.start.is_multiple_of(border));
        match merged.last_mut() {
            Some(last) if last.end() == extent.start && joins => last.length += extent.length,
            _ => merged.push(extent),
        }
    }
    merged
}

/// The same in the way of Linux 6.17: an extent that is freed is merged with one of its neighbours
/// if it touches that one, and then with the other; else it stays alone, also if it touches the
/// other. The one that comes first is that below which ext4 would hang the new one in a red-black
/// tree (`ext4_mb_free_metadata`). Here it is the later of the two, as in a tree that is not
/// balanced.
pub(crate) fn merged_as_freed(freed: &[Extent], group_fs_blocks: u64) -> Vec<Extent> {
    // By start: length, and the place in the order in which they came.
    let mut entries: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (count, extent) in freed.iter().enumerate() {
        let base = extent.start / group_fs_blocks * group_fs_blocks;
        let before = entries.range(base..extent.start).next_back();
        let behind = entries.range(extent.start..base + group_fs_blocks).next();
        let first_before = match (before, behind) {
            (Some((_, (_, before))), Some((_, (_, behind)))) => before > behind,
            (before, _) => before.is_some(),
        };
        let before = before
            .map(|(start, (length, count))| (Extent::new(*start, *length), *count))
            .filter(|(before, _)| before.end() == extent.start);
        let behind = behind
            .map(|(start, (length, count))| (Extent::new(*start, *length), *count))
            .filter(|(behind, _)| behind.start == extent.end());
        let first = if first_before { before } else { behind };
        let Some((_, count)) = first else {
            entries.insert(extent.start, (extent.length, count));
            continue;
        };
        let start = before.map_or(extent.start, |(before, _)| before.start);
        let end = behind.map_or(extent.end(), |(behind, _)| behind.end());
        if let Some((behind, _)) = behind {
            entries.remove(&behind.start);
        }
        entries.insert(start, (end - start, count));
    }
    entries.into_iter().map(|(start, (length, _))| Extent::new(start, length)).collect()
}
