//! Claims of the first issue: one command measures how long a deletion is noticed.

pub(super) mod arithmetic;
mod checkout;
pub(super) mod clean_clone;
pub(super) mod determinism;
pub(super) mod directory;
pub(super) mod noise;
pub(super) mod speed;
pub(super) mod suite;
