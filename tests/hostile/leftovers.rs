//! Objects of others that look like leftovers of killed runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::running::{Running, wait_for, workspaces};
use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopDevice, Mounted, Need, is_mounted, run, scratch};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("a_file_linked_into_a_leftover_is_not_removed", &[], linked),
    attack("a_copy_of_a_leftover_is_not_emptied", &[], copied),
    attack("a_leftover_that_somebody_renamed_is_not_emptied", &[], renamed),
    attack("a_directory_with_a_marker_by_hand_is_not_emptied", &[], forged),
    attack("files_of_a_mount_in_a_leftover_are_not_removed", &[Need::Root], mounted_inside),
    attack("another_users_file_in_a_leftover_is_not_removed", &[Need::Root], of_another_user),
    attack("a_leftover_that_others_may_write_to_is_not_emptied", &[Need::Root], writable),
    attack("another_control_group_is_not_removed", MAKES_EXT4, control_group),
    attack(
        "another_tracing_instance_is_not_removed",
        &[Need::Root, Need::Loop, Need::Tracing],
        tracing_instance,
    ),
    attack("a_mount_over_a_leftover_is_not_detached", MAKES_EXT4, mounted_over),
    attack("a_mount_below_a_leftover_is_not_detached", MAKES_EXT4, mounted_below),
];

/// What a run on a filesystem of its own takes.
const MAKES_EXT4: &[Need] = &[Need::Root, Need::Loop, Need::Program("mkfs.ext4")];
const PRECIOUS: &[u8] = b"precious";

/// A folder with a directory `place`, in which a run was killed.
struct Killed {
    folder: TempDir,
    place: PathBuf,
    leftover: PathBuf,
}

impl Killed {
    fn new(tool: &Tool) -> Self {
        let folder = scratch();
        let place = folder.path().join("place");
        fs::create_dir(&place).expect("the folder is ours");
        let mut killed = Self { folder, place, leftover: PathBuf::new() };
        killed.leftover = killed.run(tool);
        killed
    }

    /// Runs until it has begun, when leftovers have been looked at, and kills it; what it left.
    fn run(&self, tool: &Tool) -> PathBuf {
        let place = self.place.to_str().expect("temporary names are ASCII");
        let arguments = ["run", "delete-storm", "--target", place, "--output", "run"];
        let sizes = ["--set", "writers=1", "--set", "file-size=1MiB"];
        let _ = fs::remove_dir_all(self.folder.path().join("run"));
        let before = workspaces(&self.place);
        let mut command = tool.command(self.folder.path(), &[&arguments[..], &sizes].concat());
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

/// What is wrong if the file at `path` is not as it was.
fn is_kept(path: &Path, what: &str) -> Result<(), String> {
    let kept = fs::read(path).is_ok_and(|content| content == PRECIOUS);
    unless(kept, || format!("{what} was removed by a later run"))
}

fn linked(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
    let name = killed.leftover.join("file-7000");
    fs::hard_link(killed.precious(), &name).expect("both are on one filesystem");
    killed.run(tool);
    is_kept(&name, "a file that is linked from elsewhere")
}

fn copied(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
    let copy = killed.folder.path().join("copy");
    let text = |path: &Path| path.to_str().expect("temporary names are ASCII").to_owned();
    run("cp", &["--archive", &text(&killed.leftover), &text(&copy)]);
    fs::write(copy.join("file-7000"), PRECIOUS).expect("the copy is ours");
    fs::remove_dir_all(&killed.leftover).expect("it is ours");
    fs::rename(&copy, &killed.leftover).expect("both are on one filesystem");
    killed.run(tool);
    is_kept(&killed.leftover.join("file-7000"), "a file in the copy of a leftover")
}

fn renamed(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
    let kept = killed.place.join(".trimbench-00112233445566aa");
    fs::write(killed.leftover.join("file-7000"), PRECIOUS).expect("it is ours");
    fs::rename(&killed.leftover, &kept).expect("the names are ours");
    killed.run(tool);
    is_kept(&kept.join("file-7000"), "a file in a directory that somebody renamed")
}

fn forged(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
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
    killed.run(tool);
    for version in [1, 2] {
        let path = killed.place.join(format!(".trimbench-00112233445566a{version}/2024"));
        is_kept(&path, "a file in a directory with a marker that somebody wrote")?;
    }
    Ok(())
}

fn mounted_inside(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
    let (own, inside) = (killed.folder.path().join("own"), killed.leftover.join("s0"));
    fs::create_dir(&own).expect("the folder is ours");
    fs::write(own.join("2024"), PRECIOUS).expect("the folder is ours");
    fs::create_dir(&inside).expect("it is ours");
    let _mount = Mounted::bind(&own, &inside);
    killed.run(tool);
    is_kept(&own.join("2024"), "a file of a mount within a leftover")
}

fn of_another_user(tool: &Tool) -> Result<(), String> {
    let killed = Killed::new(tool);
    let file = killed.leftover.join("2024");
    fs::write(&file, PRECIOUS).expect("it is ours");
    std::os::unix::fs::chown(&file, Some(65_534), Some(65_534)).expect("we are root");
    killed.run(tool);
    is_kept(&file, "a file of another user in a leftover")
}

fn writable(tool: &Tool) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let killed = Killed::new(tool);
    let file = killed.leftover.join("2024");
    fs::write(&file, PRECIOUS).expect("it is ours");
    fs::set_permissions(&killed.leftover, fs::Permissions::from_mode(0o777)).expect("it is ours");
    killed.run(tool);
    is_kept(&file, "a file in a directory that everybody may write to")
}

/// A directory that goes when dropped.
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A run on a new ext4 in an image of its own.
fn on_ext4(tool: &Tool, folder: &Path, (settings, name): (&str, &str)) -> Command {
    let image = folder.join(name);
    let file = fs::File::create_new(&image).expect("the folder is ours");
    file.set_len(64 << 20).expect("sparse files take no room");
    let image = image.to_str().expect("temporary names are ASCII");
    let target = format!("ext4{settings}:{image}");
    let sizes = ["--set", "writers=1", "--set", "file-size=8MiB"];
    let arguments = ["run", "delete-storm", "--target", &target, "--destroy", image];
    tool.command(folder, &[&arguments[..], &sizes, &["--output", &format!("{name}-run")]].concat())
}

fn control_group(tool: &Tool) -> Result<(), String> {
    let roots = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(Path::new);
    let root = roots.into_iter().find(|root| root.join("cgroup.procs").exists());
    let group = Made(root.expect("there are control groups").join("trimbench-prod"));
    fs::create_dir(&group.0).expect("we are root");
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    // It ends with the mount, for there is no such option.
    let mut command = on_ext4(tool, folder.path(), (",memory=384MiB,mount=nonsense", "image"));
    let output = command.output().expect("the program was built");
    assert!(complaint(&output).contains("nonsense"), "{}", complaint(&output));
    unless(group.0.exists(), || "somebody else's control group was removed".to_owned())
}

fn tracing_instance(tool: &Tool) -> Result<(), String> {
    let (folder, device) = (scratch(), LoopDevice::new(8));
    let place = folder.path().join("tracefs");
    fs::create_dir(&place).expect("the folder is ours");
    let _mount = Mounted::new(&["-t", "tracefs", "tracefs"], &place);
    // No process has such a number.
    let instance = Made(place.join("instances/trimbench-999999999-0"));
    fs::create_dir(&instance.0).expect("we are root");
    let arguments = ["trace", "record", device.node(), "out", "--to", "iolog", "--time", "1ms"];
    let output = tool.run(folder.path(), &arguments);
    assert!(output.status.success(), "{}", complaint(&output));
    unless(instance.0.exists(), || "somebody else's tracing instance was removed".to_owned())
}

/// Kills a run whose filesystem is mounted, mounts another there and runs once more.
fn beside_own_mount(tool: &Tool, place: impl Fn(&Path) -> PathBuf) -> Result<(), String> {
    let folder = scratch();
    let before = workspaces(Path::new("/run"));
    let mut running = Running::start(&mut on_ext4(tool, folder.path(), ("", "one")));
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
    let output = on_ext4(tool, folder.path(), (",mount=nonsense", "other")).output();
    let said = complaint(&output.expect("the program was built"));
    assert!(said.contains("nonsense"), "{said}");
    let kept = is_kept(&place.join("2024"), "somebody else's mount");
    drop(other);
    drop(first);
    let _ = fs::remove_dir(&own);
    let _ = fs::remove_dir_all(own.parent().expect("it is in a directory of the run"));
    kept
}

fn mounted_over(tool: &Tool) -> Result<(), String> {
    beside_own_mount(tool, Path::to_path_buf)
}

fn mounted_below(tool: &Tool) -> Result<(), String> {
    beside_own_mount(tool, |own| own.join("below"))
}
