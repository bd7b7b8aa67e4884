//! `report` and what it must not replace: records, special files, files of others.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
