//! How hot data is, in a drive that keeps hot data apart.
//!
//! Of a superblock it is known which of three regions it belongs to. Of a logical unit one bit is
//! kept beside the tables, which are too large to be asked at every write.

use super::Mapping;
use crate::memory::{large_table, prefetch};

/// How hot data is, by what became of it: it rises as the host overwrites it, and falls as the
/// collector moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Cold,
    Warm,
    Hot,
}

impl Mapping {
    /// The same mapping where hot data is separated.
    pub(crate) fn separating(mut self) -> Self {
        self.warm = large_table(self.l2p.len().div_ceil(64), 0);
        self
    }

    pub(crate) fn region(&self, superblock: u32) -> Region {
        self.regions[superblock as usize]
    }

    /// Fetches what [`Self::is_warm`] will touch.
    #[inline]
    pub(crate) fn prefetch_warmth(&self, lpn: u32) {
        if !self.warm.is_empty() {
            prefetch(&self.warm, lpn as usize / 64);
        }
    }

    /// Whether what `lpn` holds is warm or hotter.
    #[inline]
    pub(crate) fn is_warm(&self, lpn: u32) -> bool {
        self.warm[lpn as usize / 64] & bit(lpn) != 0
    }

    /// The host writes `lpn`: it is warm from now on.
    #[inline]
    pub(crate) fn warm(&mut self, lpn: u32) {
        self.warm[lpn as usize / 64] |= bit(lpn);
    }

    /// What `lpn` holds is cold from now on, or nothing.
    #[inline]
    fn cool_unit(&mut self, lpn: u32) {
        self.warm[lpn as usize / 64] &= !bit(lpn);
    }

    /// The collector moves these units (bits as in [`Self::relocate`]) to where data is cold.
    #[inline]
    pub(crate) fn cool(&mut self, first_ppn: u32, bits: u64) {
        let mut left = bits;
        while left != 0 {
            let lpn = self.p2l[first_ppn as usize + left.trailing_zeros() as usize];
            left &= left - 1;
            self.cool_unit(lpn);
        }
    }

    /// The logical units `[first, end)` hold nothing any more.
    pub(super) fn cool_range(&mut self, first: u32, end: u32) {
        if !self.warm.is_empty() {
            (first..end).for_each(|lpn| self.cool_unit(lpn));
        }
    }

    /// Checks that the bit of a unit, which is at `ppn`, is what its superblock says.
    pub(super) fn check_warmth(&self, lpn: usize, ppn: u32) {
        if !self.warm.is_empty() {
            let is_warm = self.region(ppn >> self.shift) != Region::Cold;
            let lpn = u32::try_from(lpn).expect("a logical unit");
            assert_eq!(self.is_warm(lpn), is_warm, "warmth of {lpn}");
        }
    }
}

#[inline]
fn bit(lpn: u32) -> u64 {
    1 << (lpn % 64)
}
