//! Facts that cannot be read: leases that fail, processes of others.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
