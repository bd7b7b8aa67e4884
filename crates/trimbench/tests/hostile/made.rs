//! `ext4:DEVICE` and the like: the device is exchanged between claim, mkfs and mount.
//!
//! The exchange happens in a wrapper over mkfs or mount, in a mount namespace of its own: so at
//! that point and no other.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use tests::Need::{self, Filesystem, Loop, Program, Root};
use tests::machine::apart_from_mounts;
use tests::{LoopDevice, run};

use super::{PROGRAM, complaint, folder, text};

const MKFS: &str = "/usr/sbin/mkfs.ext4";
const MOUNT: &str = "/usr/bin/mount";
const EXT4: [Need; 5] = [Root, Loop, Program("mkfs.ext4"), Filesystem("ext4"), Program("unshare")];
/// Puts the image `$FOREIGN` onto the loop device `$DEVICE`.
const EXCHANGE: &str = "losetup --detach $DEVICE; losetup $DEVICE $FOREIGN";
/// Does the rest of the script only when it is called for the second time.
const SECOND: &str = "echo >> $FOLDER/calls; test $(wc -l < $FOLDER/calls) = 2 &&";

/// A device that may be destroyed, an image that may not, and wrappers over programs.
struct Trap {
    folder: TempDir,
    device: LoopDevice,
    foreign: PathBuf,
    before: Vec<u8>,
    wrappers: Vec<(&'static str, PathBuf)>,
    more: Vec<String>,
}

impl Trap {
    fn new() -> Self {
        let (folder, path) = folder();
        let device = LoopDevice::over(&path.join("image"), 64);
        let foreign = path.join("foreign");
        let file = fs::File::create_new(&foreign).expect("the folder is ours");
        file.set_len(64 << 20).expect("a sparse file");
        run("mkfs.ext4", &["-q", "-F", text(&foreign)]);
        let before = fs::read(&foreign).expect("it is ours");
        Self { folder, device, foreign, before, wrappers: Vec::new(), more: Vec::new() }
    }

    /// Has the program at `path` do this first.
    fn with(mut self, path: &'static str, script: &str) -> Self {
        let name = Path::new(path).file_name().expect("a program");
        let real = self.folder.path().join(name);
        fs::copy(path, &real).expect("it is installed");
        let wrapper = real.with_extension("wrapper");
        let lines = format!(
            "#!/bin/sh\nDEVICE={} FOREIGN={} FOLDER={} REAL={}\n{script}\nexec $REAL \"$@\"\n",
            self.device.node(),
            text(&self.foreign),
            text(self.folder.path()),
            text(&real),
        );
        fs::write(&wrapper, lines).expect("the folder is ours");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it is ours");
        self.wrappers.push((path, wrapper));
        self
    }

    fn confirming(mut self, kind: &str) -> Self {
        self.more = vec!["--overwrite-signature".to_owned(), kind.to_owned()];
        self
    }

    /// The program in a mount namespace with the wrappers.
    fn command(&self, settings: &[&str]) -> Command {
        let bind = |(path, wrapper): &(&str, PathBuf)| {
            format!("mount --bind {} {path} && ", text(wrapper))
        };
        let script = self.wrappers.iter().map(bind).collect::<String>() + "exec \"$@\"";
        // A filesystem is made twice.
        let line = "run postmark --no-report --output run --set number=20 --set transactions=20 \
                    --set repetitions=1 --set mounts=nodiscard";
        let mut command = apart_from_mounts();
        command.args(["sh", "-c", &script, "sh", PROGRAM]);
        command.args(line.split_whitespace()).args(settings).args(&self.more);
        command.args(["--target", &format!("ext4:{}", self.device.node())]);
        command.arg("--destroy").arg(self.device.image()).current_dir(self.folder.path());
        command
    }

    fn run(&self) -> Output {
        self.command(&[]).output().expect("util-linux is installed")
    }

    /// That the image that was not named is as it was.
    fn keeps_foreign(&self) {
        self.is_kept(&self.run());
    }

    fn is_kept(&self, output: &Output) {
        let kept = fs::read(&self.foreign).expect("it is ours") == self.before;
        assert!(kept, "the other image was written: {}", complaint(output));
    }

    /// That the run fails and says so, instead of measuring something else.
    fn ends_with(&self, said: &str) {
        let output = self.run();
        let failed = output.status.code().is_some_and(|code| code != 0 && code != 101);
        let right = failed && String::from_utf8_lossy(&output.stderr).contains(said);
        assert!(right, "not ended with `{said}`: {}", complaint(&output));
    }
}

#[test]
fn an_image_that_is_attached_before_mkfs_or_mount_is_not_written() {
    machine!(alone, &EXT4);
    for program in [MKFS, MOUNT] {
        Trap::new().with(program, EXCHANGE).keeps_foreign();
        Trap::new().with(program, &format!("{SECOND} {{ {EXCHANGE}; }}")).keeps_foreign();
    }
}

#[test]
fn an_image_attached_while_a_run_waits_for_the_mount_is_not_written() {
    machine!(alone, &EXT4);
    let trap = Trap::new().with(MKFS, "$REAL \"$@\" && exec touch $FOLDER/made");
    let mut command = trap.command(&["--set", "settle=300ms"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("util-linux is installed");
    let mut is_running = || child.try_wait().expect("a child").is_none();
    let made = trap.folder.path().join("made");
    while is_running() && !made.exists() {}
    let node = trap.device.node();
    let losetup = |arguments: &[&str]| {
        let output = Command::new("losetup").args(arguments).output();
        output.expect("util-linux is installed").status.success()
    };
    losetup(&["--detach", node]);
    while is_running() && !losetup(&[node, text(&trap.foreign)]) {}
    trap.is_kept(&child.wait_with_output().expect("a child"));
}

#[test]
fn a_device_bound_over_the_node_is_not_formatted() {
    machine!(alone, &EXT4);
    let trap = Trap::new();
    let foreign = LoopDevice::on(&trap.foreign);
    let bound = format!("mount --bind {} $DEVICE", foreign.node());
    trap.with(MKFS, &bound).keeps_foreign();
}

#[test]
fn a_device_bound_over_the_node_after_mkfs_is_not_mounted() {
    machine!(alone, &EXT4);
    let trap = Trap::new();
    let foreign = LoopDevice::on(&trap.foreign);
    // After mkfs, so that what is looked at before the mount is the node.
    let bound = format!("$REAL \"$@\" && exec mount --bind {} $DEVICE", foreign.node());
    trap.with(MKFS, &bound).keeps_foreign();
}

#[test]
fn another_device_that_was_mounted_instead_is_not_measured() {
    machine!(alone, &EXT4);
    let trap = Trap::new();
    let foreign = LoopDevice::on(&trap.foreign);
    let other = format!("for place; do :; done; exec $REAL {} $place", foreign.node());
    trap.with(MOUNT, &other).ends_with("something else was mounted");
}

#[test]
fn a_filesystem_made_by_another_meanwhile_is_not_measured() {
    machine!(alone, &EXT4);
    let trap = Trap::new().with(MOUNT, "mkfs.ext4 -q -F $DEVICE");
    trap.ends_with("does not carry the filesystem");
}

#[test]
fn a_mkfs_that_makes_nothing_is_not_believed() {
    machine!(alone, &EXT4);
    let trap = Trap::new();
    run("mkfs.ext4", &["-q", "-F", text(trap.device.image())]);
    let trap = trap.with(MKFS, "exit 0").confirming("ext4");
    trap.ends_with("its filesystem is not there");
}
