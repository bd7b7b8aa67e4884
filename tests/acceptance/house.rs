//! Claims of the issue on the project's own shape: behaviour stays, and that is proven.

mod planted;
pub(super) mod records;
pub(super) mod red;
pub(super) mod settings;
pub(super) mod size;
pub(super) mod speed;

pub use records::Compared;
