//! RAID by md. Source: drivers/md of Linux (`raid5_set_limits`, `md_submit_discard_bio`):
//! levels 0, 1 and 10 pass discards to the members that accept them, and silently end those for
//! the others; levels 4, 5 and 6 accept none unless told that members return zeros afterwards.

use trimbench_results::advice::LineToType;

use super::Walk;
use crate::device::DeviceNode;
use crate::layer::{Handling, Layer, LayerKind};
use crate::traps;
use crate::tree::SystemFact;

/// The layer of an array, and those of its members.
pub(super) fn layer(walk: &Walk<'_>, device: &DeviceNode, depth: usize) -> Layer {
    let level = device.attribute(walk.system.tree, "md/level").known().unwrap_or_default();
    let below = walk.below(device, depth);
    let handling = walk.by_queue(device, &below).unwrap_or_else(|| handling(walk, device, &level));
    let mut layer = walk.queue_layer(LayerKind::Md, device, handling);
    layer.title.clone_from(&level);
    layer.traps = traps::of_array(walk.system.tree, &level, &layer, &below);
    Layer { below, ..layer }
}

fn handling(walk: &Walk<'_>, device: &DeviceNode, level: &str) -> Handling {
    if device.limits(walk.system.tree).accepts() == Some(true) {
        return Handling::Passes;
    }
    if !matches!(level, "raid4" | "raid5" | "raid6") {
        let why = format!("an array of level `{level}` accepts no discards here");
        return Handling::Drops { cause: "md", why, lines: Vec::new() };
    }
    let parameter = "/sys/module/raid456/parameters/devices_handle_discard_safely";
    match walk.system.tree.text(parameter) {
        SystemFact::Known(value) if value == "Y" => Handling::Drops {
            cause: "md-stripe",
            why: "`devices_handle_discard_safely` is set, but the array was assembled before, or \
                  its members discard less than a stripe at once"
                .to_owned(),
            lines: vec![
                LineToType::command("md", format!("mdadm --stop /dev/{}", device.name)).untested(),
                LineToType::command("md", "mdadm --assemble --scan").untested(),
            ],
        },
        SystemFact::Known(_) | SystemFact::Absent => Handling::Drops {
            cause: "md-parity-unsafe",
            why: "RAID 4, 5 and 6 accept discards only if the kernel is told that the drives \
                  return zeros afterwards (`devices_handle_discard_safely`)"
                .to_owned(),
            lines: vec![parity_line("raid456", "md")],
        },
        SystemFact::Unreadable(obstacle) => Handling::Unknown { why: obstacle.words() },
    }
}

/// The line that has a module trust its drives.
pub(super) fn parity_line(module: &str, system: &'static str) -> LineToType {
    let text = format!("options {module} devices_handle_discard_safely=Y");
    LineToType::in_file(system, "/etc/modprobe.d/raid-discard.conf", text)
        .checked_by(format!("cat /sys/module/{module}/parameters/devices_handle_discard_safely"))
        .noting(
            "only if every drive returns zeros after TRIM (`hdparm -I`: deterministic read \
             ZEROs), else a rebuild restores wrong data; it takes effect when the array is next \
             assembled: `update-initramfs -u` and restart the machine",
        )
}
