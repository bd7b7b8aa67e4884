//! `trace record` on a full disk and killed.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
