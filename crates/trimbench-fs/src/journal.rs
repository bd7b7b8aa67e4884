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

use trimbench_core::Instant;
use trimbench_core::units::index;

use crate::config::{FS_BLOCK, FsConfig};
use crate::extent::Extent;
use crate::kind::{FsKind, Journaling, SEGMENT, TREE_BLOCK};
use crate::layout::MetadataId;

#[cfg(test)]
mod tests;

/// Changes that become durable together.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) id: u32,
    /// When its first change came; [`Instant::NEVER`] as long as it has none.
    pub(crate) started: Instant,
    pub(crate) metadata: Vec<MetadataId>,
    /// How often something in them was changed.
    pub(crate) changes: u64,
    /// Extents that it freed, as they came; merged when it commits.
    pub(crate) freed: Vec<Extent>,
    pub(crate) freed_total: u64,
    /// Writes under way of data whose place was allocated in it.
    pub(crate) ordered: u32,
}

#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) transaction: Transaction,
    /// How many of its phases are over.
    pub(crate) past: usize,
    /// Device commands of this phase under way.
    pub(crate) io: u32,
    /// How many of the freed extents were discarded, or are being.
    pub(crate) discarded: usize,
    /// When the last of these went.
    pub(crate) sent_at: Option<Instant>,
    /// How many of them are somebody else's by now: free, or a batch of discards.
    pub(crate) given: usize,
    /// Tree blocks that it replaces and that are still to be discarded.
    pub(crate) replaced: Vec<Extent>,
}

/// A committed transaction whose metadata are not all in their places.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) id: u32,
    pub(crate) at: Instant,
    pub(crate) metadata: Vec<MetadataId>,
    log: u64,
}

#[derive(Debug)]
pub(crate) struct Journal {
    kind: FsKind,
    journaling: Journaling,
    /// Where the log lies.
    region: Vec<Extent>,
    length: u64,
    /// Where the next block of the log goes.
    head: u64,
    used: u64,
    pub(crate) running: Transaction,
    pub(crate) committing: Option<Commit>,
    /// The last transaction that is committed.
    pub(crate) committed: u32,
    /// Someone waits for the transactions up to this one.
    pub(crate) wanted: u32,
    pub(crate) history: VecDeque<Committed>,
    /// By metadata block: the last transaction that holds it; 0 for none.
    holder: Vec<u32>,
}

impl Transaction {
    fn new(id: u32) -> Self {
        Self {
            id,
            started: Instant::NEVER,
            metadata: Vec::new(),
            changes: 0,
            freed: Vec::new(),
            freed_total: 0,
            ordered: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.metadata.is_empty()
    }
}

impl Journal {
    pub(crate) fn new(config: &FsConfig, region: Vec<Extent>, metadata_blocks: usize) -> Self {
        Self {
            kind: config.kind,
            journaling: config.journaling,
            length: region.iter().map(|extent| extent.length).sum(),
            region,
            head: 0,
            used: 0,
            running: Transaction::new(1),
            committing: None,
            committed: 0,
            wanted: 0,
            history: VecDeque::new(),
            holder: vec![0; metadata_blocks],
        }
    }

    pub(crate) fn region(&self) -> &[Extent] {
        &self.region
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
    pub(crate) fn log_length(&self, transaction: &Transaction) -> u64 {
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
    pub(crate) fn rotate(&mut self) {
        let next = Transaction::new(self.running.id + 1);
        let transaction = std::mem::replace(&mut self.running, next);
        let replaced = self.replaced(transaction.metadata.len() as u64);
        let commit =
            Commit { transaction, past: 0, io: 0, discarded: 0, sent_at: None, given: 0, replaced };
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

    /// The commit is over; returns its transaction.
    pub(crate) fn commit_ended(&mut self, now: Instant) -> Transaction {
        let mut commit = self.committing.take().expect("something commits");
        let log = self.log_length(&commit.transaction);
        let metadata = std::mem::take(&mut commit.transaction.metadata);
        let id = commit.transaction.id;
        self.committed = id;
        if self.kind.writes_in_place() {
            self.used -= log;
            return commit.transaction;
        }
        self.history.push_back(Committed { id, at: now, metadata, log });
        commit.transaction
    }

    /// The metadata blocks of the transactions up to `last` that no later one holds.
    pub(crate) fn to_checkpoint(&self, last: u32) -> Vec<MetadataId> {
        let due = self.history.iter().take_while(|committed| committed.id <= last);
        due.flat_map(|committed| {
            let mine =
                |metadata: &&MetadataId| self.holder[index((**metadata).into())] == committed.id;
            committed.metadata.iter().filter(mine).copied()
        })
        .collect()
    }

    /// The metadata of the transactions up to `last` are in their places: the log may overwrite
    /// them.
    pub(crate) fn checkpointed(&mut self, last: u32) {
        while self.history.front().is_some_and(|committed| committed.id <= last) {
            let committed = self.history.pop_front().expect("there is a first");
            self.used -= committed.log;
        }
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
