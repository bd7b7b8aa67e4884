//! Attempts to destroy a target that was not meant. Each sets up an obstacle on images and devices
//! of its own, and names the expected refusal.
//!
//! [`ATTEMPTS`] is the table. It knows nothing of how the attempt is made, so that the library and
//! the command line can be held against the same rows. What an attempt makes is taken down again
//! when its [`Scene`] is dropped.
//!
//! What sets the scenes is sorted by what stands in the way.

mod changes;
mod in_use;
mod names;
mod scene;
mod signatures;
mod unfit;

use crate::Need::{self, Filesystem, Loop, Program, RamDisk, Root, RootDevice};

use changes::{
    backing_file_replaced, id_swapped, image_replaced, link_swapped, loop_attached_again,
    loop_swapped,
};
use in_use::{
    disk_of_mounted_partition, image_attached, image_attached_twice, image_locked,
    image_on_overlayfs, image_open_elsewhere, image_open_unseen, image_with_two_names,
    loop_below_a_loop, loop_open_for_writing, loop_opened_exclusively, loop_over_a_loop, mounted,
    mounted_btrfs, mounted_elsewhere, partition_of_mounted_disk, root_disk, swap, swap_file,
};
use names::{
    another_id, another_image, loop_named_by_number, named_by_a_link, named_by_plain_path,
    not_named, unknown_id,
};
use signatures::{
    partition_table_dos, partition_table_gpt, signature_btrfs, signature_ext4,
    signature_in_a_partition, signature_luks, signature_lvm, signature_md, signature_swap,
    signature_xfs,
};
use unfit::{
    character_device, detached_loop, directory, empty_file, immutable_file, made_up_file,
    nothing_there, pipe, read_only_device, read_only_file, read_only_mount,
};

pub use scene::{IMAGE_BYTES, Scene, SceneStep, root_device};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Its name, and that of the function that sets it up.
    pub name: &'static str,
    /// What the machine must have.
    pub needs: &'static [Need],
    /// Names of the refusals that are right (`ClaimError::id`). More than one where a process sees
    /// more of another than of itself.
    pub refusals: &'static [&'static str],
    /// Makes the scene.
    pub set_up: fn(&mut Scene),
}

/// All attempts.
pub const ATTEMPTS: &[Attempt] = &[
    row("not_named", &[Root, Loop], &["not-named"], not_named),
    row("nothing_there", &[], &["missing"], nothing_there),
    row("directory", &[], &["wrong-type"], directory),
    row("character_device", &[], &["wrong-type"], character_device),
    row("pipe", &[], &["wrong-type"], pipe),
    row("made_up_file", &[], &["not-stored"], made_up_file),
    row("empty_file", &[], &["empty"], empty_file),
    row("detached_loop", &[Root, Loop], &["empty"], detached_loop),
    row("root_disk", &[RootDevice], &["mounted"], root_disk),
    row("mounted", &[Root, Loop, EXT4], &["mounted"], mounted),
    row("mounted_elsewhere", &[Root, Loop, EXT4], &["mounted"], mounted_elsewhere),
    row("disk_of_mounted_partition", &PARTITIONS, &["mounted"], disk_of_mounted_partition),
    row("partition_of_mounted_disk", &PARTITIONS, &["mounted"], partition_of_mounted_disk),
    row("mounted_btrfs", &[Root, Loop, BTRFS, Filesystem("btrfs")], &["mounted"], mounted_btrfs),
    row("swap", &[Root, Loop, Program("swapon")], &["swap"], swap),
    row("swap_file", &[Root, Program("swapon")], &["swap"], swap_file),
    row("loop_opened_exclusively", &[Root, Loop], &["busy"], loop_opened_exclusively),
    row("loop_open_for_writing", &[Root, Loop], &["open"], loop_open_for_writing),
    row("image_attached", &[Root, Loop], &["attached"], image_attached),
    row("image_attached_twice", &[Root, Loop], &["attached"], image_attached_twice),
    row("loop_below_a_loop", &[Root, Loop], &["attached"], loop_below_a_loop),
    row("loop_over_a_loop", &[Root, Loop], &["loop-over-device"], loop_over_a_loop),
    row("image_open_elsewhere", &[], &["open"], image_open_elsewhere),
    row("image_open_unseen", &[], &["in-use", "open"], image_open_unseen),
    row("image_locked", &[], &["locked", "open"], image_locked),
    row("image_with_two_names", &[], &["hard-linked"], image_with_two_names),
    row("image_on_overlayfs", &[Root, Filesystem("overlay")], &["indirect"], image_on_overlayfs),
    row("read_only_device", &[Root, Loop], &["read-only"], read_only_device),
    row("read_only_file", &[], &["read-only"], read_only_file),
    row("read_only_mount", &[Root], &["read-only"], read_only_mount),
    row("immutable_file", &[Root, Program("chattr")], &["denied"], immutable_file),
    row("loop_named_by_number", &[Root, Loop], &["weak-name"], loop_named_by_number),
    row("named_by_plain_path", &[Root, RamDisk], &["weak-name"], named_by_plain_path),
    row("named_by_a_link", &[], &["weak-name"], named_by_a_link),
    row("another_id", &[Root, RamDisk], &["wrong-name"], another_id),
    row("another_image", &[], &["wrong-name"], another_image),
    row("unknown_id", &[Root, RamDisk], &["no-such-name"], unknown_id),
    row("link_swapped", &[Root, Loop], &["changed"], link_swapped),
    row("id_swapped", &[Root, RamDisk], &["changed"], id_swapped),
    row("loop_swapped", &[Root, Loop], &["changed"], loop_swapped),
    row("loop_attached_again", &[Root, Loop], &["changed"], loop_attached_again),
    row("backing_file_replaced", &[Root, Loop], &["wrong-name"], backing_file_replaced),
    row("image_replaced", &[], &["changed"], image_replaced),
    row("signature_ext4", &[EXT4], &["signature"], signature_ext4),
    row("signature_xfs", &[], &["signature"], signature_xfs),
    row("signature_btrfs", &[], &["signature"], signature_btrfs),
    row("signature_luks", &[], &["signature"], signature_luks),
    row("signature_lvm", &[Root, Loop], &["signature"], signature_lvm),
    row("signature_md", &[Root, Loop], &["signature"], signature_md),
    row("signature_swap", &[Program("mkswap")], &["signature"], signature_swap),
    row("partition_table_dos", &[Root, Loop], &["signature"], partition_table_dos),
    row("partition_table_gpt", &[Root, Loop], &["signature"], partition_table_gpt),
    row("signature_in_a_partition", &PARTITIONS, &["signature"], signature_in_a_partition),
];

const EXT4: Need = Program("mkfs.ext4");
const BTRFS: Need = Program("mkfs.btrfs");
const PARTITIONS: [Need; 4] = [Root, Loop, EXT4, Program("addpart")];

const fn row(
    name: &'static str,
    needs: &'static [Need],
    refusals: &'static [&'static str],
    set_up: fn(&mut Scene),
) -> Attempt {
    Attempt { name, needs, refusals, set_up }
}

impl Attempt {
    /// Sets the scene.
    pub fn scene(&self) -> Scene {
        let mut scene = Scene::default();
        (self.set_up)(&mut scene);
        scene
    }
}
