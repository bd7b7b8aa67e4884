//! One file with two inodes: overlayfs and FUSE.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use tests::Need::{self, Filesystem, Fuse, Loop, Root};
use tests::fuse_image::FuseImage;
use tests::{LoopDevice, run};

use super::{complaint, folder, overwrite, refused, text};

const OVERLAY: [Need; 2] = [Root, Filesystem("overlay")];
const OVERLAY_LOOP: [Need; 3] = [Root, Filesystem("overlay"), Loop];

/// An image in one layer of an overlay, and the path at which the overlay shows it.
struct Overlay {
    below: PathBuf,
    merged: PathBuf,
    folder: TempDir,
}

impl Overlay {
    fn new(layer: &str) -> Self {
        let (folder, path) = folder();
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
fn is_refused(target: &Path, image: &Path) {
    let output = overwrite(target, image);
    let content = fs::read(image).expect("it can be read");
    assert!(content.iter().all(|byte| *byte == 0), "overwritten: {}", complaint(&output));
    refused(&output, "--sole-user");
}

#[test]
fn an_image_on_overlayfs_is_refused_in_whichever_layer_it_is() {
    machine!(beside, &OVERLAY);
    for layer in ["upper", "lower"] {
        let overlay = Overlay::new(layer);
        is_refused(&overlay.merged, &overlay.merged);
    }
}

#[test]
fn a_loop_device_over_a_file_on_overlayfs_is_refused() {
    machine!(beside, &OVERLAY_LOOP);
    let overlay = Overlay::new("upper");
    let device = LoopDevice::on(&overlay.merged);
    is_refused(Path::new(device.node()), &overlay.merged);
}

#[test]
fn an_image_that_is_locked_below_overlayfs_is_refused() {
    machine!(beside, &OVERLAY);
    let overlay = Overlay::new("upper");
    let first_run = File::options().read(true).write(true).open(&overlay.below);
    let first_run = first_run.expect("it is ours");
    first_run.lock().expect("nobody else knows it");
    is_refused(&overlay.merged, &overlay.merged);
}

#[test]
fn an_image_that_a_loop_device_shows_below_overlayfs_is_refused() {
    machine!(beside, &OVERLAY_LOOP);
    let overlay = Overlay::new("upper");
    let _device = LoopDevice::on(&overlay.below);
    is_refused(&overlay.merged, &overlay.merged);
}

#[test]
fn an_image_on_fuse_is_refused() {
    machine!(beside, &[Root, Fuse]);
    let image = FuseImage::new(16);
    is_refused(image.path(), image.path());
}

#[test]
fn a_loop_device_over_a_file_on_fuse_is_refused() {
    machine!(beside, &[Root, Fuse, Loop]);
    let image = FuseImage::new(16);
    let device = LoopDevice::on(image.path());
    is_refused(Path::new(device.node()), image.path());
}
