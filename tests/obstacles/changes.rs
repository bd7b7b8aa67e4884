//! Targets that change between inspection and claim.

use std::fs;

use super::scene::{Scene, relink, text};
use crate::run;

pub(super) fn link_swapped(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let other = scene.image("other");
    let other = scene.attach(&other);
    let link = scene.folder().join("link");
    relink(&device, &link);
    scene.target.clone_from(&link);
    let swapped = link.clone();
    scene.meanwhile = Some(Box::new(move |_| relink(&other, &swapped)));
    scene.lifted(move |_| relink(&device, &link));
}

pub(super) fn id_swapped(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("swapped");
    let (other, _) = scene.ram_disk("other");
    scene.target.clone_from(&link);
    scene.destroy = vec![link.clone()];
    let swapped = link.clone();
    scene.meanwhile = Some(Box::new(move |_| relink(&other, &swapped)));
    scene.lifted(move |_| relink(&device, &link));
}

pub(super) fn loop_swapped(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    let other = scene.image("other");
    let again = device.clone();
    scene.meanwhile = Some(Box::new(move |_| {
        run("losetup", &["--detach", text(&device)]);
        run("losetup", &[text(&device), text(&other)]);
    }));
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&again)]);
        run("losetup", &[text(&again), text(&image)]);
    });
}

pub(super) fn loop_attached_again(scene: &mut Scene) {
    // The same number and the same file: only the disk sequence tells that it was away.
    let (image, device) = scene.loop_target();
    scene.meanwhile = Some(Box::new(move |_| {
        run("losetup", &["--detach", text(&device)]);
        run("losetup", &[text(&device), text(&image)]);
    }));
    // Who looks again sees what is there now.
    scene.lifted(|_| ());
}

pub(super) fn backing_file_replaced(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    let other = scene.image("other");
    let aside = scene.folder().join("aside");
    let back = (aside.clone(), image.clone());
    scene.meanwhile = Some(Box::new(move |scene| {
        fs::rename(&image, &aside).expect("the folder is ours");
        fs::rename(&other, &image).expect("the folder is ours");
        scene.witnesses = vec![aside, image];
    }));
    scene.lifted(move |scene| {
        fs::rename(&back.0, &back.1).expect("the folder is ours");
        scene.witnesses = vec![back.1];
    });
}

pub(super) fn image_replaced(scene: &mut Scene) {
    let image = scene.image_target();
    let other = scene.image("other");
    let aside = scene.folder().join("aside");
    scene.meanwhile = Some(Box::new(move |scene| {
        fs::rename(&image, &aside).expect("the folder is ours");
        fs::rename(&other, &image).expect("the folder is ours");
        scene.witnesses = vec![aside, image];
    }));
    // Who looks again sees the other, and named it.
    scene.lifted(|_| ());
}
