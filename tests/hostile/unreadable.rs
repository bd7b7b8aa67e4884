//! Targets whose signatures cannot be read: what cannot be read is not known to be free.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
