//! The cost of a discard to the foreground, as a line over its length.
//!
//! ```text
//!   stall
//!     |            .   '    slope
//!     |      .   '
//!   least  '
//!     |    |
//!     +----+------------------ length
//!         min
//! ```
//!
//! A longer discard never costs less, so each stall bounds `least` from above, at once; it rises by
//! an eighth of the difference, with discards of the minimal length only. So one hiccup of the
//! drive does not make a fast drive look slow. `slope` rises by half of the difference and falls by
//! an eighth: the tail counts, not the mean.

use trimbench_core::{Blocks, Nanos};

/// Blocks of the unit of `slope`. A power of two, so large that a slope has digits enough.
const SLOPE_BLOCKS: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// The stall of the shortest discard; `None` before the first.
    least: Option<Nanos>,
    /// Further stall for [`SLOPE_BLOCKS`] more blocks.
    slope: Nanos,
}

impl Cost {
    /// What any discard makes the foreground wait; nothing while that is unknown.
    pub(super) fn least(&self) -> Nanos {
        self.least.unwrap_or_default()
    }

    /// A discard of `blocks` made the foreground wait for `stall`.
    pub(super) fn learn(&mut self, blocks: Blocks, stall: Nanos, min: Blocks) {
        let least = self.least.map_or(stall, |least| least.min(stall));
        if blocks <= min {
            self.least = Some(least + Nanos((stall - least).0 / 8));
            return;
        }
        self.least = Some(least);
        let slope =
            u128::from((stall - least).0) * u128::from(SLOPE_BLOCKS) / u128::from((blocks - min).0);
        let slope = Nanos(u64::try_from(slope).unwrap_or(u64::MAX));
        self.slope = if slope > self.slope {
            self.slope + Nanos((slope - self.slope).0.div_ceil(2))
        } else {
            self.slope - Nanos((self.slope - slope).0 / 8)
        };
    }

    /// The longest discard whose stall is at most `stall`, and `min` at least.
    pub(super) fn longest_within(&self, stall: Nanos, min: Blocks) -> Blocks {
        let room = u128::from(stall.saturating_sub(self.least()).0) * u128::from(SLOPE_BLOCKS);
        let more = room.checked_div(u128::from(self.slope.0)).unwrap_or(u128::MAX);
        Blocks(min.0.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)))
    }
}
