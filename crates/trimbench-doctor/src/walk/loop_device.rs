//! Loop devices: a discard becomes a hole in the file, and the filesystem that holds the file frees
//! the blocks. What becomes of these is that filesystem's business, with its own mount options.

use std::path::Path;

use super::Walk;
use crate::device::DeviceNode;
use crate::layer::{Handling, Layer, LayerKind};
use crate::mount_table::of_source;
use crate::tree::SystemFact;

/// The layer of a loop device, and those below its file.
pub(super) fn layer(walk: &Walk<'_>, device: &DeviceNode, depth: usize) -> Layer {
    let file = device.attribute(walk.system.tree, "loop/backing_file");
    let path = file.as_known().map(|text| text.trim_end_matches(" (deleted)").to_owned());
    let on_device = path.as_deref().and_then(|path| of_source(walk.system.tree, path));
    let below: Vec<Layer> = match (&on_device, &path) {
        (Some(lower), _) => vec![walk.device(lower, depth + 1)],
        (None, Some(path)) => {
            let mount = walk.system.mounts.of_path(Path::new(path));
            mount
                .map(|mount| super::filesystem::layer(walk, mount, depth + 1))
                .into_iter()
                .collect()
        }
        (None, None) => Vec::new(),
    };
    let accepts = device.limits(walk.system.tree).accepts() == Some(true);
    // A filesystem has no queue: what it cannot punch, the loop device does not accept.
    let by_queue = if on_device.is_some() { walk.by_queue(device, &below) } else { None };
    let handling = by_queue.or_else(|| walk.by_queue(device, &[])).unwrap_or_else(|| match &file {
        SystemFact::Known(_) if accepts && on_device.is_some() => Handling::Passes,
        SystemFact::Known(_) if accepts => Handling::Frees {
            note: "a discard punches a hole in its file; the filesystem that holds the file then \
                   trims as it is set to",
        },
        SystemFact::Known(path) => Handling::Drops {
            cause: "loop-without-holes",
            why: format!("the filesystem of its file `{path}` cannot punch holes"),
            lines: Vec::new(),
        },
        SystemFact::Absent => Handling::Unknown { why: "it has no file".to_owned() },
        SystemFact::Unreadable(obstacle) => Handling::Unknown { why: obstacle.words() },
    });
    let mut layer = walk.queue_layer(LayerKind::Loop, device, handling);
    layer.title = path.unwrap_or_default();
    Layer { below, ..layer }
}
