//! Targets with content of a known type: filesystems, volumes, partition tables.

use super::scene::{IMAGE_BYTES, Scene, make_ext4, partition, text, write_at};
use crate::run;
use crate::superblocks::{self, Superblock};

/// An image with this superblock; `types` is what must be confirmed.
fn signed_image(scene: &mut Scene, blocks: &Superblock, types: &'static [&'static str]) {
    let image = scene.image_target();
    write_at(&image, blocks);
    scene.lifted(move |scene| types.iter().for_each(|kind| scene.confirm(kind)));
}

/// The same on a loop device.
fn signed_device(scene: &mut Scene, blocks: &Superblock, types: &'static [&'static str]) {
    let (image, _) = scene.loop_target();
    write_at(&image, blocks);
    // The confirmation of another type is none.
    scene.confirm("ext4");
    scene.lifted(move |scene| types.iter().for_each(|kind| scene.confirm(kind)));
}

pub(super) fn signature_ext4(scene: &mut Scene) {
    let image = scene.image_target();
    make_ext4(&image);
    scene.lifted(|scene| scene.confirm("ext4"));
}

pub(super) fn signature_xfs(scene: &mut Scene) {
    signed_image(scene, &superblocks::xfs(), &["xfs"]);
}

pub(super) fn signature_btrfs(scene: &mut Scene) {
    signed_image(scene, &superblocks::btrfs(IMAGE_BYTES), &["btrfs"]);
}

pub(super) fn signature_luks(scene: &mut Scene) {
    signed_image(scene, &superblocks::luks(), &["crypto_LUKS"]);
}

pub(super) fn signature_lvm(scene: &mut Scene) {
    signed_device(scene, &superblocks::lvm(), &["LVM2_member"]);
}

pub(super) fn signature_md(scene: &mut Scene) {
    signed_device(scene, &superblocks::md(), &["linux_raid_member"]);
}

pub(super) fn signature_swap(scene: &mut Scene) {
    let image = scene.image_target();
    run("mkswap", &[text(&image)]);
    scene.lifted(|scene| scene.confirm("swap"));
}

pub(super) fn partition_table_dos(scene: &mut Scene) {
    signed_device(scene, &superblocks::dos(), &["dos"]);
}

pub(super) fn partition_table_gpt(scene: &mut Scene) {
    signed_device(scene, &superblocks::gpt(IMAGE_BYTES), &["gpt", "PMBR"]);
}

pub(super) fn signature_in_a_partition(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&part);
    scene.lifted(|scene| scene.confirm("ext4"));
}
