//! Loop devices over images of our own, filesystems on them, and other mounts; removed when
//! dropped, whatever happens.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::machine::exclusive;
use crate::process::quietly;
use crate::run;

/// How often unmounting is tried: what ended a moment ago may hold it a while longer.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// Attaches an image to a free loop device, one test at a time: another that asks at the same time
/// is given the same device, opens it, and finds it taken. Meanwhile the device seems to be in use.
pub(crate) fn attach(image: &str) -> String {
    let _one = exclusive("trimbench-tests-loops.lock");
    run("losetup", &["--find", "--show", image]).trim().to_owned()
}

/// A filesystem on a loop device. Unmounted and detached when dropped.
#[derive(Debug)]
pub struct LoopFilesystem {
    device: String,
    mount_point: TempDir,
    /// Goes with the filesystem where it is its own.
    folder: Option<TempDir>,
}

impl LoopFilesystem {
    /// Makes a filesystem of this type in an image of `mebibytes` of its own and mounts it with
    /// `options`.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn new(filesystem: &str, mebibytes: u64, options: &str) -> Self {
        Self::within(Path::new("/var/tmp"), filesystem, mebibytes, options)
    }

    /// As [`LoopFilesystem::new`], with its image in a folder in `parent`.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn within(parent: &Path, filesystem: &str, mebibytes: u64, options: &str) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("the folder is writable");
        let image = folder.path().join("image");
        let file = File::create(&image).expect("the folder is ours");
        file.set_len(mebibytes << 20).expect("sparse files take no room");
        let mut new = Self::on(&image, filesystem, options);
        new.folder = Some(folder);
        new
    }

    /// The same in an image that is there.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn on(image: &Path, filesystem: &str, options: &str) -> Self {
        let new = Self::attached(image);
        make_filesystem(&new.device, filesystem, &[]);
        new.mount(options);
        new
    }

    /// Mounts the filesystem that an image holds.
    ///
    /// # Panics
    /// If that fails.
    pub fn existing(image: &Path, options: &str) -> Self {
        let new = Self::attached(image);
        new.mount(options);
        new
    }

    fn attached(image: &Path) -> Self {
        let image = image.to_str().expect("temporary names are ASCII");
        let mount_point = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let device = attach(image);
        // From here on `drop` cleans up, also when a later step panics.
        Self { device, mount_point, folder: None }
    }

    fn mount(&self, options: &str) {
        let mount_point = self.path().to_str().expect("temporary names are ASCII");
        run("mount", &["-o", options, &self.device, mount_point]);
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mount_point.path()
    }

    /// An attribute of the device's queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        queue_of(&self.device, attribute)
    }

    /// Unmounts and detaches; a second time does nothing.
    pub fn close(&mut self) {
        if !self.device.is_empty() {
            unmount(self.path());
            detach(&self.device);
            self.device.clear();
            drop(self.folder.take());
        }
    }

    /// The device: `/dev/loop0`.
    pub fn node(&self) -> &str {
        &self.device
    }

    /// The name of the device in `/sys` and `/proc`: `loop0`.
    pub fn device_name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for LoopFilesystem {
    fn drop(&mut self) {
        self.close();
    }
}

/// Makes a filesystem of this type on a device, with further arguments of mkfs.
pub(crate) fn make_filesystem(device: &str, filesystem: &str, make: &[&str]) {
    let quick: &[&str] = match filesystem {
        // No lazy initialisation: it would write during the test.
        "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
        _ => &["-q", "-f"],
    };
    run(&format!("mkfs.{filesystem}"), &[quick, make, &[device]].concat());
}

/// A free loop device of a number that nothing else takes: `losetup --find` takes the lowest. Once
/// `nr_requests` of a loop device was lowered, raising it again has no effect (seen on Linux 6.18:
/// 4 requests are under way at most, whatever the attribute says).
fn untouched() -> String {
    let free = (64..1 << 20)
        .find(|number| !Path::new(&format!("/sys/block/loop{number}/loop/backing_file")).exists());
    format!("/dev/loop{}", free.expect("there are more than anyone needs"))
}

/// A loop device over a sparse image of its own. Detached and deleted when dropped.
#[derive(Debug)]
pub struct LoopDevice {
    node: String,
    image: PathBuf,
    /// Goes with the device where it is the device's own.
    folder: Option<TempDir>,
}

impl LoopDevice {
    /// Over an image of `mebibytes` in `/var/tmp`.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn new(mebibytes: u64) -> Self {
        Self::within(Path::new("/var/tmp"), mebibytes)
    }

    /// As [`LoopDevice::new`], with its image in a folder in `parent`.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn within(parent: &Path, mebibytes: u64) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("the folder is writable");
        let mut new = Self::over(&folder.path().join("image"), mebibytes);
        new.folder = Some(folder);
        new
    }

    /// Over an image of `mebibytes` that is made at this path.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn over(image: &Path, mebibytes: u64) -> Self {
        let file = File::create_new(image).expect("the folder is ours");
        file.set_len(mebibytes << 20).expect("sparse files take no room");
        Self::on(image)
    }

    /// Over an image that is there.
    ///
    /// # Panics
    /// If that fails: [`requires`](crate::requires) said that it works.
    pub fn on(image: &Path) -> Self {
        let text = image.to_str().expect("temporary names are ASCII");
        let node = attach(text);
        Self { node, image: image.to_owned(), folder: None }
    }

    /// The same on a loop device whose queue nobody has shortened.
    ///
    /// # Panics
    /// If that fails.
    pub fn untouched(image: &Path) -> Self {
        let node = untouched();
        run("losetup", &[&node, image.to_str().expect("temporary names are ASCII")]);
        Self { node, image: image.to_owned(), folder: None }
    }

    /// `/dev/loop0`.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The file below.
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// An attribute of its queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        queue_of(&self.node, attribute)
    }
}

pub(crate) fn queue_of(node: &str, attribute: &str) -> PathBuf {
    let name = node.trim_start_matches("/dev/");
    Path::new("/sys/block").join(name).join("queue").join(attribute)
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        detach(&self.node);
        drop(self.folder.take());
    }
}

/// Something that is mounted until it is dropped.
#[derive(Debug)]
pub struct Mounted(PathBuf);

impl Mounted {
    /// Mounts at `place`, where a folder is made if there is nothing.
    ///
    /// # Panics
    /// If that fails: root may mount.
    pub fn new(arguments: &[&str], place: &Path) -> Self {
        Self::attempt(arguments, place).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same of what may not be fit to be mounted.
    ///
    /// # Errors
    /// What `mount` said.
    ///
    /// # Panics
    /// If `mount` cannot be run.
    pub fn attempt(arguments: &[&str], place: &Path) -> Result<Self, String> {
        if !place.exists() {
            std::fs::create_dir_all(place).expect("the folder is ours");
        }
        let output = Command::new("mount").args(arguments).arg(place).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run mount: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        let mounted = || Self(place.to_owned());
        output.status.success().then(mounted).ok_or_else(|| format!("mount {arguments:?}: {said}"))
    }

    /// A filesystem in memory, with room for so much, as `mount` takes it: `64k`.
    ///
    /// # Panics
    /// If that fails: root may mount.
    pub fn memory(size: &str, place: &Path) -> Self {
        Self::new(&["-t", "tmpfs", "-o", &format!("size={size}"), "trimbench-test"], place)
    }

    /// What another has mounted at `place`.
    pub fn by_another(place: &Path) -> Self {
        Self(place.to_owned())
    }

    /// A file or directory at another place, too.
    ///
    /// # Panics
    /// If that fails: root may mount.
    pub fn bind(from: &Path, place: &Path) -> Self {
        Self::new(&["--bind", from.to_str().expect("temporary names are ASCII")], place)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// Unmounts all that is mounted there. What is still in use after some seconds is detached.
pub fn unmount(place: &Path) {
    for _ in 0..ATTEMPTS {
        if !is_mounted(place) {
            return;
        }
        if !quietly(Command::new("umount").arg(place)) {
            thread::sleep(PAUSE);
        }
    }
    if !quietly(Command::new("umount").arg("--lazy").arg(place)) {
        eprintln!("error: cannot unmount {}", place.display());
    }
}

/// Whether something is mounted there.
pub fn is_mounted(place: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    table.lines().any(|line| line.split(' ').nth(4).map(Path::new) == Some(place))
}

/// A device that is still in use goes with its last user; one that is gone already is no matter.
fn detach(node: &str) {
    quietly(Command::new("losetup").args(["--detach", node]));
}

#[cfg(test)]
mod tests;
