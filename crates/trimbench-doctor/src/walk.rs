//! Walks from a filesystem or a device down to its drives.
//!
//! Whether a layer accepts discards is read from its request queue: the kernel computes these
//! limits through the whole stack. Who of several layers drops them follows from that: the lowest
//! one that accepts none although all below it do.

mod bcache;
mod device_mapper;
mod drive;
mod filesystem;
mod loop_device;
mod raid;
mod sending;

use trimbench_claim::mounts::Mount;

use crate::device::{DeviceNode, DiscardLimits};
use crate::layer::{Handling, Layer, LayerKind};
use crate::system::System;
use crate::tree::{ReadObstacle, SystemFact};
use device_mapper::Mappings;

pub(crate) use filesystem::swap_layers;

/// Layers above each other before a walk counts as endless.
const MAX_DEPTH: usize = 64;

/// What a walk reads from.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    pub(crate) system: System<'a>,
    mappings: Mappings,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(system: System<'a>) -> Self {
        Self { system, mappings: Mappings::of(system.tree) }
    }

    /// The layers from a mounted filesystem down.
    pub(crate) fn of_mount(&self, mount: &Mount) -> Layer {
        filesystem::layer(self, mount, 0)
    }

    /// The layers from a device down.
    pub(crate) fn of_device(&self, device: &DeviceNode) -> Layer {
        self.device(device, 0)
    }

    fn device(&self, device: &DeviceNode, depth: usize) -> Layer {
        if depth > MAX_DEPTH {
            let why = "the layers stand on each other without end".to_owned();
            return bare(LayerKind::DmOther, &device.name, Handling::Unknown { why });
        }
        let name = device.disk_name();
        match () {
            () if device.is_partition() => self.partition(device, depth),
            () if name.starts_with("dm-") => device_mapper::layer(self, device, depth),
            () if self.system.tree.exists(device.disk_folder().join("md")) => {
                raid::layer(self, device, depth)
            }
            () if name.starts_with("loop") => loop_device::layer(self, device, depth),
            () if name.starts_with("bcache") => bcache::layer(self, device, depth),
            () => drive::layer(self, device),
        }
    }

    fn partition(&self, device: &DeviceNode, depth: usize) -> Layer {
        let whole = DeviceNode::named(self.system.tree, device.disk_name());
        let below: Vec<Layer> = whole.iter().map(|disk| self.device(disk, depth + 1)).collect();
        let limits = device.limits(self.system.tree);
        Layer {
            limits: Some(limits),
            discarded: device.discarded(self.system.tree),
            is_shared: device.is_shared(self.system.tree),
            below,
            ..bare(LayerKind::Partition, &device.name, Handling::Passes)
        }
    }

    /// The layers of the devices below this one.
    fn below(&self, device: &DeviceNode, depth: usize) -> Vec<Layer> {
        let all = device.below(self.system.tree);
        all.iter().map(|device| self.device(device, depth + 1)).collect()
    }

    /// A layer of a device with what its queue says; its handling is the caller's.
    fn queue_layer(&self, kind: LayerKind, device: &DeviceNode, handling: Handling) -> Layer {
        Layer {
            limits: Some(device.limits(self.system.tree)),
            discarded: device.discarded(self.system.tree),
            is_shared: device.is_shared(self.system.tree),
            unread: self.unread(device),
            ..bare(kind, &device.name, handling)
        }
    }

    /// Limits of the queue that are there and cannot be read.
    fn unread(&self, device: &DeviceNode) -> Vec<String> {
        let look = device.attribute(self.system.tree, "queue/discard_max_bytes");
        look.obstacle().map(ReadObstacle::words).into_iter().collect()
    }

    /// What the queue alone decides: a layer that accepts nothing since somebody has switched it
    /// off, one whose limits are hidden, and one below which nobody accepts anything.
    fn by_queue(&self, device: &DeviceNode, below: &[Layer]) -> Option<Handling> {
        let limits = device.limits(self.system.tree);
        match limits.accepts() {
            Some(true) => None,
            Some(false) if limits.is_switched_off() => Some(switched_off(device, &limits)),
            Some(false) => {
                let is_lower = !below.is_empty() && below.iter().all(|it| !it.may_accept());
                is_lower.then_some(Handling::Passes)
            }
            None => Some(Handling::Unknown {
                why: match device.attribute(self.system.tree, "queue/discard_max_bytes") {
                    SystemFact::Unreadable(obstacle) => obstacle.words(),
                    _ => format!("`queue/discard_max_bytes` of `{}` is not there", device.name),
                },
            }),
        }
    }
}

/// A layer of which nothing more is known.
fn bare(kind: LayerKind, name: &str, handling: Handling) -> Layer {
    Layer {
        kind,
        name: name.to_owned(),
        title: String::new(),
        limits: None,
        handling,
        discarded: None,
        is_shared: false,
        unread: Vec::new(),
        traps: Vec::new(),
        nothing_to_trim: None,
        below: Vec::new(),
    }
}

fn switched_off(device: &DeviceNode, limits: &DiscardLimits) -> Handling {
    use trimbench_results::advice::LineToType;
    let most = limits.max_hardware_bytes.unwrap_or(0);
    let granularity = limits.granularity_bytes.unwrap_or(1).max(1);
    // Not a multiple: refused with EINVAL, as the default of a loop device is.
    let text = format!(
        "echo {} > /sys/block/{}/queue/discard_max_bytes",
        most / granularity * granularity,
        device.disk_name()
    );
    let line = LineToType::command("all", text)
        .checked_by(format!("lsblk --discard /dev/{}", device.disk_name()))
        .noting(
            "until the next start; somebody has switched discards off on purpose, most often by a \
             udev rule: find out why before you undo it",
        );
    Handling::Drops {
        cause: "discard-max-zero",
        why: "its `discard_max_bytes` is 0: somebody has switched discards off".to_owned(),
        lines: vec![line],
    }
}
