//! Claims about the basics: one command measures how long a deletion stalls the load.

pub(super) mod arithmetic;
mod checkout;
pub(super) mod clean_clone;
pub(super) mod determinism;
pub(super) mod directory;
pub(super) mod noise;
pub(super) mod speed;
pub(super) mod suite;
