//! Claims about refactoring: behaviour stays the same, and tests show it.

mod planted;
pub(super) mod records;
pub(super) mod red;

pub use records::Compared;
