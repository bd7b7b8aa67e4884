//! The host's two write points where hot data is separated.
//!
//! There are three regions: cold, warm and hot. What the host overwrites rises by one, and what the
//! collector moves falls by one; new data is warm. So the host writes into two of them and the
//! collector into the other two, each with a write point for either. Source: dynamic data
//! clustering \[CHIA99\], here with three regions and without its threshold of age.
//!
//! A region is known of a superblock, not of a unit: a byte in 256 KiB or more. The mapping must be
//! asked before each write, which cannot wait in its ring then.

use super::Flash;
use crate::mapping::Region;

/// The write point that is not in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parked {
    /// Its next unit and the end of its superblock; equal when there is none.
    pub(super) next: u32,
    pub(super) end: u32,
    /// Whether the other one, in use, is that for hot data.
    hot_in_use: bool,
}

impl Flash {
    /// Puts the write point to use to which the next write of `lpn` belongs.
    #[inline(never)]
    pub(super) fn direct(&mut self, lpn: u32) {
        let hot = matches!(self.mapping.region_of(lpn), Some(Region::Warm | Region::Hot));
        if self.parked.is_some_and(|parked| parked.hot_in_use != hot) {
            self.exchange();
        }
    }

    /// The region of the write point that is in use.
    pub(super) fn region(&self) -> Region {
        if self.parked.is_some_and(|parked| parked.hot_in_use) { Region::Hot } else { Region::Warm }
    }

    /// The write points change places.
    pub(super) fn exchange(&mut self) {
        if let Some(parked) = &mut self.parked {
            std::mem::swap(&mut self.next, &mut parked.next);
            std::mem::swap(&mut self.end, &mut parked.end);
            parked.hot_in_use = !parked.hot_in_use;
        }
    }
}
