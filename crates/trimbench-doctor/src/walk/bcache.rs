//! bcache: discards go past the cache to the device behind it. It accepts them even where that
//! device does not, and then ends them silently. Source: drivers/md/bcache/request.c of Linux
//! (`cached_dev_nodata`, `cached_dev_write`).

use super::Walk;
use crate::device::DeviceNode;
use crate::layer::{Handling, Layer, LayerKind};

/// The layer of a cached device, and those below it.
pub(super) fn layer(walk: &Walk<'_>, device: &DeviceNode, depth: usize) -> Layer {
    let mut below = walk.below(device, depth);
    // Its cache is a slave of the set, not of the device; a tree may show both.
    let backing = device.attribute(walk.system.tree, "bcache/backing_dev_name").known();
    if let Some(name) = backing {
        below.retain(|layer| layer.name == name || layer.below.iter().any(|it| it.name == name));
    }
    // Where the device behind it accepts none, that one is named as the layer that drops them.
    let handling = walk.by_queue(device, &[]).unwrap_or(Handling::Passes);
    let layer = walk.queue_layer(LayerKind::Bcache, device, handling);
    Layer { below, ..layer }
}
