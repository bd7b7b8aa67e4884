//! An inspection as a short tree for people.

use std::fmt;

use trimbench_core::text::{to_text, visible};

use super::{Inspection, Subject};
use crate::inspect::{kind_of, model_of};
use crate::mounts::mount_of;
use crate::sysfs::BlockDevice;

impl fmt::Display for Inspection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&visible(&to_text(&self.given)))?;
        if self.given != self.path {
            write!(formatter, " -> {}", visible(&to_text(&self.path)))?;
        }
        let mut branches = Vec::new();
        branches.push(self.kind_text());
        branches.extend(self.subject_lines());
        branches.extend(self.uses().iter().map(|one| {
            let mark = if one.forbids() { "in use" } else { "seen" };
            format!("{mark}: {one}")
        }));
        if self.uses.unreadable > 0 {
            let count = self.uses.unreadable;
            branches.push(format!("not seen: the mounts of some processes ({count})"));
        }
        match &self.signatures {
            Ok(signatures) => branches.extend(signatures.iter().map(|one| {
                format!("carries: `{}` at {} of `{}`", one.kind, one.offset, one.device)
            })),
            Err(error) => branches.push(format!("carries: unknown, {error}")),
        }
        for (position, branch) in branches.iter().enumerate() {
            let is_last = position + 1 == branches.len();
            let corner = if is_last { "`-" } else { "|-" };
            write!(formatter, "\n{corner} {}", visible(branch))?;
        }
        Ok(())
    }
}

impl Inspection {
    fn kind_text(&self) -> String {
        let mut words = vec![match &self.subject {
            Subject::Image(image) => format!("image file on {}", image.mount.filesystem),
            Subject::Device(device) => describe(&device.block),
        }];
        words.push(self.size.to_string());
        words.extend(self.logical_block().map(|block| format!("blocks of {block}")));
        words.extend(self.read_only.map(|_| "read-only".to_owned()));
        words.join(", ")
    }

    fn subject_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(device) = self.device() {
            let identity = [("serial", &device.serial), ("wwid", &device.wwid)];
            for (key, value) in identity {
                lines.extend(value.as_ref().map(|value| format!("{key}: {value}")));
            }
            lines.extend(device.links.iter().map(|link| format!("link: {}", link.display())));
            if let Some(backing) = &device.backing {
                let mut words = vec![format!("shows: {}", backing.path.display())];
                let mount = mount_of(&backing.path).ok();
                words.extend(mount.map(|mount| format!("on {}", mount.filesystem)));
                if backing.offset > 0 || backing.size_limit > 0 {
                    words.push(format!("from byte {}", backing.offset));
                }
                lines.push(words.join(" "));
            }
        }
        lines.extend(self.below().iter().map(|below| format!("stands on: {}", describe(below))));
        lines
    }
}

/// `vda (254:0), virtio, Vendor Model`.
fn describe(device: &BlockDevice) -> String {
    let mut name = device.name.clone();
    if let Some((major, minor)) = device.numbers() {
        name = format!("{name} ({major}:{minor})");
    }
    let mut words = vec![name];
    if device.is_partition() {
        words.push(format!("partition of {}", device.disk_name()));
    }
    words.push(kind_of(device).id().to_owned());
    // What a device-mapper target is (`CRYPT-`, `LVM-`, `mpath-`) or the level of an array.
    words.extend(device.attribute("dm/uuid").or_else(|| device.attribute("md/level")));
    words.extend(model_of(device));
    words.join(", ")
}
