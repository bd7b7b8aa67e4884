use std::ffi::OsStr;
use std::fs;

use crate::Need::{Filesystem, Fuse, Loop, Program, Root};
use crate::requires;
use trimbench_linux::{Durability, OutputDirectory, Replaces};

use super::super::killed::record::check;
use super::super::killed::record::tests::{record as run_record, steps};
use super::*;

/// Steps of the run that is written.
const STEPS: usize = 6;

/// What is wrong with a record after a power cut, at some places, if `write` writes it after each
/// step: the first is always acknowledged, the others if `write` says so.
fn wrongs(filesystem: &str, write: impl Fn(&Path, &[u8], usize) -> bool) -> Vec<String> {
    let disk = LoggedDisk::new(filesystem, MEBIBYTES);
    let recording = record(disk.log(), |acknowledge| {
        let folder = disk.path().join("out");
        for number in 0..=STEPS {
            if write(&folder, &run_record(1, number).to_json(), number) {
                acknowledge(steps(number));
            }
        }
        Ok(())
    });
    let recording = recording.unwrap();
    drop(disk);
    let whole = run_record(1, STEPS);
    let mut wrongs = Vec::new();
    for (part, unflushed) in [
        (2_000, Unflushed::Mixed),
        (5_000, Unflushed::Lost),
        (8_000, Unflushed::Kept),
        (10_000, Unflushed::Lost),
    ] {
        let folder = crate::scratch();
        let place = recording.place(part);
        let crashed = recording.crash((place, unflushed), folder.path(), &mut Rng::new(part));
        let least = recording.acknowledged(place);
        match fs::read(crashed.path().join("out/run.json")) {
            Ok(found) => wrongs.extend(check((&found, b""), (&whole, true), least).err()),
            Err(_) if least == Progress::default() => {}
            Err(error) => wrongs.push(format!("gone: {error}")),
        }
    }
    wrongs
}

fn can_run(test: &str, filesystem: &'static str) -> bool {
    let program = match filesystem {
        "ext4" => "mkfs.ext4",
        "xfs" => "mkfs.xfs",
        _ => "mkfs.btrfs",
    };
    requires(test, &[Root, Loop, Fuse, Program(program), Filesystem(filesystem)])
}

fn write(folder: &Path, (name, bytes): (&str, &[u8]), durability: Durability) {
    let directory = OutputDirectory::create(folder).unwrap();
    directory.write(OsStr::new(name), bytes, Replaces::AnyFile, durability).unwrap();
}

#[test]
fn a_record_that_is_written_durably_outlives_a_power_cut() {
    for filesystem in ["ext4", "xfs", "btrfs"] {
        if !can_run("a_record_that_is_written_durably_outlives_a_power_cut", filesystem) {
            continue;
        }
        let wrongs = wrongs(filesystem, |folder, bytes, _| {
            write(folder, ("run.json", bytes), Durability::Durable);
            true
        });
        assert_eq!(wrongs, Vec::<String>::new(), "{filesystem}");
    }
}

#[test]
fn a_writer_that_does_not_wait_for_the_disk_is_found() {
    for filesystem in ["ext4", "xfs", "btrfs"] {
        if !can_run("a_writer_that_does_not_wait_for_the_disk_is_found", filesystem) {
            continue;
        }
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
    for filesystem in ["ext4", "xfs", "btrfs"] {
        if !can_run("a_record_that_is_not_waited_for_leaves_the_older_one_or_itself", filesystem) {
            continue;
        }
        let wrongs = wrongs(filesystem, |folder, bytes, number| {
            let durability = if number == 0 { Durability::Durable } else { Durability::Later };
            write(folder, ("run.json", bytes), durability);
            // It takes the names along that were given before it.
            write(folder, ("host.json", b"{}"), Durability::Durable);
            number == 0
        });
        assert_eq!(wrongs, Vec::<String>::new(), "{filesystem}");
    }
}
