//! Generated traces: one with the published statistics of JEDEC's client master trace, which nobody
//! may redistribute, and simple mixes.
//!
//! Both are pure functions of a seed and a few numbers, generated piece by piece.

mod master;
mod mix;

pub use master::{Master, MasterConfig, PUBLISHED, Published, SPACE_MIN};
pub use mix::{Mix, MixConfig, MixError};

use trimbench_core::Bytes;

/// The unit in which made traces write and trim.
pub const UNIT: Bytes = Bytes(4 << 10);

/// Records that a generator hands out at a time, about.
const BATCH: usize = 4_096;

#[cfg(test)]
mod tests;
