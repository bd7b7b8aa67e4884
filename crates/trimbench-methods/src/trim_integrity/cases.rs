//! The cases: random shares of the region, and shapes at which TRIMs go wrong.

use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{LbaRange, Ppm};

use super::layout::Layout;
use super::options::{Cases, TrimIntegrity};

/// Most discards of a shape: a slow drive takes 0.1 s for each.
const DISCARDS_MAX: u64 = 512;
/// Ranges of the shapes that are about their ends.
const EXTENTS: u64 = 16;

/// One case: everything is written anew, then this is trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    /// Unique in the session.
    pub(super) id: String,
    shape: Shape,
    /// Whether the power is cut after the TRIM, and when.
    pub(super) cut: Option<Cut>,
}

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// After a flush: the TRIMs must hold.
    AfterFlush,
    /// Before one: the TRIMs may be undone.
    BeforeFlush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The region.
    Whole,
    /// Random pieces that make up this share of it.
    Share(Ppm),
    /// Ranges of half a slot, whose ends lie so many blocks behind whole granules.
    Extents(i64, i64),
    /// Single blocks, one in each slot.
    SingleBlocks,
    /// Every other block.
    AlternatingBlocks,
    /// Every other granule.
    AlternatingGranules,
    /// One range across the middle of the region.
    AcrossTheMiddle,
    /// Single granules, one in each slot.
    Small,
    /// Ranges of random starts and lengths, in random order.
    ManyRanges,
}

/// The cases of `method`, in their order.
pub(super) fn plan(method: &TrimIntegrity) -> Vec<Case> {
    let shares = method.shares.iter().map(|&share| (format!("share-{share}"), Shape::Share(share)));
    let shapes = [
        ("whole", Shape::Whole),
        ("aligned", Shape::Extents(0, 0)),
        ("unaligned-head-in", Shape::Extents(1, 0)),
        ("unaligned-head-out", Shape::Extents(-1, 0)),
        ("unaligned-tail-in", Shape::Extents(0, -1)),
        ("unaligned-tail-out", Shape::Extents(0, 1)),
        ("unaligned-both-in", Shape::Extents(1, -1)),
        ("unaligned-both-out", Shape::Extents(-1, 1)),
        ("single-blocks", Shape::SingleBlocks),
        ("alternating-blocks", Shape::AlternatingBlocks),
        ("alternating-granules", Shape::AlternatingGranules),
        ("across-the-middle", Shape::AcrossTheMiddle),
        ("small", Shape::Small),
        ("many-ranges", Shape::ManyRanges),
    ];
    let shapes = shapes.into_iter().map(|(id, shape)| (id.to_owned(), shape));
    let cuts =
        [("power-cut-after-flush", Cut::AfterFlush), ("power-cut-before-flush", Cut::BeforeFlush)];
    let (with_shapes, with_shares) = match method.cases {
        Cases::All => (true, true),
        Cases::Shares => (false, true),
        Cases::Shapes => (true, false),
    };
    let shapes = shapes.filter(|_| with_shapes);
    let uncut = shapes.chain(shares.filter(|_| with_shares));
    let cuts = cuts.into_iter().filter(|_| with_shapes);
    let cuts = cuts.map(|(id, cut)| Case {
        id: id.to_owned(),
        shape: Shape::Extents(0, 0),
        cut: Some(cut),
    });
    uncut.map(|(id, shape)| Case { id, shape, cut: None }).chain(cuts).collect()
}

impl Case {
    /// The discards, in the order of their issue; none overlaps another.
    pub(super) fn discards(&self, layout: &Layout, rng: &mut Rng) -> Vec<LbaRange> {
        let Layout { start, length, granule, .. } = *layout;
        let mut ends: Vec<(u64, u64)> = match self.shape {
            Shape::Whole => vec![(0, length)],
            Shape::Share(share) => pieces(layout, share, rng),
            Shape::Extents(head, tail) => slots(length, EXTENTS)
                .map(|(slot, size)| {
                    let moved = |at: u64, by: i64| at.checked_add_signed(by).unwrap_or(0);
                    (moved(slot + size / 4, head), moved(slot + size / 4 * 3, tail))
                })
                .collect(),
            Shape::SingleBlocks => {
                let blocks = slots(length, 64).map(|(slot, size)| slot + rng.below(size));
                blocks.map(|block| (block, block + 1)).collect()
            }
            Shape::AlternatingBlocks => alternating(length, 1),
            Shape::AlternatingGranules => alternating(length, granule),
            Shape::AcrossTheMiddle => {
                vec![(length / 2 - length / 8 - 1, length / 2 + length / 8 + 1)]
            }
            Shape::Small => slots(length, DISCARDS_MAX.min(length / granule / 2))
                .map(|(slot, size)| {
                    let first = slot.next_multiple_of(granule);
                    let places = (slot + size - first) / granule;
                    first + rng.below(places) * granule
                })
                .map(|block| (block, block + granule))
                .collect(),
            Shape::ManyRanges => slots(length, DISCARDS_MAX.min(length / granule / 4))
                .map(|(slot, size)| {
                    let from = rng.below(size);
                    (slot + from, slot + from + 1 + rng.below(size - from))
                })
                .collect(),
        };
        if matches!(self.shape, Shape::Share(_) | Shape::Small | Shape::ManyRanges) {
            rng.shuffle(&mut ends);
        }
        let split = |&(from, to): &(u64, u64)| layout.split(start + from, start + to);
        ends.iter().flat_map(split).collect()
    }
}

/// `count` slots of equal size that fill the region but for a rest, as start and size.
fn slots(length: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let size = length / count;
    (0..count).map(move |slot| (slot * size, size))
}

/// Random pieces that make up `share` of the region, rounded down; at least one if there are any.
fn pieces(layout: &Layout, share: Ppm, rng: &mut Rng) -> Vec<(u64, u64)> {
    let Layout { length, piece, .. } = *layout;
    let mut pieces: Vec<(u64, u64)> = (0..length.div_ceil(piece))
        .map(|place| (place * piece, length.min((place + 1) * piece)))
        .collect();
    rng.shuffle(&mut pieces);
    let count = share.of(pieces.len() as u64).max(u64::from(share.0 > 0));
    pieces.truncate(index(count));
    pieces
}

/// Every other run of `size` blocks, in the middle of the region.
fn alternating(length: u64, size: u64) -> Vec<(u64, u64)> {
    let count = DISCARDS_MAX.min(length / size / 2);
    let first = (length - count * 2 * size) / 2 / size * size;
    (0..count).map(|place| first + place * 2 * size).map(|from| (from, from + size)).collect()
}
