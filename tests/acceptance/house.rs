//! Claims of the issue on the project's own shape: behaviour stays, and that is proven.

pub(super) mod records;

pub use records::Compared;
