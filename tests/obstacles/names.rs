//! Targets that were not named, or whose name may change its meaning.

use super::scene::{Scene, relink};

pub(super) fn not_named(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    scene.destroy.clear();
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

pub(super) fn loop_named_by_number(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    scene.destroy = vec![device];
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

pub(super) fn named_by_plain_path(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("plain");
    scene.target.clone_from(&device);
    scene.destroy = vec![device];
    scene.lifted(move |scene| scene.destroy = vec![link]);
}

pub(super) fn named_by_a_link(scene: &mut Scene) {
    let image = scene.image_target();
    let link = scene.folder().join("link");
    relink(&image, &link);
    scene.destroy = vec![link];
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

pub(super) fn another_id(scene: &mut Scene) {
    let (_, link) = scene.ram_disk("meant");
    let (device, right) = scene.ram_disk("taken");
    scene.target = device;
    scene.destroy = vec![link];
    scene.lifted(move |scene| scene.destroy.push(right));
}

pub(super) fn another_image(scene: &mut Scene) {
    let image = scene.image_target();
    scene.destroy = vec![scene.image("other")];
    scene.lifted(move |scene| scene.destroy.push(image));
}

pub(super) fn unknown_id(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("known");
    scene.target = device;
    scene.destroy = vec![scene.by_id("unknown")];
    scene.lifted(move |scene| scene.destroy = vec![link]);
}
