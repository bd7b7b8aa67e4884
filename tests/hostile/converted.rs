//! `trace convert` onto its own input, by whatever name, and onto what is in use.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
