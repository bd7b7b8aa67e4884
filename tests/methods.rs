//! Methods by the kind of target that they measure, so that no test and no page lists them by hand.

use std::collections::BTreeMap;

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};
use trimbench_engine::{MethodInfo, Preset};
use trimbench_methods::METHODS;

/// Of the targets below: enough for the `quick` options of every method.
pub const CAPACITY: Bytes = Bytes::gib(20);

/// A drive of usual size, for [`capabilities`].
pub const DRIVE: Medium = Medium::Device { capacity: CAPACITY, logical_block: BlockSize::SECTOR };
/// A directory with as much room, for [`capabilities`].
pub const DIRECTORY: Medium = Medium::Directory { available: CAPACITY, fs_block: Bytes(4_096) };

/// Ids of the methods that measure block devices.
pub fn methods_on_drives() -> Vec<&'static str> {
    methods(|info| runs_on(info, DRIVE))
}

/// Ids of the methods that measure filesystems only.
pub fn methods_on_files() -> Vec<&'static str> {
    methods(|info| !runs_on(info, DRIVE))
}

/// Ids of the methods that run in real directories.
pub fn methods_in_directories() -> Vec<&'static str> {
    methods(|info| runs_on(info, DIRECTORY))
}

/// What a target reports that has nothing special about it.
pub fn capabilities(medium: Medium, clock: Clock, discard: Support) -> Capabilities {
    Capabilities {
        clock,
        medium,
        discard,
        discard_max: Bytes::gib(1),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

fn methods(is_wanted: impl Fn(&MethodInfo) -> bool) -> Vec<&'static str> {
    METHODS.iter().filter(|info| is_wanted(info)).map(|info| info.id).collect()
}

fn runs_on(info: &MethodInfo, medium: Medium) -> bool {
    let method = info.resolve(Preset::Quick, &BTreeMap::new()).expect("presets are valid").method;
    method.fits(&capabilities(medium, Clock::Wall, Support::Native)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_in_one_list() {
        let (drives, files) = (methods_on_drives(), methods_on_files());
        assert!(drives.contains(&"trim-sweep") && files.contains(&"postmark"));
        assert_eq!(drives.len() + files.len(), METHODS.len());
    }
}
