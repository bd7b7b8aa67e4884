//! A filesystem of a test's own on a loop device over a sparse image, half full of small files of
//! which every second was deleted, and the count of what the device is asked to discard.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustix::fs::{Mode, syncfs};
use rustix::mount::{UnmountFlags, unmount};
use tempfile::TempDir;
use trimbench_claim::mounts::mount_of;
use trimbench_claim::opening;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::{Bytes, Nanos};
use trimbench_linux::pause;
use trimpace::planner::{FreeExtent, Planner, planner_for};

use crate::common;

const FOLDERS: u32 = 4;

/// Unmounted, detached and removed when dropped.
pub(crate) struct Scene {
    loop_device: PathBuf,
    mount_point: PathBuf,
    /// Of the mount point, while it is mounted.
    directory: Option<Arc<OwnedFd>>,
    _folder: TempDir,
}

impl Scene {
    /// `None` where there can be none, which is said.
    pub(crate) fn new(test: &str, size: Bytes, mkfs: &[&str]) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return skip(test, "not root");
        }
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(size.0).unwrap();
        let image = image.to_str().unwrap().to_owned();
        let Some(node) = output("losetup", &["--find", "--show", &image]) else {
            return skip(test, "no loop devices");
        };
        let mount_point = folder.path().join("mount");
        fs::create_dir(&mount_point).unwrap();
        let loop_device = PathBuf::from(node.trim());
        let mut scene = Self { loop_device, mount_point, directory: None, _folder: folder };
        let node = scene.loop_device.to_str().unwrap();
        if output(mkfs[0], &[&mkfs[1..], &[node]].concat()).is_none() {
            return skip(test, &format!("no {}", mkfs[0]));
        }
        if !scene.mount() {
            return skip(test, "the filesystem cannot be mounted");
        }
        Some(scene)
    }

    /// Writes this many files of 16 KiB to 112 KiB, deletes every second one, and mounts the
    /// filesystem anew.
    pub(crate) fn fill(&mut self, files: u32) {
        let content = vec![0x5a; 112 << 10];
        let path = |file: u32| self.mount_point.join(format!("{}/{file}", file % FOLDERS));
        (0..FOLDERS).for_each(|it| fs::create_dir(self.mount_point.join(it.to_string())).unwrap());
        for file in 0..files {
            let length = trimbench_core::units::index(u64::from(16 + file * 7919 % 97)) << 10;
            fs::write(path(file), &content[..length]).unwrap();
        }
        syncfs(self.directory()).unwrap();
        // Of each pair of files in a folder, the second.
        for file in (0..files).filter(|file| file / FOLDERS % 2 == 1) {
            fs::remove_file(path(file)).unwrap();
        }
        self.mount_anew();
    }

    /// What the filesystem remembers as trimmed is forgotten, and so is what it keeps in reserve.
    pub(crate) fn mount_anew(&mut self) {
        syncfs(self.directory()).unwrap();
        self.directory = None;
        assert!(self.unmount(UnmountFlags::empty()), "it stays busy");
        assert!(self.mount());
        syncfs(self.directory()).unwrap();
    }

    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().unwrap().as_fd()
    }

    pub(crate) fn planner(&self, minimum: Bytes) -> Box<dyn Planner> {
        let mount = mount_of(&self.mount_point).unwrap();
        let directory = Arc::clone(self.directory.as_ref().unwrap());
        planner_for(&mount, directory, &self.device(), minimum).unwrap()
    }

    /// Bytes that the device is asked to discard while `action` runs, and until it is at rest.
    pub(crate) fn discarded(&self, action: impl FnOnce(BorrowedFd<'_>)) -> u64 {
        let before = self.counter_at_rest();
        action(self.directory());
        self.counter_at_rest() - before
    }

    /// The same of calls that wait for their discards.
    pub(crate) fn discarded_at_once(&self, action: impl FnOnce(BorrowedFd<'_>)) -> u64 {
        let stat = self.device().stat_path();
        let before = common::discarded(&stat);
        action(self.directory());
        common::discarded(&stat) - before
    }

    fn mount(&mut self) -> bool {
        let paths = [&self.loop_device, &self.mount_point].map(|path| path.to_str().unwrap());
        if output("mount", &["-o", "nodiscard", paths[0], paths[1]]).is_none() {
            return false;
        }
        let directory = rustix::fs::open(&self.mount_point, opening::DIRECTORY, Mode::empty());
        self.directory = Some(Arc::new(directory.unwrap()));
        true
    }

    /// Whether it is unmounted. A program that another test is starting holds our descriptors for
    /// a moment: the filesystem is busy until it runs.
    fn unmount(&self, flags: UnmountFlags) -> bool {
        (0..40).any(|_| {
            let done = unmount(&self.mount_point, flags | UnmountFlags::NOFOLLOW).is_ok();
            if !done {
                pause(Nanos::from_millis(25));
            }
            done
        })
    }

    fn device(&self) -> BlockDevice {
        BlockDevice::from_node(&self.loop_device).unwrap()
    }

    /// The bytes discarded so far, once no request is in flight and the count has rested.
    fn counter_at_rest(&self) -> u64 {
        syncfs(self.directory()).unwrap();
        common::discarded_at_rest(&self.device().stat_path())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.directory = None;
        let is_mounted = mount_of(&self.mount_point)
            .is_ok_and(|mount| Path::new(&mount.source) == self.loop_device);
        if is_mounted && !self.unmount(UnmountFlags::empty()) {
            self.unmount(UnmountFlags::DETACH);
        }
        output("losetup", &["--detach", self.loop_device.to_str().unwrap()]);
    }
}

/// All free extents of all regions.
pub(crate) fn all_extents(planner: &dyn Planner) -> Vec<FreeExtent> {
    let extents = |region| planner.free_extents(region).unwrap().expect("the filesystem says");
    planner.regions().iter().copied().flat_map(extents).collect()
}

pub(crate) fn sum(extents: &[FreeExtent]) -> u64 {
    extents.iter().map(|extent| extent.length.0).sum()
}

/// Whether two numbers of bytes differ by at most one percent.
pub(crate) fn within_one_percent(left: u64, right: u64) -> bool {
    left.abs_diff(right) <= left.max(right) / 100
}

fn skip(test: &str, reason: &str) -> Option<Scene> {
    eprintln!("SKIP {test}: {reason}");
    None
}

/// What a program prints; `None` if it fails or is not there.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    if !output.status.success() {
        eprintln!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8(output.stdout).unwrap())
}
