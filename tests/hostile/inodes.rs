//! One file by two inodes: images on overlayfs and FUSE.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
