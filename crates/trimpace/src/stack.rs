//! Devices that stand on each other.

use trimbench_claim::sysfs::BlockDevice;

/// How many may: the kernel itself allows fewer.
const DEEPEST: u32 = 32;

/// The first answer of a device and those below it, from the top down.
pub(crate) fn find_below<T>(
    device: &BlockDevice,
    answer: &dyn Fn(&BlockDevice) -> Option<T>,
) -> Option<T> {
    find(device, DEEPEST, answer)
}

fn find<T>(
    device: &BlockDevice,
    depth: u32,
    answer: &dyn Fn(&BlockDevice) -> Option<T>,
) -> Option<T> {
    let below = || {
        let below = if depth == 0 { Vec::new() } else { device.below() };
        below.iter().find_map(|device| find(device, depth - 1, answer))
    };
    answer(device).or_else(below)
}
