//! Free space: its allocation to files, what of it is promised, and who waits for some.
//!
//! Model, after ext4's multi-block allocator (fs/ext4/mballoc.c):
//!
//! - A file of up to 16 blocks takes them from a chunk of 512 that such files share. There are
//!   several chunks; the one nearest to the file's goal that has enough is taken, and a new one is
//!   made if none has.
//! - A file that nobody has open for writing when its data are allocated takes exactly as much as
//!   it needs, searched for from its home group on.
//! - An open file takes more: up to the next power of two, or pieces of 2, 4 or 8 MiB. The excess
//!   is kept for it until it is closed, shortened or deleted. The search begins where the last such
//!   search ended (stream allocation), unless the file can continue where it ends.
//! - A search goes by buddies, group by group ([`search`]).
//!
//! Simplified: chunks belong to the machine, not to a processor; of the preallocation of a file
//! only the part behind the allocated blocks is kept, and only the latest; groups that have never
//! been looked at are found at once (ext4 finds them later). Not modelled: bigalloc, stripes, old
//! files without extents.
//!
//! Invariants (`check`): those of the groups; the index knows every group; the sum of the groups'
//! free blocks is the filesystem's; what is promised can be obtained.
//!
//! Units: filesystem blocks of 4 KiB.

use std::collections::BTreeMap;

use trimbench_core::units::{index, narrow};

use crate::commands::Slot;
use crate::config::Allocation;
use crate::extent::Extent;

mod group;
mod search;

use group::Group;
use search::{Index, Request, place};

#[cfg(test)]
mod tests;

/// Files up to this size share chunks (`mb_stream_req`).
const SMALL_FILE: u64 = 16;
/// Length of such a chunk (`mb_group_prealloc`).
const CHUNK: u64 = 512;
/// So many chunks whose rest is about as long are kept, and as many remain once there are more.
const CHUNKS: (usize, usize) = (8, 5);
/// The longest rest of a chunk that is told apart: 2^9.
const LONGEST_REST: u32 = 9;

/// What a file wants blocks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllocationRequest {
    pub(crate) inode: u64,
    /// The blocks of the file that have no place.
    pub(crate) hole: Extent,
    /// Blocks of the file.
    pub(crate) size: u64,
    /// Whether anyone has it open for writing.
    pub(crate) open: bool,
    /// Where the blocks before the hole end, in the file and on the device.
    pub(crate) before: Option<(u64, u64)>,
    /// Where the blocks behind the hole begin, in the file and on the device.
    pub(crate) after: Option<(u64, u64)>,
    /// Where a file with this inode goes at first.
    pub(crate) home: u64,
}

/// What became of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// They are no longer free: withheld, in a chunk, or kept for a file.
    Withheld(Extent),
    /// A file or a directory got them.
    Used(Extent),
    /// They were in a chunk or kept for a file, and are free again, never used.
    Returned(Extent),
}

/// Blocks that are kept for a file.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Which blocks of the file they are for, from this on.
    logical: u64,
    extent: Extent,
}

/// All free space.
#[derive(Clone, Debug)]
pub(crate) struct Allocator {
    groups: Vec<Group>,
    index: Option<Index>,
    group_fs_blocks: u64,
    free: u64,
    /// Whether data avoid the first group of each flex group, as ext4's do.
    avoids_first: bool,
    /// The groups where the last searches for open files ended, by inode.
    streams: Vec<usize>,
    /// Whether small files that are closed are packed into chunks, too.
    packs_closed: bool,
    /// What is left of chunks for small files.
    chunks: Vec<Extent>,
    /// By inode.
    kept: BTreeMap<u64, Kept>,
    /// Blocks in chunks and kept for files.
    reserved: u64,
    /// Blocks promised to dirty pages that have no place on the device yet.
    promised: u64,
    /// Commands that wait for free space.
    waiters: Vec<Slot>,
    /// What changed since somebody looked, if somebody does.
    changes: Option<Vec<Change>>,
    /// The groups in which something changed since the mount.
    touched: Vec<bool>,
    /// The groups in which nothing was freed since a FITRIM of ext4 went through them.
    trimmed: Vec<bool>,
}

impl Allocator {
    /// Everything is free.
    pub(crate) fn new(search: Allocation, groups: u64, group_fs_blocks: u64) -> Self {
        let all = vec![Group::new(narrow(group_fs_blocks)); index(groups)];
        let streams = match search {
            Allocation::Linear => 1,
            Allocation::ByIndex { processors } => groups.div_ceil(4).min(processors.into()),
        };
        Self {
            index: Index::for_search(search, &all),
            touched: vec![false; all.len()],
            trimmed: vec![false; all.len()],
            groups: all,
            group_fs_blocks,
            free: groups * group_fs_blocks,
            avoids_first: true,
            streams: vec![0; index(streams)],
            packs_closed: matches!(search, Allocation::ByIndex { .. }),
            chunks: Vec::new(),
            kept: BTreeMap::new(),
            reserved: 0,
            promised: 0,
            waiters: Vec::new(),
            changes: None,
        }
    }

    /// Whether something changed since the mount in a group that has blocks of this extent.
    pub(crate) fn touched(&self, extent: Extent) -> bool {
        let first = index(extent.start / self.group_fs_blocks);
        let end = index(extent.end().div_ceil(self.group_fs_blocks));
        self.touched[first..end.min(self.touched.len())].contains(&true)
    }

    /// A mount: nothing has changed since, and nobody knows what was trimmed.
    pub(crate) fn mounted(&mut self) {
        self.touched.fill(false);
        self.trimmed.fill(false);
    }

    /// Whether a FITRIM went through the group of this address, and nothing was freed in it since.
    pub(crate) fn is_trimmed(&self, address: u64) -> bool {
        self.trimmed[self.place(address).0]
    }

    /// A FITRIM went through the group of this address.
    pub(crate) fn note_trimmed(&mut self, address: u64) {
        let (group, _) = self.place(address);
        self.trimmed[group] = true;
    }

    /// Not as in ext4: data may lie in every group, and the first of open files lie from here on.
    pub(crate) fn begin_at(&mut self, address: u64) {
        let (group, _) = self.place(address);
        self.streams.fill(group);
        self.avoids_first = false;
    }

    /// Blocks of a group.
    pub(crate) fn group_fs_blocks(&self) -> u64 {
        self.group_fs_blocks
    }

    /// Blocks of all groups.
    pub(crate) fn total(&self) -> u64 {
        self.groups.len() as u64 * self.group_fs_blocks
    }

    /// Blocks that are free, and neither in a chunk nor kept for a file.
    pub(crate) fn free(&self) -> u64 {
        self.free
    }

    /// Blocks that an allocation can still get.
    pub(crate) fn obtainable(&self) -> u64 {
        self.free + self.reserved
    }

    /// Blocks that are neither taken nor promised.
    pub(crate) fn available(&self) -> u64 {
        self.obtainable().saturating_sub(self.promised)
    }

    /// Promises so many available blocks to dirty pages.
    pub(crate) fn promise(&mut self, length: u64) {
        self.promised += length;
    }

    /// So many promised blocks are allocated at once, or not wanted any more.
    pub(crate) fn end_promise(&mut self, length: u64) {
        self.promised -= length;
    }

    /// A command waits for free space.
    pub(crate) fn await_space(&mut self, slot: Slot) {
        self.waiters.push(slot);
    }

    /// The commands that wait for free space, which wait no more.
    pub(crate) fn take_waiters(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.waiters)
    }

    /// Blocks from `from` on, in as few pieces as there are; `None` if there are too few.
    pub(crate) fn take_region(&mut self, mut from: u64, length: u64) -> Option<Vec<Extent>> {
        let mut region = Vec::new();
        let mut left = length;
        while left > 0 {
            let Some(run) = self.free_from(from) else {
                from = (from / self.group_fs_blocks + 1) * self.group_fs_blocks;
                if from >= self.total() {
                    return None;
                }
                continue;
            };
            let taken = Extent::new(run.start, run.length.min(left));
            self.withhold(taken);
            region.push(taken);
            left -= taken.length;
        }
        Some(region)
    }

    /// The first blocks of a hole of a file. `None` if nothing is free.
    pub(crate) fn take(&mut self, request: &AllocationRequest) -> Option<Extent> {
        let taken = self.take_for(request)?;
        self.use_up(taken);
        Some(taken)
    }

    /// A block for a directory, or for extents of a file, from the group of `near` on. `None` if
    /// nothing is free.
    pub(crate) fn take_metadata(&mut self, near: u64) -> Option<Extent> {
        let request = Request { needed: 1, sought: 1, group: self.place(near).0, data: false };
        let taken = self.take_request(request)?;
        self.use_up(taken);
        Some(taken)
    }

    /// Gives back what is kept for a file.
    pub(crate) fn release(&mut self, inode: u64) {
        if let Some(kept) = self.kept.remove(&inode) {
            self.give_reserved(kept.extent);
        }
    }

    /// Gives back everything that is in a chunk or kept for a file.
    pub(crate) fn release_all(&mut self) {
        for chunk in std::mem::take(&mut self.chunks) {
            self.give_reserved(chunk);
        }
        for kept in std::mem::take(&mut self.kept).into_values() {
            self.give_reserved(kept.extent);
        }
    }

    /// What is in a chunk or kept for a file.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = Extent> {
        let kept = self.kept.values().map(|kept| kept.extent);
        self.chunks.iter().copied().chain(kept)
    }

    /// Makes the blocks free.
    pub(crate) fn give(&mut self, extent: Extent) {
        self.free += extent.length;
        for part in self.split(extent) {
            let (group, start) = self.place(part.start);
            self.groups[group].insert(start, narrow(part.length));
            self.changed(group);
        }
    }

    /// Makes blocks free that had an owner: their groups are not trimmed any more.
    pub(crate) fn give_freed(&mut self, extent: Extent) {
        self.give(extent);
        let size = self.group_fs_blocks;
        let groups = extent.start / size..extent.end().div_ceil(size);
        self.trimmed[index(groups.start)..index(groups.end)].fill(false);
    }

    /// Takes these blocks, which are free.
    pub(crate) fn withhold(&mut self, extent: Extent) {
        self.free -= extent.length;
        for part in self.split(extent) {
            let (group, start) = self.place(part.start);
            self.groups[group].remove(start, narrow(part.length));
            self.changed(group);
        }
        self.note(Change::Withheld(extent));
    }

    /// Takes these blocks, which are free, for a FITRIM: what waits for a discard of them need not
    /// wait any more.
    pub(crate) fn withhold_for_trim(&mut self, extent: Extent) {
        self.withhold(extent);
        self.use_up(extent);
    }

    /// What changed since the last call, in order; noted from the first call on.
    pub(crate) fn changes(&mut self) -> Vec<Change> {
        self.changes.replace(Vec::new()).unwrap_or_default()
    }

    /// The first free extent that ends behind `from`, within the group of `from`; from there on.
    pub(crate) fn free_from(&self, from: u64) -> Option<Extent> {
        let (group, start) = self.place(from);
        let base = from - u64::from(start);
        let (start, end) = self.groups[group].run_from(start, u32::MAX)?;
        Some(Extent::between(base + u64::from(start), base + u64::from(end)))
    }

    /// Whether all of these blocks are free.
    pub(crate) fn is_empty(&self, extent: Extent) -> bool {
        self.split(extent).all(|part| self.free_from(part.start) == Some(part))
    }

    /// The first free run that ends behind `from` and begins before `border`, up to there: over the
    /// ends of groups.
    pub(crate) fn free_run(&self, from: u64, border: u64) -> Option<Extent> {
        let size = self.group_fs_blocks;
        let border = border.min(self.total());
        let mut at = from;
        let first = loop {
            if at >= border {
                return None;
            }
            match self.free_from(at) {
                Some(run) if run.start >= border => return None,
                Some(run) => break run,
                None => at = (at / size + 1) * size,
            }
        };
        let mut end = first.end();
        while end < border
            && end.is_multiple_of(size)
            && let Some(next) = self.free_from(end).filter(|next| next.start == end)
        {
            end = next.end();
        }
        Some(Extent::between(first.start, end.min(border)))
    }

    /// The free runs in these blocks, over the ends of groups.
    pub(crate) fn free_runs(&self, within: Extent) -> impl Iterator<Item = Extent> {
        let mut at = within.start;
        std::iter::from_fn(move || {
            let run = self.free_run(at, within.end())?;
            at = run.end();
            Some(run)
        })
    }

    /// The parts of `extent` by group: no extent of ext4's allocator crosses a group.
    pub(crate) fn split(&self, extent: Extent) -> impl Iterator<Item = Extent> + use<> {
        extent.pieces_within(Some(self.group_fs_blocks))
    }

    /// Checks that what is promised is what dirty pages want, and is there.
    pub(crate) fn check_promised(&self, wanted: u64) {
        assert_eq!(wanted, self.promised, "what has no place is promised one");
        assert!(wanted <= self.obtainable(), "promised space is there");
    }

    /// Checks the other invariants and calls `free` for every free extent. Slow.
    pub(crate) fn check(&self, mut free: impl FnMut(Extent)) {
        for (at, group) in self.groups.iter().enumerate() {
            let base = at as u64 * self.group_fs_blocks;
            group.check(|start, end| {
                free(Extent::between(base + u64::from(start), base + u64::from(end)));
            });
        }
        if let Some(index) = &self.index {
            index.check(&self.groups);
        }
        let total: u64 = self.groups.iter().map(|group| u64::from(group.free)).sum();
        assert_eq!(total, self.free, "the filesystem knows what is free");
        let reserved: u64 = self.reserved().map(|extent| extent.length).sum();
        assert_eq!(reserved, self.reserved, "the filesystem knows what it keeps");
    }

    fn take_for(&mut self, request: &AllocationRequest) -> Option<Extent> {
        let hole = request.hole;
        if let Some(extent) = self.take_kept(request) {
            return Some(extent);
        }
        let end = hole.end().max(request.size);
        let goal = request.before.map_or(request.home, |(_, address)| address);
        if end <= SMALL_FILE && (request.open || self.packs_closed) {
            return self.take_from_chunk(hole.length, goal);
        }
        if hole.end() == request.size && !request.open {
            let length = narrow(hole.length.min(self.group_fs_blocks));
            return self.search(length, length, goal);
        }
        self.take_more(request)
    }

    fn take_kept(&mut self, request: &AllocationRequest) -> Option<Extent> {
        let hole = request.hole;
        let kept = self.kept.get(&request.inode)?;
        if kept.logical != hole.start {
            return None;
        }
        let taken = Extent::new(kept.extent.start, kept.extent.length.min(hole.length));
        let rest = Extent::between(taken.end(), kept.extent.end());
        self.reserved -= taken.length;
        self.keep(request.inode, Kept { logical: hole.start + taken.length, extent: rest });
        Some(taken)
    }

    /// Blocks are kept for a file from now on, instead of those that were.
    fn keep(&mut self, inode: u64, kept: Kept) {
        if kept.extent.length > 0 {
            self.kept.insert(inode, kept);
        } else {
            self.kept.remove(&inode);
        }
    }

    /// Blocks for a small file, from one of the chunks.
    fn take_from_chunk(&mut self, wanted: u64, goal: u64) -> Option<Extent> {
        let enough = self.chunks.iter().enumerate().filter(|(_, chunk)| chunk.length >= wanted);
        let nearest = enough.min_by_key(|(_, chunk)| chunk.start.abs_diff(goal)).map(|(at, _)| at);
        let chunk = if let Some(at) = nearest {
            self.chunks.swap_remove(at)
        } else {
            let sought = CHUNK.min(self.group_fs_blocks);
            let chunk = self.search(narrow(wanted), narrow(sought), goal)?;
            self.reserved += chunk.length;
            chunk
        };
        let taken = Extent::new(chunk.start, wanted.min(chunk.length));
        self.reserved -= taken.length;
        let rest = Extent::between(taken.end(), chunk.end());
        if rest.length > 0 {
            self.chunks.push(rest);
            self.thin_chunks(rest_order(rest));
        }
        Some(taken)
    }

    /// Gives back the shortest of the chunks whose rests have this order, if they are too many.
    fn thin_chunks(&mut self, order: u32) {
        let (most, remain) = CHUNKS;
        let mut alike: Vec<Extent> =
            self.chunks.iter().copied().filter(|chunk| rest_order(*chunk) == order).collect();
        if alike.len() <= most {
            return;
        }
        alike.sort_unstable_by_key(|chunk| (chunk.length, chunk.start));
        for chunk in &alike[..alike.len() - remain] {
            self.chunks.retain(|each| each != chunk);
            self.give_reserved(*chunk);
        }
    }

    /// Blocks for a file that is open, more than it needs.
    fn take_more(&mut self, request: &AllocationRequest) -> Option<Extent> {
        let hole = request.hole;
        let range = self.rounded(request);
        let sought = narrow(range.length);
        let behind = request.before.filter(|(logical, _)| *logical == range.start);
        let before = request.after.filter(|(logical, _)| *logical == range.end());
        let goal = behind
            .map(|(_, address)| address)
            .or_else(|| before.and_then(|(_, address)| address.checked_sub(range.length)));
        let at_goal = goal.filter(|goal| self.is_free(*goal, range.length));
        let (taken, logical) = if let Some(goal) = at_goal {
            let taken = Extent::new(goal, range.length);
            self.withhold(taken);
            (taken, range.start)
        } else {
            let stream = index(request.inode % self.streams.len() as u64);
            let needed = narrow(hole.length.min(range.end() - hole.start));
            let group = self.streams[stream];
            let taken =
                self.take_request(Request { needed, sought, group, data: self.avoids_first })?;
            self.streams[stream] = self.place(taken.start).0;
            (taken, aligned(range, hole, taken.length))
        };
        // What lies before the hole is not kept.
        let skipped = hole.start - logical;
        let wanted = hole.length.min(taken.length - skipped);
        let used = Extent::new(taken.start + skipped, wanted);
        if skipped > 0 {
            self.give_unused(Extent::new(taken.start, skipped));
        }
        self.release(request.inode);
        let rest = Extent::between(used.end(), taken.end());
        self.reserved += rest.length;
        self.keep(request.inode, Kept { logical: hole.start + wanted, extent: rest });
        Some(used)
    }

    /// The blocks of the file that are sought together: a power of two, or an aligned piece, less
    /// what has its place (`ext4_mb_normalize_request`).
    fn rounded(&self, request: &AllocationRequest) -> Extent {
        let hole = request.hole;
        let size = hole.end().max(request.size);
        let piece = match size {
            ..=256 => None,
            257..=1_024 => Some(512),
            1_025..=2_048 => Some(1_024),
            _ => Some(2_048),
        };
        let mut range = match piece {
            None => Extent::new(0, size.next_power_of_two().max(4)),
            Some(piece) => {
                let start = hole.start / piece * piece;
                // No extent is longer than a group.
                let least = hole.start / self.group_fs_blocks * self.group_fs_blocks;
                Extent::between(start.max(least), start + piece)
            }
        };
        if let Some((logical, _)) = request.before.filter(|(logical, _)| *logical > range.start) {
            range = Extent::between(logical, range.end());
        }
        if let Some((logical, _)) = request.after.filter(|(logical, _)| *logical < range.end()) {
            range = Extent::between(range.start, logical);
        }
        Extent::new(range.start, range.length.min(self.group_fs_blocks))
    }

    /// Data blocks from the group of `goal` on.
    fn search(&mut self, needed: u32, sought: u32, goal: u64) -> Option<Extent> {
        let group = self.place(goal).0.min(self.groups.len() - 1);
        self.take_request(Request { needed, sought, group, data: self.avoids_first })
    }

    fn take_request(&mut self, request: Request) -> Option<Extent> {
        if self.free == 0 {
            self.release_all();
        }
        let run = search::find(&self.groups, self.index.as_ref(), request)?;
        let start = run.group as u64 * self.group_fs_blocks + u64::from(run.start);
        let taken = Extent::new(start, run.length.into());
        self.withhold(taken);
        Some(taken)
    }

    /// Whether these blocks are free and lie in one group.
    fn is_free(&self, start: u64, length: u64) -> bool {
        let (group, at) = self.place(start);
        let its = self.groups.get(group);
        its.is_some_and(|its| {
            at + narrow(length) <= narrow(self.group_fs_blocks)
                && its
                    .run_from(at, u32::MAX)
                    .is_some_and(|(from, end)| from == at && u64::from(end - from) >= length)
        })
    }

    fn give_reserved(&mut self, extent: Extent) {
        self.reserved -= extent.length;
        self.give_unused(extent);
    }

    fn give_unused(&mut self, extent: Extent) {
        self.give(extent);
        self.note(Change::Returned(extent));
    }

    fn use_up(&mut self, extent: Extent) {
        self.note(Change::Used(extent));
    }

    fn note(&mut self, change: Change) {
        if let Some(changes) = &mut self.changes {
            changes.push(change);
        }
    }

    fn changed(&mut self, group: usize) {
        self.touched[group] = true;
        if let Some(index) = &mut self.index {
            index.update(group, &self.groups[group]);
        }
    }

    fn place(&self, address: u64) -> (usize, u32) {
        place(address, self.group_fs_blocks)
    }
}

/// From which block of the file on `length` blocks are used, which may be fewer than `range`: so
/// that they end with it, begin with it, or begin with the hole; the first that takes the hole in
/// (`ext4_mb_new_inode_pa`).
fn aligned(range: Extent, hole: Extent, length: u64) -> u64 {
    let at_end = range.end() - length;
    if hole.start >= at_end {
        at_end
    } else if hole.end() <= range.start + length {
        range.start
    } else {
        hole.start
    }
}

/// How much is left of a chunk, roughly.
fn rest_order(chunk: Extent) -> u32 {
    chunk.length.ilog2().min(LONGEST_REST)
}
