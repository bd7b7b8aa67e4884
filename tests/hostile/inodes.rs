//! One file with two inodes: overlayfs and FUSE.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Attack, Tool, attack, complaint, overwrite, refused, text, unless};
use crate::Need::{self, Filesystem, Fuse, Loop, Root};
use crate::slow_disk::SlowImage;
use crate::{LoopDevice, run, scratch};

const OVERLAY: [Need; 2] = [Root, Filesystem("overlay")];
const OVERLAY_LOOP: [Need; 3] = [Root, Filesystem("overlay"), Loop];

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("an_image_on_overlayfs_is_overwritten", &OVERLAY, |tool| {
        let overlay = Overlay::new("upper");
        is_kept(tool, &overlay.merged, &overlay.merged)
    }),
    attack("an_image_of_a_lower_layer_is_overwritten_in_its_copy", &OVERLAY, |tool| {
        let overlay = Overlay::new("lower");
        is_kept(tool, &overlay.merged, &overlay.merged)
    }),
    attack("a_loop_device_over_a_file_on_overlayfs_is_overwritten", &OVERLAY_LOOP, |tool| {
        let overlay = Overlay::new("upper");
        let device = LoopDevice::on(&overlay.merged);
        is_kept(tool, Path::new(device.node()), &overlay.merged)
    }),
    attack("an_image_that_is_locked_below_overlayfs_is_overwritten", &OVERLAY, |tool| {
        let overlay = Overlay::new("upper");
        let first_run = File::options().read(true).write(true).open(&overlay.below);
        let first_run = first_run.expect("it is ours");
        first_run.lock().expect("nobody else knows it");
        is_kept(tool, &overlay.merged, &overlay.merged)
    }),
    attack("an_image_that_a_loop_device_shows_below_overlayfs_is_overwritten", &OVERLAY_LOOP, {
        |tool| {
            let overlay = Overlay::new("upper");
            let _device = LoopDevice::on(&overlay.below);
            is_kept(tool, &overlay.merged, &overlay.merged)
        }
    }),
    attack("an_image_on_fuse_is_overwritten", &[Root, Fuse], |tool| {
        let image = SlowImage::new(16);
        is_kept(tool, image.path(), image.path())
    }),
    attack("a_loop_device_over_a_file_on_fuse_is_overwritten", &[Root, Fuse, Loop], |tool| {
        let image = SlowImage::new(16);
        let device = LoopDevice::on(image.path());
        is_kept(tool, Path::new(device.node()), image.path())
    }),
];

/// An image in one layer of an overlay, and the path at which the overlay shows it.
struct Overlay {
    below: PathBuf,
    merged: PathBuf,
    folder: TempDir,
}

impl Overlay {
    fn new(layer: &str) -> Self {
        let folder = scratch();
        let path = fs::canonicalize(folder.path()).expect("it is there");
        let [lower, upper, work, merged] =
            ["lower", "upper", "work", "merged"].map(|name| path.join(name));
        for directory in [&lower, &upper, &work, &merged] {
            fs::create_dir(directory).expect("the folder is ours");
        }
        let below = path.join(layer).join("image");
        let file = File::create_new(&below).expect("the folder is ours");
        file.set_len(16 << 20).expect("a sparse file");
        let layers = [("lowerdir", &lower), ("upperdir", &upper), ("workdir", &work)];
        let options = layers.map(|(name, layer)| format!("{name}={}", text(layer))).join(",");
        run("mount", &["-t", "overlay", "-o", &options, "trimbench-test", text(&merged)]);
        Self { below, merged: merged.join("image"), folder }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // Silent: the folder is removed in any case, and it is in memory.
        let merged = self.folder.path().join("merged");
        let _ = std::process::Command::new("umount").arg("--lazy").arg(merged).output();
    }
}

/// Nothing is written through this name, because its other users cannot be detected.
fn is_kept(tool: &Tool, target: &Path, image: &Path) -> Result<(), String> {
    let output = overwrite(tool, target, image);
    let content = fs::read(image).expect("it can be read");
    unless(content.iter().all(|byte| *byte == 0), || {
        format!("overwritten: {}", complaint(&output))
    })?;
    refused(&output, "--sole-user")
}
