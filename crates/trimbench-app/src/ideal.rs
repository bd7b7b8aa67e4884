//! Targets that lack nothing: a method that does not fit them fits none of their kind.

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};

/// A directory with so much room that lacks nothing else, on a clock of its kind.
pub(crate) fn ideal_directory(available: Bytes, clock: Clock) -> Capabilities {
    Capabilities {
        clock,
        medium: Medium::Directory { available, fs_block: Bytes(4_096) },
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// A device of this capacity that lacks nothing, on a clock of its kind.
pub(crate) fn ideal_device(capacity: Bytes, clock: Clock) -> Capabilities {
    let medium = Medium::Device { capacity, logical_block: BlockSize::SECTOR };
    Capabilities { medium, ..ideal_directory(capacity, clock) }
}
