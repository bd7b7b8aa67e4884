//! Discards whatever was freed at once: the policy of whoever has none, as a pool whose system
//! alone decides.

use trimbench_core::Instant;

use crate::policy::{Backlog, Grant, TrimPolicy};

/// Grants everything, whatever is in flight.
#[derive(Clone, Copy, Debug)]
pub struct AtOnce;

impl TrimPolicy for AtOnce {
    fn grant(&mut self, _: Instant, backlog: &Backlog) -> Grant {
        Grant::Blocks(backlog.blocks)
    }
}
