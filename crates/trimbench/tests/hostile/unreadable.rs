//! Signatures that cannot be read, and a prober whose answer cannot be trusted.
//!
//! The disk that fails is a file served by FUSE. A filesystem lies on it, and in that filesystem
//! the image, which is attached to a loop device where a device is wanted: so nothing but the one
//! block is in the way.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::fs::{Advice, fadvise};

use tests::Need::{self, Filesystem, Fuse, Loop, Program, Root};
use tests::slow_disk::SlowDisk;
use tests::{LoopDevice, place_on_disk, run, superblocks};

use super::{command, complaint, folder, overwrite, overwriting, quick, refused, text};

const MIB: u64 = 1 << 20;
/// What FUSE, the filesystem and the image are made of.
const EXT4: Need = Program("mkfs.ext4");
const DISK: [Need; 6] = [Root, Loop, Fuse, Filesystem("ext4"), EXT4, Program("filefrag")];

/// What an image carries, and where that announces itself.
struct Carried {
    mebibytes: u64,
    make: fn(&Path),
    /// The first byte of the block that is to fail.
    block: u64,
}

/// An image on a disk that fails at one of its blocks.
struct FailingImage {
    disk: SlowDisk,
    path: PathBuf,
    before: Vec<u8>,
}

impl Carried {
    const fn ext4() -> Self {
        Self { mebibytes: 16, make: |image| mkfs("mkfs.ext4", &["-q", "-F"], image), block: 0 }
    }

    const fn xfs() -> Self {
        Self { mebibytes: 300, make: |image| mkfs("mkfs.xfs", &["-q", "-f"], image), block: 0 }
    }

    const fn btrfs() -> Self {
        let make = |image: &Path| mkfs("mkfs.btrfs", &["-q", "-f", "-M"], image);
        // Below 64 MiB there is no copy, by which it would be known all the same.
        Self { mebibytes: 63, make, block: 64 << 10 }
    }

    const fn swap() -> Self {
        Self { mebibytes: 16, make: |image| mkfs("mkswap", &[], image), block: 0 }
    }

    const fn gpt_backup() -> Self {
        let make = |image: &Path| put(image, &superblocks::gpt_backup(16 * MIB));
        Self { mebibytes: 16, make, block: 16 * MIB - 4096 }
    }

    const fn btrfs_copy() -> Self {
        let make = |image: &Path| {
            let blocks = superblocks::btrfs(72 * MIB).into_iter();
            put(image, &blocks.map(|(_, block)| (64 * MIB, block)).collect::<Vec<_>>());
        };
        Self { mebibytes: 72, make, block: 64 * MIB }
    }

    /// That what is carried is kept, as an image or as a loop device.
    fn is_kept(&self, as_device: bool) {
        let image = FailingImage::new(self.mebibytes, self.make);
        let device = as_device.then(|| LoopDevice::on(&image.path));
        image.fail(self.block);
        let node = device.as_ref().map_or(image.path.as_path(), |device| Path::new(device.node()));
        let output = overwrite(node, &image.path);
        drop(device);
        image.is_as_before(&output);
    }
}

impl FailingImage {
    fn new(mebibytes: u64, make: impl FnOnce(&Path)) -> Self {
        let disk = SlowDisk::new("ext4", mebibytes + 32, "noatime");
        let path = disk.path().join("image");
        let file = File::create_new(&path).expect("it is ours");
        file.set_len(mebibytes * MIB).expect("a sparse file");
        make(&path);
        file.sync_all().expect("there is room");
        let before = fs::read(&path).expect("it can be read");
        Self { disk, path, before }
    }

    /// From now on the block of 4 KiB at this byte of the image cannot be read.
    fn fail(&self, block: u64) {
        let place = place_on_disk(&self.path, block / 4096) * 4096;
        self.disk.fail(place..place + 4096, 0);
        let file = File::open(&self.path).expect("it is ours");
        fadvise(&file, 0, None, Advice::DontNeed).expect("it is a file");
    }

    fn is_as_before(&self, output: &Output) {
        self.disk.heal();
        let kept = fs::read(&self.path).expect("it can be read again") == self.before;
        assert!(kept, "overwritten: {}", complaint(output));
        refused(output, "cannot check");
    }
}

fn mkfs(program: &str, options: &[&str], image: &Path) {
    run(program, &[options, &[text(image)]].concat());
}

fn put(image: &Path, blocks: &superblocks::Superblock) {
    let file = File::options().write(true).open(image).expect("it is ours");
    for (offset, bytes) in blocks {
        file.write_all_at(bytes, *offset).expect("within the image");
    }
}

#[test]
fn what_an_unreadable_superblock_announces_is_kept() {
    machine!(beside, &[&DISK[..], &[Program("mkfs.xfs"), Program("mkfs.btrfs")]].concat());
    for carried in [Carried::ext4(), Carried::xfs(), Carried::btrfs(), Carried::swap()] {
        for as_device in [false, true] {
            carried.is_kept(as_device);
        }
    }
}

#[test]
fn what_an_unreadable_copy_at_the_end_announces_is_kept() {
    machine!(beside, &DISK);
    Carried::gpt_backup().is_kept(true);
    Carried::btrfs_copy().is_kept(true);
}

#[test]
fn a_partition_with_an_unreadable_superblock_is_kept() {
    machine!(beside, &[&DISK[..], &[Program("addpart")]].concat());
    let image = FailingImage::new(16, |image| {
        let device = LoopDevice::on(image);
        run("addpart", &[device.node(), "1", "2048", "16384"]);
        mkfs("mkfs.ext4", &["-q", "-F"], Path::new(&format!("{}p1", device.node())));
        run("delpart", &[device.node(), "1"]);
    });
    let device = LoopDevice::on(&image.path);
    run("addpart", &[device.node(), "1", "2048", "16384"]);
    image.fail(MIB);
    let output = overwrite(Path::new(device.node()), &image.path);
    run("delpart", &[device.node(), "1"]);
    drop(device);
    image.is_as_before(&output);
}

#[test]
fn a_wipefs_of_the_search_path_is_not_believed() {
    machine!(beside, &[EXT4]);
    let (_keep, folder) = folder();
    let image = folder.join("image");
    File::create(&image).and_then(|file| file.set_len(16 * MIB)).expect("a sparse file");
    mkfs("mkfs.ext4", &["-q", "-F"], &image);
    let before = fs::read(&image).expect("it is ours");
    let fake = folder.join("wipefs");
    fs::write(&fake, "#!/bin/sh\nexit 0\n").expect("the folder is ours");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut command = command(&folder, &quick(&overwriting(&image, &image)));
    let output = command.env("PATH", &folder).output().expect("the program was built");
    let kept = fs::read(&image).expect("it is ours") == before;
    assert!(kept, "overwritten: {}", complaint(&output));
    refused(&output, "--overwrite-signature ext4");
}
