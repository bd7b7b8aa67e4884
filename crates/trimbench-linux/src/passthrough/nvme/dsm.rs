//! The ranges of Dataset Management (\[NVME\] NVM Command Set 1.0, 3.2.3, figure 40).

use trimbench_core::LbaRange;
use trimbench_core::units::narrow;

/// Room for 256 ranges of 16 bytes. Always sent whole, as the kernel does: some controllers read
/// that much whatever the number of ranges.
pub(super) const LIST_BYTES: usize = 4096;

/// Ranges as context attributes (0), length and first block.
pub(super) fn encode(ranges: &[LbaRange]) -> [u8; LIST_BYTES] {
    let mut list = [0; LIST_BYTES];
    for (entry, range) in list.chunks_exact_mut(16).zip(ranges) {
        entry[4..8].copy_from_slice(&narrow(range.length().0).to_le_bytes());
        entry[8..16].copy_from_slice(&range.start().0.to_le_bytes());
    }
    list
}
