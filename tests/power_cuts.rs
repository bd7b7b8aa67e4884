//! What is written durably is there after a power cut; what is not leaves an older version whole.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tests::Need::{Filesystem, Fuse, Loop, Program, Root};
use tests::cut_filesystem::{CutFilesystem, CutKind, PowerCut};
use tests::durable_files::DurableFiles;
use tests::requires;
use tests::write_log::{LoggedDisk, Unflushed};
use trimbench_claim::{Durability, OutputDirectory, Replaces};
use trimbench_core::rng::Rng;

/// Versions of the file that is written.
const VERSIONS: usize = 7;

/// What the file holds in a version: longer than some blocks, and no part of it is another version.
fn version(number: usize) -> Vec<u8> {
    format!("version {number}\n").repeat(3_000).into_bytes()
}

/// What is wrong with a file after a power cut, at some places, if `write` writes its versions: the
/// first is always acknowledged, the others if `write` says so.
fn wrongs(filesystem: &str, write: impl Fn(&Path, &[u8], usize) -> bool) -> Vec<String> {
    let disk = LoggedDisk::new(filesystem);
    let recording = disk.record(|acknowledge| {
        let folder = disk.path().join("out");
        for number in 1..=VERSIONS {
            if write(&folder, &version(number), number) {
                acknowledge(number);
            }
        }
        Ok::<_, std::convert::Infallible>(())
    });
    let Ok(recording) = recording;
    drop(disk);
    let mut wrongs = Vec::new();
    for (part, unflushed) in [
        (2_000, Unflushed::Mixed),
        (5_000, Unflushed::Lost),
        (8_000, Unflushed::Kept),
        (10_000, Unflushed::Lost),
    ] {
        let folder = tests::scratch();
        let place = recording.place(part);
        let crashed = recording.crash((place, unflushed), folder.path(), &mut Rng::new(part));
        let least = recording.acknowledged(place);
        let found = fs::read(crashed.path().join("out/run.json"));
        let is_good = match &found {
            Ok(found) => (least.max(1)..=VERSIONS).any(|number| *found == version(number)),
            Err(_) => least == 0,
        };
        if !is_good {
            let length = found.map(|found| found.len());
            wrongs.push(format!("at {part} of 10000 {length:?} bytes, not version {least}"));
        }
    }
    wrongs
}

/// Filesystems that this machine can make and mount.
fn filesystems(test: &'static str) -> impl Iterator<Item = &'static str> {
    let known = [("ext4", "mkfs.ext4"), ("xfs", "mkfs.xfs"), ("btrfs", "mkfs.btrfs")];
    let can_run = move |(name, mkfs): &(&'static str, &'static str)| {
        requires(test, &[Root, Loop, Fuse, Program(mkfs), Filesystem(name)])
    };
    known.into_iter().filter(can_run).map(|(name, _)| name)
}

fn write(folder: &Path, (name, bytes): (&str, &[u8]), durability: Durability) {
    let directory = OutputDirectory::create(folder).expect("the disk is ours");
    directory.write(OsStr::new(name), bytes, Replaces::AnyFile, durability).expect("there is room");
}

#[test]
fn a_record_that_is_written_durably_outlives_a_power_cut() {
    for filesystem in filesystems("a_record_that_is_written_durably_outlives_a_power_cut") {
        let wrongs = wrongs(filesystem, |folder, bytes, _| {
            write(folder, ("run.json", bytes), Durability::Durable);
            true
        });
        assert_eq!(wrongs, Vec::<String>::new(), "{filesystem}");
    }
}

#[test]
fn a_writer_that_does_not_wait_for_the_disk_is_found() {
    for filesystem in filesystems("a_writer_that_does_not_wait_for_the_disk_is_found") {
        let wrongs = wrongs(filesystem, |folder, bytes, _| {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("partial"), bytes).unwrap();
            fs::rename(folder.join("partial"), folder.join("run.json")).unwrap();
            true
        });
        assert!(!wrongs.is_empty(), "{filesystem}");
    }
}

#[test]
fn a_record_that_is_not_waited_for_leaves_the_older_one_or_itself() {
    for filesystem in filesystems("a_record_that_is_not_waited_for_leaves_the_older_one_or_itself")
    {
        let wrongs = wrongs(filesystem, |folder, bytes, number| {
            let durability = if number == 1 { Durability::Durable } else { Durability::Later };
            write(folder, ("run.json", bytes), durability);
            // It takes the names along that were given before it.
            write(folder, ("host.json", b"{}"), Durability::Durable);
            number == 1
        });
        assert_eq!(wrongs, Vec::<String>::new(), "{filesystem}");
    }
}

/// Cuts by how many changes were durable before.
const MOMENTS: [u64; 3] = [10, 40, 80];

#[test]
fn what_was_made_durable_on_an_emulated_drive_outlives_its_power_cuts() {
    let test = "what_was_made_durable_on_an_emulated_drive_outlives_its_power_cuts";
    for kind in CutKind::ALL.into_iter().filter(|kind| requires(test, &kind.needs())) {
        let mut filesystem = CutFilesystem::new(kind, "generic-sata-tlc");
        for (number, before) in (1..).zip(MOMENTS) {
            let wait = |files: &DurableFiles| files.wait_for_changes(before);
            let PowerCut { changes, faults, damage } = filesystem.cut(number, wait, false);
            assert_eq!((faults, damage), (Vec::new(), None), "{}", kind.name);
            assert!(changes >= before, "{}: {changes}", kind.name);
        }
    }
}

#[test]
fn a_drive_that_lies_about_its_flushes_is_found_by_a_power_cut() {
    let test = "a_drive_that_lies_about_its_flushes_is_found_by_a_power_cut";
    for kind in CutKind::ALL.into_iter().filter(|kind| requires(test, &kind.needs())) {
        let mut rng = Rng::new(1);
        let draw = || (rng.bits(), Duration::from_millis(500 + rng.below(500)));
        let found = CutFilesystem::cuts_until_a_lie_shows(kind, "generic-sata-tlc", 10, draw);
        assert!(found.is_some(), "{}", kind.name);
    }
}
