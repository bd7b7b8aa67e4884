//! Claims about the emulated SSD: it agrees with theory, and is as fast as memory allows.

mod amplification;
pub(super) mod formulas;
pub(super) mod queueing;
pub(super) mod recovery;
pub(super) mod soak;
pub(super) mod speed;
pub(super) mod trim_modes;
pub(super) mod trimmed;
pub(super) mod uniform;
