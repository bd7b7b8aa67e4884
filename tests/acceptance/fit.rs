//! Claims about drives that are not modelled by name: what follows from their numbers.

pub(super) mod units;
pub(super) mod what_if;
