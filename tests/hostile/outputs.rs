//! Output files: predictable names, symbolic and hard links, directories that are exchanged.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
