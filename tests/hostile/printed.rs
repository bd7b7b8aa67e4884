//! Output directories that are removed, renamed, immutable or full: what was measured is printed.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
