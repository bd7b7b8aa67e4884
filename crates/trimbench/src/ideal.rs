//! Targets that lack nothing: a method that does not fit them fits none of their kind.

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};

/// A directory with so much room that lacks nothing else.
pub(crate) fn ideal_directory(available: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Wall,
        medium: Medium::Directory { available, fs_block: Bytes(4_096) },
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// A device of this capacity that lacks nothing.
pub(crate) fn ideal_device(capacity: Bytes) -> Capabilities {
    let medium = Medium::Device { capacity, logical_block: BlockSize::SECTOR };
    Capabilities { medium, ..ideal_directory(capacity) }
}
