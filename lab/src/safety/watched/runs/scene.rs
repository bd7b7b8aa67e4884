//! The scene of an attempt: a folder on one of several filesystems, with objects that the run may
//! change and objects that it must not; and its removal.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tests::{LoopFilesystem, superblocks};
use xtask::process;

/// Size of images: beyond what `wipefs` takes for a floppy disk, and as small as methods take.
const IMAGE_BYTES: u64 = 16 << 20;
/// Size of the filesystems that scenes lie on; they take no room but what is written.
const LAYER_MEBIBYTES: u64 = 640;

/// Filesystems that scenes are made on, each for one worker, and what scenes are furnished with.
pub(super) struct Layers {
    // Before the folder of their images: that is the order of dropping.
    ext4: LoopFilesystem,
    xfs: LoopFilesystem,
    memory: TempDir,
}

/// What scenes lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Tmpfs,
    Ext4,
    Xfs,
}

/// A folder of one attempt. All is gone when dropped.
pub(super) struct Scene {
    /// Where the program runs and what is its own.
    pub work: PathBuf,
    /// What is not.
    pub foreign: PathBuf,
    undo: Vec<Command>,
    folder: TempDir,
}

impl Layers {
    pub(super) fn new() -> Result<Self> {
        let memory = tempfile::tempdir_in("/dev/shm").context("make a folder in memory")?;
        let [ext4, xfs] = ["ext4", "xfs"]
            .map(|kind| LoopFilesystem::within(memory.path(), kind, LAYER_MEBIBYTES, "noatime"));
        Ok(Self { ext4, xfs, memory })
    }

    fn path(&self, layer: Layer) -> &Path {
        match layer {
            Layer::Tmpfs => self.memory.path(),
            Layer::Ext4 => self.ext4.path(),
            Layer::Xfs => self.xfs.path(),
        }
    }
}

impl Scene {
    /// A folder whose own part is called `name`, beside a foreign file, directory and image.
    pub(super) fn new(layers: &Layers, layer: Layer, name: &[u8]) -> Result<Self> {
        let folder = tempfile::tempdir_in(layers.path(layer)).context("make a scene")?;
        let work = folder.path().join(OsStr::from_bytes(name));
        let foreign = folder.path().join("foreign");
        let scene = Self { work, foreign, undo: Vec::new(), folder };
        fs::create_dir(&scene.work).with_context(|| format!("make {}", scene.work.display()))?;
        fs::create_dir_all(scene.foreign.join("directory"))?;
        for name in ["notes", "directory/letter"] {
            fs::write(scene.foreign.join(name), "not yours\n")?;
        }
        let signed = scene.foreign.join("image");
        image(&signed)?;
        // Its type is none that a run is ever permitted to overwrite.
        put(&signed, &superblocks::luks())?;
        Ok(scene)
    }

    /// The folder of all of it.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Every object that is not the run's.
    pub(super) fn foreign_objects(&self) -> [PathBuf; 5] {
        ["", "notes", "image", "directory", "directory/letter"].map(|name| self.foreign.join(name))
    }

    /// A loop device over an image. Partitions of it go with the image, not only with `delpart`.
    pub(super) fn attach(&mut self, image: &Path) -> Result<PathBuf> {
        let mut losetup = Command::new("losetup");
        let node = process::output(losetup.args(["--find", "--show", "--partscan"]).arg(image))?;
        let node = PathBuf::from(node.trim());
        self.later(Command::new("losetup").arg("--detach").arg(&node));
        Ok(node)
    }

    /// The first partition of a device.
    pub(super) fn partition(&mut self, disk: &Path) -> Result<PathBuf> {
        let mut addpart = Command::new("addpart");
        process::output(addpart.arg(disk).args(["1", "2048", "28672"]))?;
        self.later(Command::new("delpart").arg(disk).arg("1"));
        Ok(PathBuf::from(format!("{}p1", disk.display())))
    }

    /// Shows one folder at another, which is made.
    pub(super) fn bind(&mut self, from: &Path, at: &Path) -> Result<()> {
        fs::create_dir_all(at)?;
        process::output(Command::new("mount").arg("--bind").arg("--").arg(from).arg(at))?;
        self.later(Command::new("umount").arg("--lazy").arg("--").arg(at));
        Ok(())
    }

    /// Makes a filesystem on a device and mounts it.
    pub(super) fn mount(&mut self, device: &Path, at: &Path) -> Result<()> {
        process::output(Command::new("mkfs.ext4").arg("-q").arg(device))?;
        fs::create_dir(at)?;
        process::output(Command::new("mount").arg(device).arg(at))?;
        self.later(Command::new("umount").arg(at));
        Ok(())
    }

    /// What takes back a step.
    fn later(&mut self, undo: &mut Command) {
        let mut kept = Command::new(undo.get_program());
        kept.args(undo.get_args());
        self.undo.push(kept);
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while let Some(mut undo) = self.undo.pop() {
            process::quietly(&mut undo);
        }
    }
}

/// An image that takes no room.
pub(super) fn image(path: &Path) -> Result<()> {
    image_of(path, IMAGE_BYTES)
}

/// The same of another size.
pub(super) fn image_of(path: &Path, bytes: u64) -> Result<()> {
    let file = File::create_new(path).with_context(|| format!("make {}", path.display()))?;
    file.set_len(bytes).context("sparse files take no room")
}

/// Writes the part of an ext4 superblock by which a prober recognises it into an image.
pub(super) fn sign(image: &Path) -> Result<()> {
    let mut superblock = vec![0; 1024];
    superblock[0x38..0x3a].copy_from_slice(&0xEF53_u16.to_le_bytes());
    // 32 inodes, 4,096 blocks of 1 KiB; revision 1, extents: that makes it an ext4.
    superblock[0..4].copy_from_slice(&32_u32.to_le_bytes());
    superblock[4..8].copy_from_slice(&4096_u32.to_le_bytes());
    superblock[0x4c..0x50].copy_from_slice(&1_u32.to_le_bytes());
    superblock[0x60..0x64].copy_from_slice(&0x40_u32.to_le_bytes());
    superblock[0x68..0x78].copy_from_slice(b"0123456789abcdef");
    put(image, &[(1024, superblock)])
}

fn put(image: &Path, superblock: &[(u64, Vec<u8>)]) -> Result<()> {
    let file = File::options().write(true).open(image)?;
    let mut parts = superblock.iter();
    parts.try_for_each(|(offset, bytes)| file.write_all_at(bytes, *offset)).context("sign an image")
}
