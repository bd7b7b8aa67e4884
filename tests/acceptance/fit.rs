//! Claims about drives by their numbers: published drives found again, client drives after a rest,
//! large mapping units, and what free space buys.

pub(super) mod client;
pub(super) mod named;
pub(super) mod units;
pub(super) mod what_if;
