//! Where a filesystem is mounted and how it is named there: its UUID, its line in `/etc/fstab`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{major, minor};
use trimbench_core::text::to_text;

use crate::ioctl;
use crate::mounts::{Mount, read_table, unescape};
use crate::sysfs::{BlockDevice, SECTOR, btrfs_folder, devices_of};

#[cfg(test)]
mod tests;

/// What a fstab has that has no line for a mount.
const NO_LINE: &str = "none";

/// What names this mount: the part of the filesystem that it shows unless it shows all, the UUID,
/// the line of `/etc/fstab` or `none`.
pub(super) fn facts(path: &Path, mount: &Mount, found: &mut BTreeMap<String, String>) {
    let root = (mount.root != "/").then(|| to_text(&mount.root));
    // One without any line says nothing: `fstrim.timer` then takes what is mounted.
    let fstab = read_table(Path::new("/etc/fstab")).ok().filter(|text| lines(text).count() > 0);
    let line = fstab.map(|text| line_of(&text, mount).unwrap_or_else(|| NO_LINE.to_owned()));
    let (file, options) = loop_image(mount).unzip();
    let facts = [
        ("mount-root", root),
        ("filesystem-uuid", uuid_of(path, mount)),
        ("fstab-line", line),
        ("loop-file", file),
        ("loop-options", options),
    ];
    found.extend(facts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?))));
}

/// The file that a filesystem is in, and the options by which `mount` makes a loop device of it.
/// Only of a device that goes with the mount (`autoclear`): then its UUID leads nowhere.
fn loop_image(mount: &Mount) -> Option<(String, String)> {
    let devices = devices_of(mount);
    let [device] = devices.as_slice() else { return None };
    let file = device.attribute("loop/backing_file")?;
    if device.number("loop/autoclear") != Some(1) {
        return None;
    }
    let sectors = |name| device.own_number(name).unwrap_or(0) * SECTOR;
    let offset = device.number("loop/offset").unwrap_or(0) + sectors("start");
    let mut options = "loop".to_owned();
    if offset > 0 {
        write!(options, ",offset={offset}").expect("a string takes everything");
    }
    if device.is_partition() {
        write!(options, ",sizelimit={}", sectors("size")).expect("a string takes everything");
    }
    Some((file, options))
}

/// The lines of a fstab, each as its fields.
fn lines(fstab: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = fstab.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_ascii_whitespace().collect())
        .filter(|line: &Vec<_>| line.len() >= 4)
}

/// The line of a fstab that mounts this filesystem here, with one blank between its fields. The
/// last one where there are several.
fn line_of(fstab: &str, mount: &Mount) -> Option<String> {
    let is_it = |line: &Vec<&str>| {
        let same_kind = line[2] == mount.filesystem || line[2] == "auto";
        same_kind && unescape(line[1]) == mount.mount_point.as_os_str()
    };
    lines(fstab).filter(is_it).last().map(|line| line.join(" "))
}

/// The UUID of a filesystem, as `UUID=` in a fstab names it.
fn uuid_of(path: &Path, mount: &Mount) -> Option<String> {
    let by_link = || {
        let links = fs::read_dir("/dev/disk/by-uuid").ok()?;
        let is_it = |link: &fs::DirEntry| {
            let numbers = fs::metadata(link.path()).map(|it| (major(it.rdev()), minor(it.rdev())));
            numbers.is_ok_and(|it| it == mount.device)
        };
        links.filter_map(Result::ok).find(is_it)?.file_name().into_string().ok()
    };
    // Of a btrfs the kernel names the folder so.
    let by_folder = || Some(btrfs_folder(mount)?.file_name()?.to_str()?.to_owned());
    // Linux 6.9 or later, and the filesystems that tell. An image file is not opened: that would
    // look as if another used it.
    let directory = if path.is_dir() { path } else { path.parent()? };
    let by_kernel = || {
        let uuid = ioctl::filesystem_uuid(File::open(directory).ok()?.as_fd()).ok()??;
        Some(hyphenated(&uuid))
    };
    by_link().or_else(by_folder).or_else(by_kernel)
}

/// 16 bytes as UUIDs are written.
pub fn hyphenated(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    text
}

/// What udev calls the short serial number of a disk: what its rules can match.
pub(super) fn udev_serial(device: &BlockDevice) -> Option<String> {
    let (major, minor) = device.whole().numbers()?;
    let known = read_table(Path::new(&format!("/run/udev/data/b{major}:{minor}"))).ok()?;
    let serial = known.lines().find_map(|line| line.strip_prefix("E:ID_SERIAL_SHORT="))?;
    (!serial.is_empty()).then(|| serial.to_owned())
}
