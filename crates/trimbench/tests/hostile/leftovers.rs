//! Objects of others that look like leftovers of killed runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use tests::Need::{self, Loop, Program, Root, Tracing};
use tests::{LoopDevice, Mounted, is_mounted, run, scratch};

use super::running::{Running, wait_for, workspaces};
use super::{command, complaint, ended, says, text, trimbench};

/// What a run on a filesystem of its own takes.
const MAKES_EXT4: &[Need] = &[Root, Loop, Program("mkfs.ext4")];
const PRECIOUS: &[u8] = b"precious";

/// A folder with a directory `place`, in which a run was killed.
struct Killed {
    folder: TempDir,
    place: PathBuf,
    leftover: PathBuf,
}

impl Killed {
    fn new() -> Self {
        let folder = scratch();
        let place = folder.path().join("place");
        fs::create_dir(&place).expect("the folder is ours");
        let mut killed = Self { folder, place, leftover: PathBuf::new() };
        killed.leftover = killed.run();
        killed
    }

    /// Runs until it has begun, when leftovers have been looked at, and kills it; what it left.
    fn run(&self) -> PathBuf {
        let arguments = ["run", "delete-storm", "--target", text(&self.place), "--output", "run"];
        let sizes = ["--set", "writers=1", "--set", "file-size=1MiB"];
        let _ = fs::remove_dir_all(self.folder.path().join("run"));
        let before = workspaces(&self.place);
        let mut command = command(self.folder.path(), &[&arguments[..], &sizes].concat());
        let mut running = Running::start(&mut command);
        let new = || workspaces(&self.place).into_iter().find(|path| !before.contains(path));
        let own = wait_for("directory of the run", new);
        running.kill();
        own
    }

    /// A precious file outside, on the same filesystem.
    fn precious(&self) -> PathBuf {
        let path = self.folder.path().join("precious");
        fs::write(&path, PRECIOUS).expect("the folder is ours");
        path
    }
}

/// That the file at `path` is as it was.
fn is_kept(path: &Path, what: &str) {
    let kept = fs::read(path).is_ok_and(|content| content == PRECIOUS);
    assert!(kept, "{what} was removed by a later run");
}

/// A directory that goes when dropped.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A run on a new ext4 in an image of its own.
fn on_ext4(folder: &Path, (settings, name): (&str, &str)) -> Command {
    let image = folder.join(name);
    let file = fs::File::create_new(&image).expect("the folder is ours");
    file.set_len(64 << 20).expect("sparse files take no room");
    let image = text(&image);
    let target = format!("ext4{settings}:{image}");
    let sizes = ["--set", "writers=1", "--set", "file-size=8MiB"];
    let arguments = ["run", "delete-storm", "--target", &target, "--destroy", image];
    command(folder, &[&arguments[..], &sizes, &["--output", &format!("{name}-run")]].concat())
}

/// Kills a run whose filesystem is mounted, mounts another there and runs once more.
fn beside_own_mount(place: impl Fn(&Path) -> PathBuf) {
    let folder = scratch();
    let before = workspaces(Path::new("/run"));
    let mut running = Running::start(&mut on_ext4(folder.path(), ("", "one")));
    let own = wait_for("mounted filesystem", || {
        let new = workspaces(Path::new("/run")).into_iter().find(|path| !before.contains(path));
        let point = new?.join("s0");
        // The run has begun in it.
        (is_mounted(&point) && !workspaces(&point).is_empty()).then_some(point)
    });
    running.kill();
    let first = Mounted::by_another(&own);
    let place = place(&own);
    fs::create_dir_all(&place).expect("we are root");
    let other = Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &place);
    fs::write(place.join("2024"), PRECIOUS).expect("we are root");
    let output = on_ext4(folder.path(), (",mount=nonsense", "other")).output();
    let said = complaint(&output.expect("the program was built"));
    let kept = fs::read(place.join("2024")).is_ok_and(|content| content == PRECIOUS);
    drop(other);
    drop(first);
    let _ = fs::remove_dir(&own);
    let _ = fs::remove_dir_all(own.parent().expect("it is in a directory of the run"));
    assert!(said.contains("nonsense"), "{said}");
    assert!(kept, "somebody else's mount was removed by a later run");
}

#[test]
fn a_file_linked_into_a_leftover_is_not_removed() {
    let killed = Killed::new();
    let name = killed.leftover.join("file-7000");
    fs::hard_link(killed.precious(), &name).expect("both are on one filesystem");
    killed.run();
    is_kept(&name, "a file that is linked from elsewhere");
}

#[test]
fn a_copy_of_a_leftover_is_not_emptied() {
    let killed = Killed::new();
    let copy = killed.folder.path().join("copy");
    run("cp", &["--archive", text(&killed.leftover), text(&copy)]);
    fs::write(copy.join("file-7000"), PRECIOUS).expect("the copy is ours");
    fs::remove_dir_all(&killed.leftover).expect("it is ours");
    fs::rename(&copy, &killed.leftover).expect("both are on one filesystem");
    killed.run();
    is_kept(&killed.leftover.join("file-7000"), "a file in the copy of a leftover");
}

#[test]
fn a_leftover_that_somebody_renamed_is_not_emptied() {
    let killed = Killed::new();
    let kept = killed.place.join(".trimbench-00112233445566aa");
    fs::write(killed.leftover.join("file-7000"), PRECIOUS).expect("it is ours");
    fs::rename(&killed.leftover, &kept).expect("the names are ours");
    killed.run();
    is_kept(&kept.join("file-7000"), "a file in a directory that somebody renamed");
}

#[test]
fn a_directory_with_a_marker_by_hand_is_not_emptied() {
    let killed = Killed::new();
    for version in [1, 2] {
        let path = killed.place.join(format!(".trimbench-00112233445566a{version}"));
        fs::create_dir(&path).expect("the folder is ours");
        let text = format!(
            "trimbench workspace {version}: removed with everything in it at the next start\n\
             pid 1\n"
        );
        fs::write(path.join("trimbench-workspace"), text).expect("the folder is ours");
        fs::write(path.join("2024"), PRECIOUS).expect("the folder is ours");
    }
    killed.run();
    for version in [1, 2] {
        let path = killed.place.join(format!(".trimbench-00112233445566a{version}/2024"));
        is_kept(&path, "a file in a directory with a marker that somebody wrote");
    }
}

#[test]
fn files_of_a_mount_in_a_leftover_are_not_removed() {
    machine!(beside, &[Root]);
    let killed = Killed::new();
    let (own, inside) = (killed.folder.path().join("own"), killed.leftover.join("s0"));
    fs::create_dir(&own).expect("the folder is ours");
    fs::write(own.join("2024"), PRECIOUS).expect("the folder is ours");
    fs::create_dir(&inside).expect("it is ours");
    let _mount = Mounted::bind(&own, &inside);
    killed.run();
    is_kept(&own.join("2024"), "a file of a mount within a leftover");
}

#[test]
fn another_users_file_in_a_leftover_is_not_removed() {
    machine!(beside, &[Root]);
    let killed = Killed::new();
    let file = killed.leftover.join("2024");
    fs::write(&file, PRECIOUS).expect("it is ours");
    std::os::unix::fs::chown(&file, Some(65_534), Some(65_534)).expect("we are root");
    killed.run();
    is_kept(&file, "a file of another user in a leftover");
}

#[test]
fn a_leftover_that_others_may_write_to_is_not_emptied() {
    machine!(beside, &[Root]);
    let killed = Killed::new();
    let file = killed.leftover.join("2024");
    fs::write(&file, PRECIOUS).expect("it is ours");
    fs::set_permissions(&killed.leftover, fs::Permissions::from_mode(0o777)).expect("it is ours");
    killed.run();
    is_kept(&file, "a file in a directory that everybody may write to");
}

#[test]
fn another_control_group_is_not_removed() {
    machine!(alone, MAKES_EXT4);
    let roots = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(Path::new);
    let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
    let group = Made(root.expect("there are control groups").join("trimbench-prod"));
    fs::create_dir(&group.0).expect("we are root");
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    // It ends with the mount, for there is no such option.
    let mut command = on_ext4(folder.path(), (",memory=384MiB,mount=nonsense", "image"));
    let output = command.output().expect("the program was built");
    says(&output, "nonsense");
    assert!(group.0.exists(), "somebody else's control group was removed");
}

#[test]
fn another_tracing_instance_is_not_removed() {
    machine!(alone, &[Root, Loop, Tracing]);
    let (folder, device) = (scratch(), LoopDevice::new(8));
    let place = folder.path().join("tracefs");
    fs::create_dir(&place).expect("the folder is ours");
    let _mount = Mounted::new(&["-t", "tracefs", "tracefs"], &place);
    // No process has such a number.
    let instance = Made(place.join("instances/trimbench-999999999-0"));
    fs::create_dir(&instance.0).expect("we are root");
    let arguments = ["trace", "record", device.node(), "out", "--to", "iolog", "--time", "1ms"];
    let output = trimbench(folder.path(), &arguments);
    ended(&output, 0);
    assert!(instance.0.exists(), "somebody else's tracing instance was removed");
}

#[test]
fn a_mount_over_or_below_a_leftover_is_not_detached() {
    machine!(alone, MAKES_EXT4);
    beside_own_mount(Path::to_path_buf);
    beside_own_mount(|own| own.join("below"));
}
