//! Filesystems of our own on loop devices, gone again whatever happens.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::evidence::Context;
use crate::process;

/// Size of an image: sparse, so that it takes no more than what is written.
const IMAGE_BYTES: u64 = 2 << 30;
/// How often unmounting is tried: what ended a moment ago may hold the filesystem a while longer.
const UNMOUNT_ATTEMPTS: u32 = 20;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(250);

/// A mounted filesystem. Dropping it unmounts it, detaches its device and deletes its image.
#[derive(Debug)]
pub(super) struct LoopFilesystem {
    mount_point: PathBuf,
    device: Option<String>,
    mounted: bool,
    _folder: TempDir,
}

impl LoopFilesystem {
    /// Makes a filesystem of this type and mounts it with `options`; needs root. The programs that
    /// do it are captured under names that begin with `name`.
    pub(super) fn make(
        context: &Context<'_>,
        name: &str,
        (filesystem, options): (&str, &str),
    ) -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "loop devices need root");
        let folder = tempfile::Builder::new().prefix("trimbench-loop-").tempdir_in("/var/tmp");
        let folder = folder.context("make a folder in /var/tmp")?;
        context.alias(folder.path(), &format!("${}", name.to_uppercase()));
        let image = folder.path().join("image");
        let file = File::create(&image).context("create an image")?;
        file.set_len(IMAGE_BYTES).context("size an image")?;
        let mount_point = folder.path().join("mount");
        std::fs::create_dir(&mount_point).context("make a mount point")?;
        // From here on `drop` cleans up, whatever fails below.
        let mut new = Self { mount_point, device: None, mounted: false, _folder: folder };
        let mut attach = Command::new("losetup");
        attach.args(["--find", "--show"]).arg(&image);
        let attached = context.capture_well(&format!("{name}-losetup"), &mut attach)?;
        let printed = std::fs::read_to_string(context.folder().join(&attached.output));
        let device = new.device.insert(printed.context("read a device's name")?.trim().to_owned());
        let mut make = Command::new(format!("mkfs.{filesystem}"));
        make.args(match filesystem {
            // No lazy initialisation: it would write during the run.
            "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"][..],
            _ => &["-q", "-f"],
        });
        context.capture_well(&format!("{name}-mkfs"), make.arg(&device))?;
        let mut mount = Command::new("mount");
        mount.args(["-o", options]).arg(&device).arg(&new.mount_point);
        context.capture_well(&format!("{name}-mount"), &mut mount)?;
        new.mounted = true;
        Ok(new)
    }

    /// Where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.mount_point
    }
}

impl Drop for LoopFilesystem {
    fn drop(&mut self) {
        for attempt in 0..UNMOUNT_ATTEMPTS {
            if !self.mounted {
                break;
            }
            if attempt > 0 {
                thread::sleep(UNMOUNT_PAUSE);
            }
            self.mounted = !process::quietly(Command::new("umount").arg(&self.mount_point));
        }
        if self.mounted {
            eprintln!("error: cannot unmount {}", self.mount_point.display());
        }
        if let Some(device) = &self.device
            && !process::quietly(Command::new("losetup").args(["--detach", device]))
        {
            eprintln!("error: cannot detach {device}");
        }
    }
}

#[cfg(test)]
mod tests;
