//! The scene of an attempt: images and devices of its own, and their removal.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::loops::attach;
use crate::run;
use crate::superblocks::Superblock;

/// The size of every image: beyond the 1440 KiB below which `wipefs` takes it for a floppy disk.
pub const IMAGE_BYTES: u64 = 8 << 20;
/// Where names with serial numbers are.
const BY_ID: &str = "/dev/disk/by-id";

/// A prepared attempt.
#[derive(Default)]
pub struct Scene {
    /// What `--target` says.
    pub target: PathBuf,
    /// What `--destroy` says.
    pub destroy: Vec<PathBuf>,
    /// What `--overwrite-signature` says.
    pub signatures: Vec<String>,
    /// Whether `--sole-user` is given.
    pub sole_user: bool,
    /// Files and devices whose content must remain.
    pub witnesses: Vec<PathBuf>,
    /// Bytes of every witness that the kernel itself may write: the pages of an active swap area.
    pub(super) kernel_writes: Range<usize>,
    /// What happens between looking and claiming.
    pub meanwhile: Option<SceneStep>,
    /// Takes the obstacle away, and changes the arguments where that is what it takes. `None` where
    /// there is nothing that could be destroyed rightly.
    pub lift: Option<SceneStep>,
    folder: Option<TempDir>,
    cleanup: Vec<Box<dyn FnOnce()>>,
}

/// A change of a scene.
pub type SceneStep = Box<dyn FnOnce(&mut Scene)>;

impl std::fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scene")
            .field("target", &self.target)
            .field("destroy", &self.destroy)
            .field("signatures", &self.signatures)
            .field("witnesses", &self.witnesses)
            .finish_non_exhaustive()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while let Some(step) = self.cleanup.pop() {
            step();
        }
    }
}

impl Scene {
    /// A checksum over the whole content of each witness (FNV-1a, 64 bits), but for what the
    /// kernel may write.
    ///
    /// # Panics
    /// If one cannot be read.
    pub fn checksums(&self) -> Vec<u64> {
        let content = |path: &PathBuf| {
            let mut content =
                fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            content[self.kernel_writes.clone()].fill(0);
            checksum(&content)
        };
        self.witnesses.iter().map(content).collect()
    }

    /// Runs what is to happen between looking and claiming.
    pub fn pass_time(&mut self) {
        if let Some(step) = self.meanwhile.take() {
            step(self);
        }
    }

    /// Takes the obstacle away; `false` if there is no way.
    pub fn lift(&mut self) -> bool {
        self.lift.take().is_some_and(|step| {
            step(self);
            true
        })
    }

    /// The scene's own folder, below `/var/tmp`.
    pub fn folder(&mut self) -> PathBuf {
        let new = || tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let folder = self.folder.get_or_insert_with(new).path();
        fs::canonicalize(folder).expect("it exists")
    }

    /// An image full of text, which is a witness.
    pub fn image(&mut self, name: &str) -> PathBuf {
        let path = self.folder().join(name);
        fill(&path);
        self.witnesses.push(path.clone());
        path
    }

    /// Attaches an image to a free loop device.
    pub fn attach(&mut self, image: &Path) -> PathBuf {
        let device = attach(text(image));
        let (detached, folder) = (device.clone(), self.folder());
        let image = image.to_owned();
        self.later(move || {
            // Numbers are reused: what is attached by now may be someone else's.
            let name = detached.trim_start_matches("/dev/");
            let backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
            let backing = PathBuf::from(backing.unwrap_or_default().trim());
            if backing.starts_with(&folder) || backing == image {
                quietly("losetup", &["--detach", &detached]);
            }
        });
        PathBuf::from(device)
    }

    /// An image on a loop device: the target, rightly named.
    pub fn loop_target(&mut self) -> (PathBuf, PathBuf) {
        let image = self.image("image");
        let device = self.attach(&image);
        self.target.clone_from(&device);
        self.destroy = vec![image.clone()];
        (image, device)
    }

    /// An image: the target, rightly named.
    pub fn image_target(&mut self) -> PathBuf {
        let image = self.image("image");
        self.target.clone_from(&image);
        self.destroy = vec![image.clone()];
        image
    }

    /// A disk in memory, full of text, with a by-id link of this name.
    pub fn ram_disk(&mut self, name: &str) -> (PathBuf, PathBuf) {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").expect("zram is there");
        let number = number.trim().to_owned();
        let removed = number.clone();
        self.later(move || {
            let _ = fs::write(format!("/sys/block/zram{removed}/reset"), "1");
            let _ = fs::write("/sys/class/zram-control/hot_remove", &removed);
        });
        let size = IMAGE_BYTES.to_string();
        fs::write(format!("/sys/block/zram{number}/disksize"), size).expect("it is new");
        let device = PathBuf::from(format!("/dev/zram{number}"));
        fill(&device);
        self.witnesses.push(device.clone());
        let link = self.by_id(name);
        relink(&device, &link);
        (device, link)
    }

    /// Sets the device's flag until the scene ends: it would outlive what is attached to a loop.
    pub fn set_read_only(&mut self, device: &Path) {
        run("blockdev", &["--setro", text(device)]);
        let device = device.to_owned();
        self.later(move || quietly("blockdev", &["--setrw", text(&device)]));
    }

    /// A place for a link among the names with serial numbers, taken away in the end.
    pub(super) fn by_id(&mut self, name: &str) -> PathBuf {
        fs::create_dir_all(BY_ID).expect("/dev is writable");
        let process = std::process::id();
        let link = Path::new(BY_ID).join(format!("trimbench-test-{process}-{name}"));
        let removed = link.clone();
        self.later(move || {
            let _ = fs::remove_file(&removed);
            // Only if nothing else is there, as on machines without udev.
            let _ = fs::remove_dir(BY_ID).and_then(|()| fs::remove_dir("/dev/disk"));
        });
        link
    }

    /// Mounts, until the scene ends or [`unmount`](Self::unmount) is called.
    pub(super) fn mount(&mut self, arguments: &[&str]) -> PathBuf {
        let point = self.folder().join("mount");
        fs::create_dir_all(&point).expect("the folder is ours");
        run("mount", &[arguments, &[text(&point)]].concat());
        let unmounted = point.clone();
        self.later(move || quietly("umount", &["--quiet", text(&unmounted)]));
        point
    }

    pub(super) fn unmount(&mut self) {
        let point = self.folder().join("mount");
        run("umount", &[text(&point)]);
    }

    /// Starts a shell that runs `script`, says `ready` and waits. Returns what ends it.
    pub(super) fn shell(
        &mut self,
        prefix: &[&str],
        script: &str,
        argument: &Path,
    ) -> impl FnOnce() + use<> {
        let script = format!("{script}; echo ready; read _ || true");
        let words = [prefix, &["sh", "-ec", &script, "sh", text(argument)]].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let output = child.stdout.as_mut().expect("it is piped");
        let mut ready = [0; 6];
        std::io::Read::read_exact(output, &mut ready).expect("the script works");
        // Shared, so that a scene that is dropped early ends it as well.
        let child = std::rc::Rc::new(std::cell::RefCell::new(child));
        let end = move || {
            let mut child = child.borrow_mut();
            drop(child.stdin.take());
            let _ = child.wait();
        };
        self.later(end.clone());
        end
    }

    /// Does this when the scene ends; what comes last is done first.
    pub fn later(&mut self, step: impl FnOnce() + 'static) {
        self.cleanup.push(Box::new(step));
    }

    pub(super) fn lifted(&mut self, step: impl FnOnce(&mut Self) + 'static) {
        self.lift = Some(Box::new(step));
    }

    pub(super) fn confirm(&mut self, kind: &str) {
        self.signatures.push(kind.to_owned());
    }
}

/// The device that holds the root directory; `None` if there is none, or none in `/dev`.
pub fn root_device() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/"))?;
    let source = Path::new(line.split(' ').next()?);
    let is_device = fs::metadata(source).ok()?.file_type().is_block_device();
    is_device.then(|| source.to_owned())
}

/// FNV-1a over all bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Numbered lines of text: nothing that a signature could be mistaken for, and no two blocks alike.
pub(super) fn fill(path: &Path) {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(false).open(path).expect("it is ours");
    let line = |number: u64| format!("precious line {number:17}\n");
    let lines = IMAGE_BYTES / 32;
    let content: String = (0..lines).map(line).collect();
    assert_eq!(content.len() as u64, IMAGE_BYTES, "lines of 32 bytes");
    file.write_all(content.as_bytes()).expect("there is room");
    file.sync_all().expect("it is a file or disk");
}

pub(super) fn write_at(path: &Path, blocks: &Superblock) {
    let file = OpenOptions::new().write(true).open(path).expect("it is ours");
    for (offset, bytes) in blocks {
        file.write_all_at(bytes, *offset).expect("within the image");
    }
    file.sync_all().expect("it is a file");
}

pub(super) fn make_ext4(path: &Path) {
    // No discards: what is not the filesystem's own keeps its text.
    run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", text(path)]);
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary names are ASCII")
}

pub(super) fn quietly(program: &str, arguments: &[&str]) {
    let _ = Command::new(program).args(arguments).output();
}

pub(super) fn relink(target: &Path, link: &Path) {
    let _ = fs::remove_file(link);
    std::os::unix::fs::symlink(target, link).expect("the folder is ours");
}

/// Gives a loop device a partition from 1 MiB on, which the kernel takes from us and not from a
/// table: not every kernel reads tables.
pub(super) fn partition(scene: &mut Scene, device: &Path, number: u32) -> PathBuf {
    run("losetup", &["--detach", text(device)]);
    let image = scene.destroy[0].clone();
    run("losetup", &["--partscan", text(device), text(&image)]);
    let number = number.to_string();
    run("addpart", &[text(device), &number, "2048", "4096"]);
    let part = PathBuf::from(format!("{}p{number}", text(device)));
    let removed = device.to_owned();
    scene.later(move || quietly("delpart", &[text(&removed), &number]));
    part
}
