//! Two parallel runs in one filesystem whose free space suffices for one.

use std::path::Path;

use tests::Need::{Filesystem, Loop, Program, Root};
use tests::{LoopFilesystem, Mounted, run, scratch};

use super::running::{Running, wait_for, workspaces};
use super::{command, text};

/// Whether there is a file with content besides the marker.
fn is_written(workspace: &Path) -> bool {
    let entries = std::fs::read_dir(workspace).into_iter().flatten().flatten();
    let mut files = entries.filter(|entry| entry.file_name() != "trimbench-workspace");
    files.any(|file| file.metadata().is_ok_and(|it| it.is_file() && it.len() > 0))
}

/// The first run has begun and written nothing yet; the second wants as much again, which is not
/// there. Once the first is killed, the second runs.
fn second_is_refused(folder: &Path, (one, two): (&Path, &Path)) {
    let storm = |place: &Path, output: &str| {
        let arguments = ["run", "delete-storm", "--target", text(place), "--output", output];
        // 160 MiB: there is room for one, not for two.
        let sizes = ["--set", "writers=2", "--set", "file-size=80MiB"];
        command(folder, &[&arguments[..], &sizes].concat())
    };
    let mut first = Running::start(&mut storm(one, "first"));
    let own = wait_for("first run", || workspaces(one).pop());
    first.stop();
    // It goes on to write, or is refused.
    let begun = || workspaces(two).iter().any(|path| *path != own && is_written(path));
    let mut second = Running::start(&mut storm(two, "second"));
    let ended = wait_for("end", || if begun() { Some(None) } else { second.ended().map(Some) });
    second.kill();
    first.kill();
    let refused = ended.and_then(|status| status.code()) == Some(3);
    assert!(refused, "both runs together fill the filesystem ({ended:?})");
    let _third = Running::start(&mut storm(two, "third"));
    wait_for("run after the first was killed", || begun().then_some(()));
}

#[test]
fn two_runs_in_one_directory_do_not_fill_the_filesystem() {
    machine!(beside, &[Root]);
    let folder = scratch();
    let place = folder.path().join("place");
    let _mounted = Mounted::memory("256m", &place);
    second_is_refused(folder.path(), (&place, &place));
}

#[test]
fn two_runs_in_two_directories_do_not_fill_the_filesystem() {
    machine!(beside, &[Root, Loop, Program("mkfs.ext4")]);
    let folder = scratch();
    let filesystem = LoopFilesystem::within(folder.path(), "ext4", 256, "discard");
    let places = ["one", "two"].map(|name| filesystem.path().join(name));
    for place in &places {
        std::fs::create_dir(place).expect("there is room");
    }
    second_is_refused(folder.path(), (&places[0], &places[1]));
}

#[test]
fn two_runs_by_two_mounts_do_not_fill_the_filesystem() {
    machine!(beside, &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")]);
    let folder = scratch();
    let filesystem = LoopFilesystem::within(folder.path(), "btrfs", 384, "discard=sync");
    let subvolume = filesystem.path().join("subvolume");
    run("btrfs", &["subvolume", "create", text(&subvolume)]);
    let place = folder.path().join("place");
    let _mounted = Mounted::new(&["--bind", text(&subvolume)], &place);
    second_is_refused(folder.path(), (filesystem.path(), &place));
}
