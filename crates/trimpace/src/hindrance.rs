//! What a pass gives way to: work on the same devices that should not take longer, or that somebody
//! waits for.

use std::os::fd::BorrowedFd;
use std::path::Path;

use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::{BlockDevice, attribute, btrfs_folder, devices_of, names_in};
use trimbench_linux::btrfs_scrubs;

use crate::config::PauseRules;
use crate::stack::find_below;

#[cfg(test)]
mod tests;

/// Where systemd keeps a group of processes for each unit, in slices within slices.
const GROUPS: &str = "/sys/fs/cgroup";
/// How a slice's name ends.
const SLICE: &str = ".slice";
/// Slices within each other that are looked through: `user.slice/user-0.slice/...` is the third.
const SLICES: usize = 3;

/// What is in the way of a pass over this filesystem just now, as a clause; `None` if nothing is.
pub fn hindrance(rules: &PauseRules, mount: &Mount, root: BorrowedFd<'_>) -> Option<String> {
    let file = rules.while_exists.iter().find(|path| path.exists());
    if let Some(file) = file {
        return Some(format!("`{}` is there", file.display()));
    }
    let unit = rules.while_active.iter().find(|unit| is_active(Path::new(GROUPS), unit, SLICES));
    if let Some(unit) = unit {
        return Some(format!("`{unit}` is active"));
    }
    let arrays = || devices_of(mount).iter().find_map(|device| find_below(device, &array_work));
    let btrfs = || busy_btrfs(mount, root);
    rules.md.then(arrays).flatten().or_else(|| rules.btrfs.then(btrfs).flatten())
}

/// Whether a unit has a process, in this group or in slices below it.
fn is_active(group: &Path, unit: &str, slices: usize) -> bool {
    let events = attribute(&group.join(unit).join("cgroup.events")).unwrap_or_default();
    let below = || {
        let slices = names_in(group).into_iter().filter(|name| name.ends_with(SLICE));
        slices.map(|slice| group.join(slice)).collect::<Vec<_>>()
    };
    events.lines().any(|line| line == "populated 1")
        || slices > 0 && below().iter().any(|group| is_active(group, unit, slices - 1))
}

/// What an array does by itself; `None` if it is none, or does nothing.
fn array_work(device: &BlockDevice) -> Option<String> {
    let action = device.attribute("md/sync_action")?;
    let works = !matches!(action.as_str(), "idle" | "frozen");
    works.then(|| format!("the array {} is at `{action}`", device.disk_name()))
}

fn busy_btrfs(mount: &Mount, root: BorrowedFd<'_>) -> Option<String> {
    let folder = btrfs_folder(mount)?;
    let operation = attribute(&folder.join("exclusive_operation"));
    // One that is paused stays so until somebody resumes it.
    let is_work = |operation: &String| !matches!(operation.as_str(), "none" | "balance paused");
    if let Some(operation) = operation.filter(is_work) {
        return Some(format!("btrfs is at `{operation}`"));
    }
    let devices = names_in(&folder.join("devinfo"));
    let mut numbers = devices.iter().filter_map(|name| name.parse().ok());
    let scrubs = numbers.any(|device| btrfs_scrubs(root, device) == Some(true));
    scrubs.then(|| "btrfs scrubs".to_owned())
}
