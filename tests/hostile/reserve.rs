//! The free space that is kept, by runs side by side.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
