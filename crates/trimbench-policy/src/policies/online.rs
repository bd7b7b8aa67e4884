//! `online`: discards every freed extent at its commit, all at once, as `mount -o discard` of ext4
//! does up to Linux 5.14.

use trimbench_core::{Grant, Instant};

use crate::policy::{Backlog, PolicyInfo, TrimPolicy};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "online",
    summary: "discards every freed extent at its commit, all at once",
    parameters: Vec::new,
    build: |_| Ok(Box::new(Online)),
};

#[derive(Clone, Copy, Debug)]
struct Online;

impl TrimPolicy for Online {
    fn grant(&mut self, _: Instant, backlog: &Backlog) -> Grant {
        Grant::Blocks(backlog.blocks)
    }
}
