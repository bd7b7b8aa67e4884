//! Claims of the issue on safety: what a hostile tester destroyed, and that it cannot happen again.

mod campaign;
mod inputs;

use super::Key;

/// The key.
pub(super) const KEY: Key = Key {
    name: "safe",
    title: "Nothing is destroyed, lost or misstated that was not named.",
    claims: &[inputs::CLAIM],
};
