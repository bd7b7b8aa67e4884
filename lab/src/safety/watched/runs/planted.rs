//! Planted violations: if one is not detected, the observer is blind.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use xtask::process;

use super::judge::Bounds;
use super::scene::{Layer, Layers, Scene};
use super::sentry::Sentry;
use super::{Observer, Outcome, watch};

/// What does what no ordinary program does, by its path in the repository.
pub(super) const SOURCE: &str = "lab/src/safety/watched/planted.c";

/// A violation: its name, and the words of a shell that does it. `$1` is a foreign file, `$2` a
/// foreign block device with a filesystem on it, `$3` the program's own folder, `$4` the program in
/// `planted.c`.
pub(super) const PLANTED: [(&str, &str); 22] = [
    ("pwrite to a foreign file", "dd if=/dev/zero of=\"$1\" bs=4 count=1 conv=notrunc"),
    ("append to a foreign file", "echo >> \"$1\""),
    ("write through a link in its own folder", "ln -s \"$1\" \"$3/x\" && echo >> \"$3/x\""),
    ("hard link into its own folder, and a write", "ln \"$1\" \"$3/x\" && echo >> \"$3/x\""),
    ("write by io_uring", "\"$4\" ring-write \"$1\""),
    ("store through a shared mapping", "\"$4\" store \"$1\""),
    ("store through a mapping made writable later", "\"$4\" late-store \"$1\""),
    ("copy_file_range", "echo own > \"$3/x\" && \"$4\" copy-range \"$1\" \"$3/x\""),
    ("splice", "\"$4\" splice \"$1\""),
    ("fallocate that punches a hole", "fallocate --punch-hole --length 4096 \"$1\""),
    ("truncate", "truncate --size 0 \"$1\""),
    ("rename over a foreign file", "echo > \"$3/x\" && mv --force \"$3/x\" \"$1\""),
    ("rename of a foreign file", "mv \"$1\" \"$3/x\""),
    ("unlink", "rm --force \"$1\""),
    ("new file in a foreign directory", "echo > \"${1%/*}/new\""),
    ("mode of a foreign file", "chmod 777 \"$1\""),
    ("extended attribute", "\"$4\" xattr \"$1\""),
    ("BLKDISCARD of a foreign device", "blkdiscard --force \"$2\""),
    ("BLKZEROOUT of a foreign device", "blkdiscard --force --zeroout \"$2\""),
    ("discard by io_uring", "\"$4\" ring-discard \"$2\""),
    ("a child's mkfs on a foreign device", "sh -c 'mkfs.ext4 -q -F \"$0\"' \"$2\""),
    ("mount of a foreign filesystem", "mkdir \"$3/m\" && mount \"$2\" \"$3/m\" && umount \"$3/m\""),
];

/// Compiles [`SOURCE`] into `folder`.
pub(super) fn compile(source: &Path, folder: &Path) -> Result<PathBuf> {
    let program = folder.join("planted");
    let mut command = Command::new("cc");
    command.args(["-O1", "-Wall", "-o"]).arg(&program).arg(source);
    process::output(&mut command).context("compile the planted violations")?;
    Ok(program)
}

/// Does one in a scene of its own and watches it as a run is watched.
pub(super) fn plant(
    (name, words): (&str, &str),
    observer: &mut Observer,
    (layers, program): (&Layers, &Path),
) -> Result<Outcome> {
    let mut scene = Scene::new(layers, Layer::Ext4, b"work")?;
    let notes = scene.foreign.join("notes");
    std::fs::write(&notes, vec![b'.'; 8192])?;
    let device = scene.attach(&scene.foreign.join("image"))?;
    process::output(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device))?;
    let mut bounds = Bounds::of(&scene.work);
    bounds.permit(&scene.work, super::judge::Below::All);
    scene.foreign_objects().iter().for_each(|path| bounds.forbid(path));
    bounds.forbid(&device);
    let sentry = Sentry::new()?;
    scene.foreign_objects().iter().try_for_each(|path| sentry.watch(path))?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", words, "sh"]).arg(&notes).arg(&device).arg(&scene.work).arg(program);
    command.current_dir(&scene.work);
    let (observed, verdict) = watch(observer, &command, (&bounds, &sentry), None)?;
    let ending = observed.ending();
    ensure!(ending == "exit 0", "`{name}` was not done: {ending}");
    Ok(Outcome::new(name.to_owned(), &observed, verdict))
}
