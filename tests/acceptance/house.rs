//! Claims about refactoring: behaviour stays the same, and tests show it.

mod planted;
pub(super) mod records;
pub(super) mod red;
pub(super) mod settings;
pub(super) mod size;
pub(super) mod speed;

pub use records::Compared;
