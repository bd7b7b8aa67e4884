//! Two parallel runs in one filesystem whose free space suffices for one.

use std::path::Path;

use super::running::{Running, wait_for, workspaces};
use super::{Attack, Tool, attack, unless};
use crate::{LoopFilesystem, Mounted, Need, run, scratch};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("two_runs_in_one_directory_do_not_fill_the_filesystem", &[Need::Root], one_directory),
    attack(
        "two_runs_in_two_directories_do_not_fill_the_filesystem",
        &[Need::Root, Need::Loop, Need::Program("mkfs.ext4")],
        two_directories,
    ),
    attack(
        "two_runs_by_two_mounts_do_not_fill_the_filesystem",
        &[Need::Root, Need::Loop, Need::Program("mkfs.btrfs"), Need::Filesystem("btrfs")],
        two_mounts,
    ),
];

fn one_directory(tool: &Tool) -> Result<(), String> {
    let folder = scratch();
    let place = folder.path().join("place");
    let _mounted = Mounted::memory("256m", &place);
    second_is_refused(tool, folder.path(), (&place, &place))
}

fn two_directories(tool: &Tool) -> Result<(), String> {
    let folder = scratch();
    let filesystem = LoopFilesystem::within(folder.path(), "ext4", 256, "discard");
    let places = ["one", "two"].map(|name| filesystem.path().join(name));
    for place in &places {
        std::fs::create_dir(place).expect("there is room");
    }
    second_is_refused(tool, folder.path(), (&places[0], &places[1]))
}

fn two_mounts(tool: &Tool) -> Result<(), String> {
    let folder = scratch();
    let filesystem = LoopFilesystem::within(folder.path(), "btrfs", 384, "discard=sync");
    let subvolume = filesystem.path().join("subvolume");
    let text = subvolume.to_str().expect("temporary names are ASCII");
    run("btrfs", &["subvolume", "create", text]);
    let place = folder.path().join("place");
    let _mounted = Mounted::new(&["--bind", text], &place);
    second_is_refused(tool, folder.path(), (filesystem.path(), &place))
}

/// Whether there is a file with content besides the marker.
fn is_written(workspace: &Path) -> bool {
    let entries = std::fs::read_dir(workspace).into_iter().flatten().flatten();
    let mut files = entries.filter(|entry| entry.file_name() != "trimbench-workspace");
    files.any(|file| file.metadata().is_ok_and(|it| it.is_file() && it.len() > 0))
}

/// The first run has begun and written nothing yet; the second wants as much again, which is not
/// there. Once the first is killed, the second runs.
fn second_is_refused(tool: &Tool, folder: &Path, (one, two): (&Path, &Path)) -> Result<(), String> {
    let command = |place: &Path, output: &str| {
        let place = place.to_str().expect("temporary names are ASCII");
        let arguments = ["run", "delete-storm", "--target", place, "--output", output];
        // 160 MiB: there is room for one, not for two.
        let sizes = ["--set", "writers=2", "--set", "file-size=80MiB"];
        tool.command(folder, &[&arguments[..], &sizes].concat())
    };
    let mut first = Running::start(&mut command(one, "first"));
    let own = wait_for("first run", || workspaces(one).pop());
    first.stop();
    // It goes on to write, or is refused.
    let begun = || workspaces(two).iter().any(|path| *path != own && is_written(path));
    let mut second = Running::start(&mut command(two, "second"));
    let ended = wait_for("end", || if begun() { Some(None) } else { second.ended().map(Some) });
    second.kill();
    first.kill();
    let refused = ended.and_then(|status| status.code()) == Some(3);
    unless(refused, || format!("both runs together fill the filesystem ({ended:?})"))?;
    let _third = Running::start(&mut command(two, "third"));
    wait_for("run after the first was killed", || begun().then_some(()));
    Ok(())
}
