//! Figures that were wrong or hid that something was wrong.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
