//! The minimum length that leaves out the many small extents but little of the free space.

use trimbench_core::{Bytes, Ppm};

#[cfg(test)]
mod tests;

/// The largest minimum length with which at least `share` of the free bytes is still trimmed, as
/// `xfs_scrub` chooses it: the length of the shortest extent that it takes, the longest ones first.
/// 0 if there is no free space; a share above 1 counts as 1.
///
/// `lengths` are those of all free extents, in any order.
pub fn cover(lengths: impl Iterator<Item = Bytes>, share: Ppm) -> Bytes {
    let mut lengths: Vec<u64> = lengths.map(|length| length.0).collect();
    lengths.sort_unstable_by(|left, right| right.cmp(left));
    let sum: u128 = lengths.iter().copied().map(u128::from).sum();
    let wanted = (sum * u128::from(share.min(Ppm::ONE).0)).div_ceil(u128::from(Ppm::ONE.0));
    let mut trimmed = 0_u128;
    for length in lengths {
        trimmed += u128::from(length);
        if trimmed >= wanted {
            return Bytes(length);
        }
    }
    Bytes(0)
}
