//! Claims about safety: losses that a hostile tester once caused, and that they cannot happen
//! again.

pub(super) mod attacks;
pub(super) mod campaign;

pub use attacks::{build_before, print as print_attacks};
