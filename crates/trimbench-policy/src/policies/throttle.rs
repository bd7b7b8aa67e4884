//! A limit on discards at a time, by number and by bytes per second, as in btrfs.

use trimbench_core::settings::{default_to, mapped, within};
use trimbench_core::{BlockSize, Blocks, Bytes, Instant, Nanos, settings};

use crate::issuer::IssuerRule;
use crate::policy::{Grant, whole_blocks};

const SECOND: Nanos = Nanos::from_secs(1);

settings! {
    /// One discard at a time, or as many as an issuer has. After each there is a pause: the longer
    /// of 1 / IOPS and its bytes over bytes per second, from its issue, rounded up. Time that was
    /// not used is not saved for later.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Throttle(values) {
        /// discards per second, at most; 0: no limit (btrfs, iops_limit)
        interval: Nanos = "iops", default_to("1000"), mapped(within(0, 1_000_000), interval);
        /// bytes discarded per second, at most; 0: no limit (btrfs, kbps_limit)
        bytes_per_second: Bytes = "bytes-per-second", default_to("0"),
            within(Bytes(0), Bytes::gib(1 << 20));
        /// longest discard (btrfs, max_discard_size)
        discard_max: Blocks = "discard-max", default_to("64MiB"),
            whole_blocks(Bytes::gib(1 << 20), values);
    } with {
        /// Discards at a time.
        depth: u64 = 1;
        block_size: BlockSize = values.block_size();
        ready_at: Instant = Instant::START;
    }
}

/// Between so many discards a second.
fn interval(iops: u64) -> Nanos {
    if iops == 0 { Nanos::ZERO } else { Nanos(SECOND.0.div_ceil(iops)) }
}

impl Throttle {
    /// Depth, longest discard and pause of an issuer.
    pub(crate) fn of(rule: &IssuerRule, block_size: BlockSize) -> Self {
        Self {
            interval: rule.pause,
            bytes_per_second: Bytes(0),
            discard_max: rule
                .chunk
                .map_or(Blocks(u64::MAX), |chunk| chunk.blocks_floor(block_size)),
            depth: rule.depth.most().map_or(u64::MAX, u64::from),
            block_size,
            ready_at: Instant::START,
        }
    }

    pub(crate) fn grant(&self, now: Instant, in_flight: u64) -> Grant {
        if in_flight >= self.depth {
            return Grant::Idle;
        }
        if now < self.ready_at {
            return Grant::Until(self.ready_at);
        }
        Grant::Blocks(self.discard_max)
    }

    pub(crate) fn issued(&mut self, now: Instant, blocks: Blocks) {
        debug_assert!(now >= self.ready_at, "no discard goes within a pause");
        let by_bytes = if self.bytes_per_second == Bytes(0) {
            Nanos::ZERO
        } else {
            let bytes = u128::from(blocks.bytes(self.block_size).0);
            let rate = u128::from(self.bytes_per_second.0);
            let span = (bytes * u128::from(SECOND.0)).div_ceil(rate);
            Nanos(u64::try_from(span).unwrap_or(u64::MAX))
        };
        self.ready_at = now + self.interval.max(by_bytes);
    }
}
