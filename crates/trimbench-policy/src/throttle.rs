//! A limit on discards by number and by bytes per second, as btrfs has it.

use trimbench_core::{BlockSize, Blocks, Bytes, Grant, Instant, Nanos};

use crate::catalogue::{Parameter, PolicyError, Values};

const SECOND: Nanos = Nanos::from_secs(1);

/// The most discards in a second.
pub(crate) const IOPS: Parameter = Parameter {
    key: "iops",
    default: "1000",
    meaning: "discards per second, at most; 0: no limit (btrfs, iops_limit)",
};
/// The most bytes in a second.
pub(crate) const BYTES_PER_SECOND: Parameter = Parameter {
    key: "bytes-per-second",
    default: "0",
    meaning: "bytes discarded per second, at most; 0: no limit (btrfs, kbps_limit)",
};
/// The longest discard.
pub(crate) const DISCARD_MAX: Parameter = Parameter {
    key: "discard-max",
    default: "64MiB",
    meaning: "longest discard (btrfs, max_discard_size)",
};

/// One discard at a time. After each there is a pause: the longer of 1 / IOPS and its bytes over
/// bytes per second, from its issue, rounded up. Time that was not used is not saved for later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    interval: Nanos,
    bytes_per_second: Option<Bytes>,
    discard_max: Blocks,
    block_size: BlockSize,
    ready_at: Instant,
}

impl Throttle {
    pub(crate) fn read(values: &Values<'_>) -> Result<Self, PolicyError> {
        let iops = values.quantity(IOPS.key, 0, 1_000_000_u64)?;
        let bytes_per_second =
            values.quantity(BYTES_PER_SECOND.key, Bytes(0), Bytes::gib(1 << 20))?;
        Ok(Self {
            interval: if iops == 0 { Nanos::ZERO } else { Nanos(SECOND.0.div_ceil(iops)) },
            bytes_per_second: Some(bytes_per_second).filter(|&bytes| bytes > Bytes(0)),
            discard_max: values.blocks(DISCARD_MAX.key, Bytes::gib(1 << 20))?,
            block_size: values.block_size(),
            ready_at: Instant::START,
        })
    }

    pub(crate) fn grant(&self, now: Instant, in_flight: u64) -> Grant {
        if in_flight > 0 {
            return Grant::Idle;
        }
        if now < self.ready_at {
            return Grant::Until(self.ready_at);
        }
        Grant::Blocks(self.discard_max)
    }

    pub(crate) fn issued(&mut self, now: Instant, blocks: Blocks) {
        debug_assert!(now >= self.ready_at, "no discard goes within a pause");
        let by_bytes = self.bytes_per_second.map_or(Nanos::ZERO, |rate| {
            let bytes = u128::from(blocks.bytes(self.block_size).0);
            let span = (bytes * u128::from(SECOND.0)).div_ceil(u128::from(rate.0));
            Nanos(u64::try_from(span).unwrap_or(u64::MAX))
        });
        self.ready_at = now + self.interval.max(by_bytes);
    }
}
