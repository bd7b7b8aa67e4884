//! Loop devices over images of our own, and small filesystems in memory, gone again whatever
//! happens.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::evidence::{Capture, Context};
use crate::process;

/// How often taking something down is tried: what ended a moment ago may hold it a while longer.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// A loop device over a sparse image. Dropping it detaches the device and deletes the image.
#[derive(Debug)]
pub(in crate::evidence) struct LoopImage {
    node: String,
    image: PathBuf,
    _folder: TempDir,
}

/// A filesystem in memory of a fixed size. Dropping it unmounts it.
#[derive(Debug)]
pub(super) struct Memory {
    point: PathBuf,
    _folder: TempDir,
}

impl LoopImage {
    /// A device over a new image of so many bytes in a folder of its own below `parent`; needs
    /// root. Command lines show the folder as `$NAME`.
    pub(in crate::evidence) fn make(
        context: &Context<'_>,
        name: &str,
        (parent, bytes): (&Path, u64),
    ) -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
        let folder = tempfile::Builder::new().prefix("trimbench-loop-").tempdir_in(parent);
        let folder = folder.with_context(|| format!("make a folder in {}", parent.display()))?;
        // As `--destroy` wants it: without symbolic links.
        let path = folder.path().canonicalize().context("find the folder of an image")?;
        context.alias(&path, &format!("${}", name.to_uppercase()));
        let image = path.join("image");
        let file = File::create(&image).context("create an image")?;
        file.set_len(bytes).context("size an image")?;
        let mut attach = Command::new("losetup");
        attach.args(["--find", "--show"]).arg(&image);
        let node = process::output(&mut attach)?.trim().to_owned();
        Ok(Self { node, image, _folder: folder })
    }

    /// `/dev/loop0`.
    pub(in crate::evidence) fn node(&self) -> &str {
        &self.node
    }

    /// The backing file: the name by which it may be destroyed.
    pub(in crate::evidence) fn image(&self) -> &Path {
        &self.image
    }

    /// Keeps what the image takes on its filesystem: `stat` prints blocks of 512 bytes, and the
    /// size in bytes.
    pub(super) fn keep_allocation(&self, context: &Context<'_>, name: &str) -> Result<Capture> {
        // What the loop device was told to free is freed once the filesystem's log says so.
        let mut sync = Command::new("sync");
        ensure!(process::quietly(sync.arg("--file-system").arg(&self.image)), "cannot sync");
        let mut stat = Command::new("stat");
        context.capture_well(name, stat.args(["--format", "%b %s"]).arg(&self.image))
    }
}

impl Drop for LoopImage {
    fn drop(&mut self) {
        if !persistently("losetup", &[OsStr::new("--detach"), OsStr::new(&self.node)]) {
            eprintln!("error: cannot detach {}", self.node);
        }
    }
}

impl Memory {
    /// A new filesystem with room for so much, as `mount` takes it: `64k`.
    pub(super) fn mount(context: &Context<'_>, name: &str, size: &str) -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "mounting needs root");
        let folder = tempfile::Builder::new().prefix("trimbench-memory-").tempdir_in("/var/tmp");
        let folder = folder.context("make a folder in /var/tmp")?;
        let point = folder.path().canonicalize().context("find a mount point")?;
        context.alias(&point, &format!("${}", name.to_uppercase()));
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "trimbench-evidence"]);
        process::output(mount.arg(&point))?;
        Ok(Self { point, _folder: folder })
    }

    /// Where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.point
    }

    /// Gives it another size.
    pub(super) fn resize(&self, size: &str) -> Result<()> {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={size}")]).arg(&self.point);
        process::output(&mut mount).map(|_| ())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if !persistently("umount", &[self.point.as_os_str()]) {
            eprintln!("error: cannot unmount {}", self.point.display());
        }
    }
}

/// Runs a program until it ends well, some seconds at most; whether it did.
pub(super) fn persistently(program: &str, arguments: &[&OsStr]) -> bool {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        if process::quietly(Command::new(program).args(arguments)) {
            return true;
        }
    }
    false
}
