//! The methods by what they run on, so that a new one is among them.

use std::collections::BTreeMap;

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};
use trimbench_engine::Preset;
use trimbench_methods::METHODS;

/// Ids of the methods that run on whole devices with the options of `quick`.
pub fn methods_on_devices() -> impl Iterator<Item = &'static str> {
    let logical_block = BlockSize::SECTOR;
    methods_on(Medium::Device { capacity: Bytes::gib(20), logical_block })
}

/// The same of those that run in directories.
pub fn methods_in_directories() -> impl Iterator<Item = &'static str> {
    methods_on(Medium::Directory { available: Bytes::gib(20), fs_block: Bytes(4_096) })
}

fn methods_on(medium: Medium) -> impl Iterator<Item = &'static str> {
    let capabilities = Capabilities {
        clock: Clock::Wall,
        medium,
        discard: Support::Native,
        discard_max: Bytes::gib(1),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    };
    let quick = METHODS.iter().map(|info| (info.id, info.resolve(Preset::Quick, &BTreeMap::new())));
    quick.filter_map(move |(id, resolved)| {
        let method = resolved.expect("the options of a preset are right").method;
        method.fits(&capabilities).is_ok().then_some(id)
    })
}
