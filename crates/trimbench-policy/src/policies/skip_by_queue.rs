//! `skip-by-queue`: what is freed while too much is pending is skipped: the first form of the
//! skipping that \[S3\] proposes. Ceph's `BlueStore` does the same at a million.

use trimbench_core::{Blocks, Bytes, Grant, Instant};

use crate::catalogue::{Parameter, PolicyError, PolicyInfo, Values};
use crate::policy::{Backlog, TrimPolicy};

const PENDING_MAX: Parameter = Parameter {
    key: "pending-max",
    default: "64",
    meaning: "extents waiting and discards in flight, at most (FreeBSD, trim_max_pending)",
};
const BYTES_MAX: Parameter = Parameter {
    key: "bytes-max",
    default: "2GiB",
    meaning: "bytes waiting, at most (FreeBSD, trim_max_bytes)",
};
/// Discards in flight at once, for the policies that skip.
pub(crate) const DEPTH: Parameter = Parameter {
    key: "depth",
    default: "2",
    meaning: "discards in flight, at most (OpenZFS, zfs_vdev_trim_max_active)",
};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "skip-by-queue",
    summary: "discards at once, but skips what is freed while too much is pending",
    parameters: &[PENDING_MAX, BYTES_MAX, DEPTH],
    build: |values| Ok(Box::new(SkipByQueue::read(values)?)),
};

#[derive(Clone, Copy, Debug)]
struct SkipByQueue {
    pending_max: u64,
    blocks_max: Blocks,
    depth: u64,
}

impl SkipByQueue {
    fn read(values: &Values<'_>) -> Result<Self, PolicyError> {
        Ok(Self {
            pending_max: values.quantity(PENDING_MAX.key, 1, 1_000_000_000)?,
            blocks_max: values.blocks(BYTES_MAX.key, Bytes::gib(1 << 20))?,
            depth: values.quantity(DEPTH.key, 1, 1_000_000)?,
        })
    }
}

impl TrimPolicy for SkipByQueue {
    fn admit(&mut self, _: Instant, freed: Blocks, backlog: &Backlog) -> Blocks {
        if backlog.extents + backlog.in_flight >= self.pending_max {
            return Blocks(0);
        }
        backlog.room(self.blocks_max).min(freed)
    }

    fn grant(&mut self, _: Instant, backlog: &Backlog) -> Grant {
        backlog.any_below(self.depth)
    }
}
