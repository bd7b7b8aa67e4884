//! Claims of the issue on the project's own shape: behaviour stays, and that is proven.

mod records;

use super::Key;

pub use records::Compared;

/// The key.
pub(super) const KEY: Key = Key {
    name: "house",
    title: "The same seed gives the same bytes, whatever is rebuilt.",
    claims: &[records::CLAIM],
};
