//! Methods by the kind of target that they measure, so that no test lists them by hand.

use std::collections::BTreeMap;

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};
use trimbench_engine::{MethodInfo, Preset};
use trimbench_methods::METHODS;

/// Ids of the methods that measure block devices.
pub fn methods_on_drives() -> Vec<&'static str> {
    METHODS.iter().filter(|info| fits_drives(info)).map(|info| info.id).collect()
}

/// Ids of the methods that measure filesystems only.
pub fn methods_on_files() -> Vec<&'static str> {
    METHODS.iter().filter(|info| !fits_drives(info)).map(|info| info.id).collect()
}

fn fits_drives(info: &MethodInfo) -> bool {
    let medium = Medium::Device { capacity: Bytes::gib(64), logical_block: BlockSize::SECTOR };
    let drive = Capabilities {
        clock: Clock::Virtual,
        medium,
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    };
    let method = info.resolve(Preset::Quick, &BTreeMap::new()).expect("presets are valid");
    method.fits(&drive).is_ok()
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
