//! Targets in use: mounted, used as swap, open, attached, locked, in use under another name.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::scene::{Scene, fill, make_ext4, partition, quietly, root_device, text};
use crate::machine::APART_FROM_MOUNTS;
use crate::run;

/// Linux's, which the standard library does not name.
const O_EXCL: i32 = 0o200;

pub(super) fn root_disk(scene: &mut Scene) {
    // Never named, and never to be accepted: there is no `lift`.
    scene.target = root_device().expect("it was asked for");
}

pub(super) fn mounted(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    make_ext4(&device);
    scene.confirm("ext4");
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

pub(super) fn mounted_elsewhere(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    make_ext4(&device);
    scene.confirm("ext4");
    let point = scene.folder().join("mount");
    fs::create_dir(&point).expect("the folder is ours");
    let script = format!("mount -o ro \"$1\" {}", text(&point));
    let end = scene.shell(&APART_FROM_MOUNTS, &script, &device);
    scene.lifted(|_| end());
}

pub(super) fn disk_of_mounted_partition(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&part);
    scene.confirm("ext4");
    scene.mount(&["-o", "ro", text(&part)]);
    scene.lifted(Scene::unmount);
}

pub(super) fn partition_of_mounted_disk(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&device);
    scene.target = part;
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

pub(super) fn mounted_btrfs(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    // The smallest that mkfs.btrfs makes is larger than the other images.
    run("truncate", &["--size", "128M", text(&image)]);
    run("losetup", &["--set-capacity", text(&device)]);
    run("mkfs.btrfs", &["-q", "-f", "-K", text(&device)]);
    scene.confirm("btrfs");
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

/// The fewest pages that `mkswap` takes.
const SWAP_PAGES_MIN: usize = 10;

pub(super) fn swap(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    swap_on(scene, device);
}

pub(super) fn swap_file(scene: &mut Scene) {
    let image = scene.image_target();
    fs::set_permissions(&image, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("it is ours");
    swap_on(scene, image);
}

fn swap_on(scene: &mut Scene, path: PathBuf) {
    // The smallest area that there is, so that all but a few pages is still a witness: where the
    // machine has no other swap, the kernel does write here when memory gets short.
    let page_bytes = rustix::param::page_size();
    let area_bytes = SWAP_PAGES_MIN * page_bytes;
    run("mkswap", &[text(&path), &(area_bytes / 1024).to_string()]);
    // The first page is the header.
    scene.kernel_writes = page_bytes..area_bytes;
    scene.confirm("swap");
    run("swapon", &["--priority", "0", text(&path)]);
    let end = path.clone();
    scene.later(move || quietly("swapoff", &[text(&end)]));
    scene.lifted(move |_| {
        run("swapoff", &[text(&path)]);
    });
}

pub(super) fn loop_opened_exclusively(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let held = OpenOptions::new().read(true).custom_flags(O_EXCL).open(device);
    let held = held.expect("it is ours");
    scene.lifted(move |_| drop(held));
}

pub(super) fn loop_open_for_writing(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let end = scene.shell(&[], "exec 3<>\"$1\"", &device);
    scene.lifted(|_| end());
}

pub(super) fn image_attached(scene: &mut Scene) {
    let image = scene.image_target();
    let device = scene.attach(&image);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&device)]);
    });
}

pub(super) fn image_attached_twice(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    let second = scene.attach(&image);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&second)]);
    });
}

pub(super) fn loop_below_a_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let above = scene.attach(&device);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&above)]);
    });
}

pub(super) fn loop_over_a_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    scene.target = scene.attach(&device);
    scene.destroy.push(device);
}

pub(super) fn image_open_elsewhere(scene: &mut Scene) {
    let image = scene.image_target();
    let end = scene.shell(&[], "exec 3<\"$1\"", &image);
    scene.lifted(|_| end());
}

pub(super) fn image_open_unseen(scene: &mut Scene) {
    // A process does not suspect itself: here the kernel alone can tell.
    let image = scene.image_target();
    let held = File::open(image).expect("it is ours");
    scene.lifted(move |_| drop(held));
}

pub(super) fn image_locked(scene: &mut Scene) {
    let image = scene.image_target();
    let held = File::open(image).expect("it is ours");
    held.lock().expect("no one else knows it");
    scene.lifted(move |_| drop(held));
}

pub(super) fn image_with_two_names(scene: &mut Scene) {
    let image = scene.image_target();
    let second = scene.folder().join("backup");
    fs::hard_link(image, &second).expect("the folder is ours");
    scene.lifted(move |_| fs::remove_file(second).expect("it is ours"));
}

pub(super) fn image_on_overlayfs(scene: &mut Scene) {
    let folder = scene.folder();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| folder.join(name));
    for layer in [&lower, &upper, &work] {
        fs::create_dir(layer).expect("the folder is ours");
    }
    let layers = [("lowerdir", &lower), ("upperdir", &upper), ("workdir", &work)];
    let options = layers.map(|(name, layer)| format!("{name}={}", text(layer))).join(",");
    let point = scene.mount(&["-t", "overlay", "-o", &options, "trimbench-test"]);
    let image = point.join("image");
    fill(&image);
    scene.witnesses.push(image.clone());
    scene.target.clone_from(&image);
    scene.destroy = vec![image];
    scene.lifted(|scene| scene.sole_user = true);
}
