//! `ext4:DEVICE` and its like: devices that are exchanged between claim, mkfs and mount.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
