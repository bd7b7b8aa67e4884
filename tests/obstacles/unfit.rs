//! Targets that cannot be overwritten: missing, neither block device nor file, empty, read-only.

use std::fs::File;
use std::path::PathBuf;

use super::scene::{Scene, fill, quietly, text};
use crate::run;

pub(super) fn nothing_there(scene: &mut Scene) {
    let path = scene.folder().join("absent");
    scene.target.clone_from(&path);
    scene.destroy = vec![path.clone()];
    scene.lifted(move |scene| {
        fill(&path);
        scene.witnesses.push(path);
    });
}

pub(super) fn directory(scene: &mut Scene) {
    scene.image("bystander");
    scene.target = scene.folder();
    scene.destroy = vec![scene.target.clone()];
}

pub(super) fn character_device(scene: &mut Scene) {
    scene.target = PathBuf::from("/dev/null");
    scene.destroy = vec![scene.target.clone()];
}

pub(super) fn pipe(scene: &mut Scene) {
    let path = scene.folder().join("pipe");
    run("mkfifo", &[text(&path)]);
    scene.target.clone_from(&path);
    scene.destroy = vec![path];
}

pub(super) fn made_up_file(scene: &mut Scene) {
    scene.target = PathBuf::from("/proc/version");
    scene.destroy = vec![scene.target.clone()];
    scene.witnesses = scene.destroy.clone();
}

pub(super) fn empty_file(scene: &mut Scene) {
    let image = scene.image_target();
    File::create(&image).expect("it is ours");
    scene.lifted(move |_| fill(&image));
}

pub(super) fn detached_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    run("losetup", &["--detach", text(&device)]);
}

pub(super) fn read_only_device(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    scene.set_read_only(&device);
    scene.lifted(move |_| {
        run("blockdev", &["--setrw", text(&device)]);
    });
}

pub(super) fn read_only_file(scene: &mut Scene) {
    let image = scene.image_target();
    run("chmod", &["0444", text(&image)]);
    scene.lifted(move |_| {
        run("chmod", &["0600", text(&image)]);
    });
}

pub(super) fn read_only_mount(scene: &mut Scene) {
    let point = scene.mount(&["-t", "tmpfs", "trimbench-test"]);
    let image = point.join("image");
    fill(&image);
    scene.witnesses.push(image.clone());
    scene.target.clone_from(&image);
    scene.destroy = vec![image];
    run("mount", &["-o", "remount,ro", text(&point)]);
    scene.lifted(move |_| {
        run("mount", &["-o", "remount,rw", text(&point)]);
    });
}

pub(super) fn immutable_file(scene: &mut Scene) {
    let image = scene.image_target();
    run("chattr", &["+i", text(&image)]);
    let freed = image.clone();
    scene.later(move || quietly("chattr", &["-i", text(&freed)]));
    scene.lifted(move |_| {
        run("chattr", &["-i", text(&image)]);
    });
}
