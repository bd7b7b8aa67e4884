//! Claims of the first issue: one command measures how long a deletion is noticed.

mod arithmetic;
mod checkout;
mod clean_clone;
mod determinism;
mod directory;
mod noise;
mod speed;
mod suite;

use super::Key;

/// The key.
pub(super) const KEY: Key = Key {
    name: "foundation",
    title: "A first true measurement: the emulated SSD and a real directory under one command.",
    claims: &[
        clean_clone::CLAIM,
        determinism::CLAIM,
        directory::CLAIM,
        arithmetic::CLAIM,
        noise::CLAIM,
        speed::CLAIM,
        suite::CLAIM,
    ],
};
