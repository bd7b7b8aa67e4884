//! Claims of the issue on safety: what a hostile tester destroyed, and that it cannot happen again.

mod attacks;
mod campaign;
mod inputs;
mod killed;
mod mutants;
mod watched;

use super::Key;

pub use attacks::{build_before, print as print_attacks};

/// The key.
pub(super) const KEY: Key = Key {
    name: "safe",
    title: "Nothing is destroyed, lost or misstated that was not named.",
    claims: &[attacks::CLAIM, watched::CLAIM, mutants::CLAIM, killed::CLAIM, inputs::CLAIM],
};
