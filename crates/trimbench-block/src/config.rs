//! What a host's block layer is set to.

use trimbench_core::{Bytes, Nanos, named_enum};

/// The longest piece into which `blkdev_issue_discard` cuts a range, before the device's own limit
/// counts: what a bio's 32-bit length holds, down to whole sectors. Source: `bio_discard_limit`,
/// block/blk-lib.c.
pub const DISCARD_BIO_MAX: Bytes = Bytes((1 << 32) - 512);

named_enum! {
    /// The I/O scheduler.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Scheduler {
        /// None: every request goes to the device at once.
        None = "none",
        /// mq-deadline: the device is given as many requests as it works on at once. Of the others
        /// reads go first, in batches of 16; writes and discards wait for two batches at most
        /// (`writes_starved`). Within each the order is that of arrival, not of addresses.
        MqDeadline = "mq-deadline",
        /// CFQ, Linux's default from 2.6.18 to 3.x, as far as it concerns one program: writes of
        /// write-back and of checkpoints wait while a read is under way, and go one at a time for
        /// 200 ms after the last; then one more each 100 ms.
        Cfq = "cfq",
    }
}

/// A host's block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// The largest read or write (`max_sectors_kb`), at least one block of the device.
    pub request_max: Bytes,
    /// Requests that the host keeps at most (`nr_requests`), at least 1; `None` for as many as the
    /// device works on at once, and for twice as many with mq-deadline, 256 at most; without bound
    /// with CFQ.
    pub tags: Option<u32>,
    /// Write-back throttling: the read latency that it aims at (`wbt_lat_usec`: 2 ms on flash,
    /// 75 ms on disks); `None` where it is off (`0`).
    ///
    /// Only discards are held back here. Of writes the modelled filesystems keep few under way.
    pub write_back_throttling: Option<Nanos>,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// The longest discard that the host sends (`discard_max_bytes`), at least one granule of the
    /// device; `None` for what the device takes.
    pub discard_max: Option<Bytes>,
}

impl Default for QueueConfig {
    /// Linux's on flash without a scheduler: 512 KiB (of what drives allow, the usual setting),
    /// write-back throttling at 2 ms, one range a discard.
    fn default() -> Self {
        Self {
            request_max: Bytes(512 << 10),
            tags: None,
            write_back_throttling: Some(Nanos::from_millis(2)),
            scheduler: Scheduler::None,
            discard_max: None,
        }
    }
}

impl QueueConfig {
    /// The tags of a device that works on `queue_depth` commands at once.
    pub(crate) fn tags(&self, queue_depth: u32) -> u32 {
        let own = match self.scheduler {
            Scheduler::None => queue_depth,
            Scheduler::MqDeadline => 2 * queue_depth.min(128),
            // 128 for reads and as many for writes (`BLKDEV_MAX_RQ`): write-back stays below.
            Scheduler::Cfq => u32::MAX,
        };
        self.tags.unwrap_or(own).max(1)
    }
}
