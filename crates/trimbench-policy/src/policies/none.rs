//! `none`: no discards.

use trimbench_core::{Blocks, Grant, Instant};

use crate::policy::{Backlog, PolicyInfo, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "none",
    summary: "never discards; skips every freed extent",
    parameters: Vec::new,
    build: |_| Ok(Box::new(None)),
};

#[derive(Clone, Copy, Debug)]
struct None;

impl TrimPolicy for None {
    fn admit(&mut self, _: Instant, _: Blocks, _: &Backlog) -> Blocks {
        Blocks(0)
    }

    fn grant(&mut self, _: Instant, _: &Backlog) -> Grant {
        Grant::Idle
    }
}
