//! What killed runs left, and what only looks like it.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
