//! The state of each block: what it should hold, whether it does, and what it holds instead.
//!
//! Memory: 9 bytes for each logical block of the span.

use trimbench_core::trace_hash::TraceHash;
use trimbench_core::units::index;
use trimbench_core::{Content, Lba, LbaRange, TrimPromise};
use trimbench_results::HarmStep;

use super::layout::Layout;
use super::steps::{TrimBlocksStep, TrimEdgesStep, TrimUnflushedStep};

/// The generations of the stamps of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generations {
    /// Of everything, before the TRIM.
    pub(super) old: u32,
    /// Of the neighbours that are rewritten after it.
    pub(super) neighbour: u32,
    /// Of the trimmed blocks when they are rewritten.
    pub(super) new: u32,
}

/// What is known of a block: bits of the constants below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags(u8);

impl Flags {
    /// Trimmed, in a discard that covers its whole granule.
    const INNER: u8 = 1;
    /// Trimmed, in a discard that covers its granule in part, or that a power cut may have undone:
    /// the drive may leave it as it is.
    const EDGE: u8 = 2;
    const TRIMMED: u8 = Self::INNER | Self::EDGE;
    /// Not trimmed, and written again after the TRIM.
    const REWRITTEN: u8 = 4;
    /// Did not hold what was written to it, before any TRIM.
    const UNWRITTEN: u8 = 8;
    /// Not trimmed, and did not hold what it should.
    const LOST: u8 = 16;
    /// Trimmed, and two reads differed.
    const UNSTABLE: u8 = 32;
    /// Trimmed, and a read broke the promise.
    const BROKEN: u8 = 64;
    /// Trimmed, and a read gave the stamp of another block.
    const FOREIGN: u8 = 128;

    const fn has(self, any: u8) -> bool {
        self.0 & any != 0
    }

    const fn set(&mut self, bits: u8) {
        self.0 |= bits;
    }
}

/// What a trimmed block was found to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Zeroes,
    Ones,
    /// What was last written to it.
    Old,
    /// Its own stamp of an earlier generation.
    Stale,
    /// The stamp of another block.
    Foreign,
    Other,
}

/// What the first read after the TRIM gave, in blocks: of those whose granule was trimmed whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FirstRead {
    zeroes: u64,
    ones: u64,
    old: u64,
    stale: u64,
    other: u64,
    /// Of the blocks at edges: those that hold what was last written to them.
    edge_kept: u64,
}

/// The blocks of the span in one case.
#[derive(Debug)]
pub(super) struct Survey {
    flags: Vec<Flags>,
    /// Of trimmed blocks: a hash of what the first read gave.
    first: Vec<u64>,
    generations: Generations,
    promise: TrimPromise,
    first_read: FirstRead,
    /// Rewritten trimmed blocks that do not hold what was written.
    rewritten_lost: u64,
}

impl Survey {
    /// Nothing read yet; `discards` are what is trimmed. Where they are not `held`, because the
    /// power is cut before they are flushed, the drive may leave all of it as it is.
    pub(super) fn new(
        layout: &Layout,
        discards: &[LbaRange],
        held: bool,
        promise: TrimPromise,
        generations: Generations,
    ) -> Self {
        let mut flags = vec![Flags::default(); index(layout.span)];
        for &discard in discards {
            let (start, end) = if held { layout.whole_granules(discard) } else { (0, 0) };
            for block in discard.start().0..discard.end().0 {
                let inner = (start..end).contains(&block);
                flags[index(block)].set(if inner { Flags::INNER } else { Flags::EDGE });
            }
        }
        Self {
            first: vec![0; flags.len()],
            flags,
            generations,
            promise,
            first_read: FirstRead::default(),
            rewritten_lost: 0,
        }
    }

    /// The block was read before the TRIM.
    pub(super) fn before(&mut self, block: u64, content: Content) {
        if content != stamp(block, self.generations.old) {
            self.flags[index(block)].set(Flags::UNWRITTEN);
        }
    }

    /// The block was read after the TRIM; `first` at the first of these reads.
    pub(super) fn after(&mut self, block: u64, content: Content, first: bool) {
        let place = index(block);
        if !self.flags[place].has(Flags::TRIMMED) {
            self.neighbour(block, content);
            return;
        }
        let hash = hash(content);
        let class = self.classify(block, content);
        let flags = &mut self.flags[place];
        let edge = flags.has(Flags::EDGE);
        if first {
            self.first[place] = hash;
            self.first_read.count(class, edge);
        } else if self.first[place] != hash {
            flags.set(Flags::UNSTABLE);
        }
        if class == Class::Foreign {
            flags.set(Flags::FOREIGN);
        }
        let stable = !flags.has(Flags::UNSTABLE);
        if !keeps(self.promise, class, edge, stable) {
            flags.set(Flags::BROKEN);
        }
    }

    /// The block was read after the trimmed ones were rewritten.
    pub(super) fn rewritten(&mut self, block: u64, content: Content) {
        if !self.flags[index(block)].has(Flags::TRIMMED) {
            self.neighbour(block, content);
        } else if content != stamp(block, self.generations.new) {
            self.rewritten_lost += 1;
        }
    }

    /// Untrimmed blocks directly beside trimmed ones; they count as rewritten from now on.
    pub(super) fn rewrite_neighbours(&mut self) -> Vec<(u64, u64)> {
        let trimmed = |flags: Option<&Flags>| flags.is_some_and(|flags| flags.has(Flags::TRIMMED));
        let beside = |place: usize| {
            let before = place.checked_sub(1).and_then(|before| self.flags.get(before));
            !trimmed(self.flags.get(place))
                && (trimmed(before) || trimmed(self.flags.get(place + 1)))
        };
        let blocks: Vec<usize> = (0..self.flags.len()).filter(|&place| beside(place)).collect();
        for &place in &blocks {
            self.flags[place].set(Flags::REWRITTEN);
        }
        self.runs(Flags::REWRITTEN)
    }

    /// The trimmed blocks as `[start, end)`, ascending.
    pub(super) fn trimmed(&self) -> Vec<(u64, u64)> {
        self.runs(Flags::TRIMMED)
    }

    /// What was found over all reads; TRIMs that are not `held` may have been undone.
    pub(super) fn found(&self, held: bool) -> TrimBlocksStep {
        let FirstRead { zeroes, ones, old, stale, other, edge_kept } = self.first_read;
        let count = |any: u8| self.flags.iter().filter(|flags| flags.has(any)).count() as u64;
        let edge = count(Flags::EDGE);
        let lost_at = self.flags.iter().position(|flags| flags.has(Flags::LOST));
        TrimBlocksStep {
            neighbour_blocks: self.flags.len() as u64 - count(Flags::TRIMMED | Flags::UNWRITTEN),
            harm: HarmStep {
                neighbour_blocks_lost: Some(count(Flags::LOST)),
                rewritten_blocks_lost: Some(self.rewritten_lost),
                trimmed_blocks_foreign: Some(count(Flags::FOREIGN)),
                trimmed_blocks_against_promise: Some(count(Flags::BROKEN)),
                unwritten_blocks: Some(count(Flags::UNWRITTEN)),
            },
            lost_lba_first: lost_at.map(|block| block as u64),
            trimmed_blocks: count(Flags::TRIMMED),
            whole_blocks: count(Flags::INNER),
            whole_blocks_zeroes: zeroes,
            whole_blocks_ones: ones,
            whole_blocks_old_data: old,
            whole_blocks_stale_data: stale,
            whole_blocks_other: other,
            edges: held
                .then_some(TrimEdgesStep { edge_blocks: edge, edge_blocks_old_data: edge_kept }),
            unflushed: (!held).then_some(TrimUnflushedStep {
                unflushed_blocks: edge,
                unflushed_blocks_undone: edge_kept,
            }),
            trimmed_blocks_unstable: count(Flags::UNSTABLE),
        }
    }

    /// An untrimmed block holds what was last written to it, or is lost.
    fn neighbour(&mut self, block: u64, content: Content) {
        let Generations { old, neighbour, .. } = self.generations;
        let flags = &mut self.flags[index(block)];
        let rewritten = flags.has(Flags::REWRITTEN);
        // What a write lost before the TRIM is not the TRIM's doing.
        let judged = rewritten || !flags.has(Flags::UNWRITTEN);
        if judged && content != stamp(block, if rewritten { neighbour } else { old }) {
            flags.set(Flags::LOST);
        }
    }

    fn classify(&self, block: u64, content: Content) -> Class {
        match content {
            Content::Zeroes => Class::Zeroes,
            Content::Ones => Class::Ones,
            Content::Stamp { lba, .. } if lba.0 != block => Class::Foreign,
            Content::Stamp { generation, .. } if generation == self.generations.old => Class::Old,
            Content::Stamp { .. } => Class::Stale,
            Content::Other { .. } => Class::Other,
        }
    }

    /// Maximal runs of blocks with any of these flags.
    fn runs(&self, any: u8) -> Vec<(u64, u64)> {
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for (place, _) in self.flags.iter().enumerate().filter(|(_, flags)| flags.has(any)) {
            let block = place as u64;
            match runs.last_mut() {
                Some((_, end)) if *end == block => *end += 1,
                _ => runs.push((block, block + 1)),
            }
        }
        runs
    }
}

impl FirstRead {
    fn count(&mut self, class: Class, edge: bool) {
        if edge {
            self.edge_kept += u64::from(class == Class::Old);
            return;
        }
        match class {
            Class::Zeroes => self.zeroes += 1,
            Class::Ones => self.ones += 1,
            Class::Old => self.old += 1,
            Class::Stale => self.stale += 1,
            Class::Foreign | Class::Other => self.other += 1,
        }
    }
}

/// Whether a read of a trimmed block keeps what the drive promises. Another block's data keeps no
/// promise. A drive that promises zeroes may leave blocks at edges as they are.
fn keeps(promise: TrimPromise, class: Class, edge: bool, stable: bool) -> bool {
    let as_it_was = edge && class == Class::Old;
    let promised = match promise {
        TrimPromise::Zeroes => stable && (class == Class::Zeroes || as_it_was),
        TrimPromise::Ones => stable && (class == Class::Ones || as_it_was),
        TrimPromise::Deterministic => stable,
        _ => true,
    };
    promised && class != Class::Foreign
}

fn stamp(block: u64, generation: u32) -> Content {
    Content::Stamp { lba: Lba(block), generation }
}

/// Equal for equal contents; for others as good as never.
fn hash(content: Content) -> u64 {
    let mut hash = TraceHash::default();
    let words = match content {
        Content::Zeroes => [0, 0, 0],
        Content::Ones => [1, 0, 0],
        Content::Stamp { lba, generation } => [2, lba.0, u64::from(generation)],
        Content::Other { hash } => [3, hash, 0],
    };
    for word in words {
        hash.word(word);
    }
    hash.value()
}
