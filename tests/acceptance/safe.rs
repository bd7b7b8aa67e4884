//! Claims of the issue on safety: what a hostile tester destroyed, and that it cannot happen again.

pub(super) mod attacks;
pub(super) mod campaign;

pub use attacks::{build_before, print as print_attacks};
