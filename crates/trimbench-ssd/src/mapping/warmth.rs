//! How hot data is, in a drive that keeps hot data apart: of a superblock it is known which of
//! three regions it belongs to.

use super::Mapping;

/// How hot data is, by what became of it: it rises as the host overwrites it, and falls as the
/// collector moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Cold,
    Warm,
    Hot,
}

impl Mapping {
    pub(crate) fn region(&self, superblock: u32) -> Region {
        self.regions[superblock as usize]
    }

    /// Whether the unit `ppn` lies where data is warm or hotter.
    #[inline]
    pub(crate) fn is_warm(&self, ppn: u32) -> bool {
        self.region(ppn >> self.shift) != Region::Cold
    }
}
