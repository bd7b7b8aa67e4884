//! The directory of our own that filesystems are mounted on.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::mount::UnmountFlags;
use trimbench_claim::errno_of;
use trimbench_claim::mounts::{Mount, own_mounts};
use trimbench_core::{Errno, Nanos};

use crate::directory::{Workspace, clean_leftovers};

#[cfg(test)]
mod tests;

/// Where it is made: a directory in memory that every system has, else the one for temporary files.
const PARENTS: [&str; 2] = ["/run", "/tmp"];
/// Its name in the workspace. One that the workspace removes when it is empty.
const NAME: &str = "s0";
/// Begins the line of the marker that says what is mounted there: `mounts 7:0`.
const NOTE: &str = "mounts ";
/// How often an unmount is tried that others keep busy (indexers, udev), and after what pause.
const TRIES: u32 = 20;
const PAUSE: Nanos = Nanos::from_millis(50);

/// A place to mount on. What is mounted there is unmounted and the place removed when dropped, or
/// after a kill by the next one that is made.
#[derive(Debug)]
pub(super) struct MountPoint {
    path: PathBuf,
    /// Device numbers of what was to be mounted there.
    devices: Vec<(u32, u32)>,
    cleaned: Vec<PathBuf>,
    workspace: Workspace,
}

impl MountPoint {
    /// Removes what killed runs left, then makes a place of its own.
    pub(super) fn create() -> Result<Self, Errno> {
        let parent = PARENTS.map(Path::new).into_iter().find(|parent| parent.is_dir());
        let parent = parent.unwrap_or(Path::new("/"));
        let cleaned = clean_leftovers(parent, |workspace, marker| {
            detach(&workspace.join(NAME), &noted(marker));
        })?;
        let workspace = Workspace::create(parent)?;
        let path = workspace.path().join(NAME);
        std::fs::create_dir(&path).map_err(errno_of)?;
        Ok(Self { path, devices: Vec::new(), cleaned, workspace })
    }

    /// The device at `node` is going to be mounted there. This is on record before it happens, so
    /// that after a kill nothing else is unmounted.
    pub(super) fn expect(&mut self, node: &Path) -> Result<(), Errno> {
        let device = device_of(node).ok_or(Errno(libc::ENOTBLK))?;
        if !self.devices.contains(&device) {
            self.workspace.note(&format!("{NOTE}{}:{}", device.0, device.1))?;
            self.devices.push(device);
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn cleaned(&self) -> &[PathBuf] {
        &self.cleaned
    }

    #[expect(clippy::disallowed_methods, reason = "the target is closed: no time of its passes")]
    pub(super) fn unmount(&self) -> Result<(), Errno> {
        let once = || rustix::mount::unmount(&self.path, UnmountFlags::NOFOLLOW).map_err(errno_of);
        let mut ended = once();
        for _ in 0..TRIES {
            if ended != Err(Errno(libc::EBUSY)) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_nanos(PAUSE.0));
            ended = once();
        }
        ended
    }
}

impl Drop for MountPoint {
    /// Detaches what could not be unmounted: the kernel unmounts it with its last user.
    fn drop(&mut self) {
        detach(&self.path, &self.devices);
        // A failure is silent here; the next start tries again.
        let _ = self.workspace.remove();
    }
}

/// Detaches the filesystem that is mounted on `path`, if it is on one of these devices, the only
/// one there and without a mount below it. Whatever else somebody has mounted there stays.
fn detach(path: &Path, devices: &[(u32, u32)]) {
    if own_mounts().is_ok_and(|mounts| is_ours(&mounts, path, devices)) {
        let flags = UnmountFlags::DETACH.union(UnmountFlags::NOFOLLOW);
        // A failure shows when the workspace cannot be removed, and then it stays.
        let _ = rustix::mount::unmount(path, flags);
    }
}

/// Whether the only mount on or below `path` is one of these devices on `path`.
fn is_ours(mounts: &[Mount], path: &Path, devices: &[(u32, u32)]) -> bool {
    let there: Vec<&Mount> =
        mounts.iter().filter(|mount| mount.mount_point.starts_with(path)).collect();
    let [mount] = there[..] else { return false };
    // btrfs has a number of its own, and names its device.
    let device = match mount.device.0 {
        0 => device_of(Path::new(&mount.source)),
        _ => Some(mount.device),
    };
    mount.mount_point == path && device.is_some_and(|device| devices.contains(&device))
}

/// The numbers in the marker's lines.
fn noted(marker: &str) -> Vec<(u32, u32)> {
    let numbers = |line: &str| {
        let (major, minor) = line.strip_prefix(NOTE)?.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    marker.lines().filter_map(numbers).collect()
}

fn device_of(node: &Path) -> Option<(u32, u32)> {
    let found = std::fs::metadata(node).ok()?;
    let is_device = std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type());
    is_device.then(|| (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev())))
}
