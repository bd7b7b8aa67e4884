//! Claims about drives by their numbers: published drives found again, client drives after a rest,
//! large mapping units, what free space buys, and the disk of this machine.

pub(super) mod client;
pub(super) mod named;
pub(super) mod own_disk;
pub(super) mod units;
pub(super) mod what_if;
