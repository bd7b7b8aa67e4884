//! Claims of the fourth issue: the emulated SSD is as true as the theory, as fast as memory allows.

mod amplification;
pub(super) mod formulas;
mod queueing;
mod recovery;
mod soak;
mod speed;
mod trim_modes;
mod trimmed;
mod uniform;

use super::Key;

/// The key.
pub(super) const KEY: Key = Key {
    name: "ssd",
    title: "The emulated SSD: as true as the theory, as fast as memory allows.",
    claims: &[
        uniform::CLAIM,
        trimmed::CLAIM,
        queueing::CLAIM,
        trim_modes::CLAIM,
        speed::CLAIM,
        recovery::CLAIM,
        soak::CLAIM,
    ],
};
