//! `skip-by-queue`: extents that are freed while too much is pending are skipped: the first form of
//! the skipping that \[S3\] proposes. Ceph's `BlueStore` does the same at a million.

use trimbench_core::settings::{FromSettings as _, default_to, within};
use trimbench_core::{Blocks, Bytes, Instant, settings};

use crate::policy::{Backlog, Grant, PolicyInfo, PolicyOrigin, TrimPolicy, whole_blocks};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "skip-by-queue",
    summary: "discards at once, but skips extents that are freed while too much is pending",
    origin: PolicyOrigin::Proposal("[S3]"),
    parameters: SkipByQueue::rows,
    build: Some(|values| Ok(Box::new(SkipByQueue::read(values)?))),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct SkipByQueue(values) {
        /// extents waiting and discards in flight, at most (FreeBSD, trim_max_pending)
        pending_max: u64 = "pending-max", default_to("64"), within(1, 1_000_000_000);
        /// bytes waiting, at most (FreeBSD, trim_max_bytes)
        blocks_max: Blocks = "bytes-max", default_to("2GiB"),
            whole_blocks(Bytes::gib(1 << 20), values);
        /// discards in flight, at most (OpenZFS, zfs_vdev_trim_max_active)
        depth: u64 = "depth", default_to("2"), within(1, 1_000_000);
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
