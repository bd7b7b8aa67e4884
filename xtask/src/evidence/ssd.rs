//! Claims of the fourth issue: the emulated SSD is as true as the theory, as fast as memory allows.

mod recovery;
mod soak;
mod speed;

use super::Key;

/// The key.
pub(super) const KEY: Key = Key {
    name: "ssd",
    title: "The emulated SSD: as true as the theory, as fast as memory allows.",
    claims: &[speed::CLAIM, recovery::CLAIM, soak::CLAIM],
};
