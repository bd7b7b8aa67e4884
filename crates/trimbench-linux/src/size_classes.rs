//! The sizes of buffers for transfers: from one page to 4 MiB, each four times the one before.

/// Unit of alignment and of stamps: at least the logical block of common disks (512 B or 4 KiB).
pub(crate) const PAGE: u64 = 4096;
/// The largest piece of a transfer; larger commands go piece by piece.
pub(crate) const LARGEST: u64 = 4 << 20;
/// How many sizes there are.
pub(crate) const CLASSES: usize = 6;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Bytes of the buffers of a class.
pub(crate) fn class_size(class: usize) -> u64 {
    PAGE << (2 * class)
}

/// The smallest class that holds `length`.
#[inline]
pub(crate) fn class_of(length: u64) -> usize {
    (0..CLASSES - 1).find(|&class| class_size(class) >= length).unwrap_or(CLASSES - 1)
}
