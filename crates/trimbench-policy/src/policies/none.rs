//! `none`: no discards, as mounted without `discard`.

use trimbench_core::{Blocks, Instant};

use crate::policy::{Backlog, Grant, PolicyInfo, PolicyOrigin, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "none",
    summary: "never discards; skips every freed extent",
    origin: PolicyOrigin::System,
    parameters: Vec::new,
    build: Some(|_| Ok(Box::new(Never))),
};

#[derive(Clone, Copy, Debug)]
struct Never;

impl TrimPolicy for Never {
    fn admit(&mut self, _: Instant, _: Blocks, _: &Backlog) -> Blocks {
        Blocks(0)
    }

    fn grant(&mut self, _: Instant, _: &Backlog) -> Grant {
        Grant::Idle
    }
}
