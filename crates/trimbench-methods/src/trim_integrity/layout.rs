//! Where on the device the method works, in logical blocks: guard, region, guard, from the start.

use trimbench_core::{BlockSize, Blocks, Bytes, Capabilities, Lba, LbaRange, Medium, Support};

use super::options::TrimIntegrity;
use trimbench_engine::device_runner::cut_at_units;
use trimbench_engine::{Misfit, NEEDS_A_DEVICE};

/// The region is a whole number of so many granules: shapes are cut from it evenly.
pub(super) const GRANULES_MIN: u64 = 64;

/// Addresses and lengths in logical blocks of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) logical_block: BlockSize,
    /// Blocks of which a discard can free only all: TRIMs of a part may leave it as it is.
    pub(super) granule: u64,
    /// First block of the first granule; below the granule.
    pub(super) offset: u64,
    /// Most blocks of one discard.
    pub(super) discard_max: u64,
    /// First block of the region, and of a granule.
    pub(super) start: u64,
    /// Blocks of the region, a multiple of 64 granules.
    pub(super) length: u64,
    /// Blocks of guard, region and guard.
    pub(super) span: u64,
    /// Blocks that are trimmed at once where shares are, a multiple of the granule.
    pub(super) piece: u64,
}

impl Layout {
    /// The layout on a target of these capabilities, whose granules begin at `alignment`; the error
    /// says why it does not fit.
    pub(super) fn new(
        method: &TrimIntegrity,
        target: &Capabilities,
        alignment: Bytes,
    ) -> Result<Self, Misfit> {
        let Medium::Device { capacity, logical_block } = target.medium else {
            return Err(NEEDS_A_DEVICE.into());
        };
        if target.discard == Support::None {
            return Err("the device takes no discards".into());
        }
        let blocks = |bytes: Bytes| bytes.pieces(logical_block.bytes());
        let granule = blocks(target.discard_granularity).max(1);
        let unit = granule.saturating_mul(GRANULES_MIN);
        let length = method.region.blocks_floor(logical_block).0 / unit * unit;
        if length == 0 {
            let least = Blocks(unit).bytes(logical_block);
            return Err(Misfit(format!(
                "it trims in multiples of {}: give at least `--set region={least}`",
                Blocks(granule).bytes(logical_block)
            )));
        }
        let guard = blocks(method.guard).next_multiple_of(granule);
        let offset = blocks(alignment) % granule;
        let start = offset + guard;
        let span = start + length + guard;
        let needed = Blocks(span).bytes(logical_block);
        if needed > capacity {
            return Err(Misfit(format!(
                "it needs {needed} and there are {capacity}; give a larger one (`--capacity` if it \
                 is emulated), or a smaller `--set region=...`"
            )));
        }
        let discard_max = target.discard_max.blocks_floor(logical_block).0.max(1);
        let piece = blocks(method.piece).next_multiple_of(granule).min(length);
        Ok(Self { logical_block, granule, offset, discard_max, start, length, span, piece })
    }

    /// The discards of `[start, end)`, none longer than the device takes, cut at granules.
    pub(super) fn split(&self, start: u64, end: u64) -> impl Iterator<Item = LbaRange> + use<> {
        let pieces = cut_at_units((start, end), self.discard_max, self.offset, self.granule);
        pieces.filter_map(|(from, to)| range(from, to))
    }

    /// The whole granules within a discard, as `[start, end)`; empty if there is none.
    pub(super) fn whole_granules(&self, discard: LbaRange) -> (u64, u64) {
        let within = |block: u64| block.saturating_sub(self.offset);
        let start = within(discard.start().0).next_multiple_of(self.granule) + self.offset;
        let end = within(discard.end().0) / self.granule * self.granule + self.offset;
        (start, end.max(start))
    }

    pub(super) fn bytes(&self, blocks: u64) -> Bytes {
        Blocks(blocks).bytes(self.logical_block)
    }
}

/// The blocks `[start, end)`; `None` if there are none.
pub(super) fn range(start: u64, end: u64) -> Option<LbaRange> {
    LbaRange::new(Lba(start), Blocks(end.checked_sub(start)?))
}
