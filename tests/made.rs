//! New filesystems on image files and loop devices: made as requested, and removed afterwards,
//! whatever happens.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;
use tests::Need::{self, Filesystem, Loop, Program, Root};
use tests::machine::apart_from_mounts;
use tests::{LoopDevice, requires, run, scratch};
use trimbench_claim::mounts::mount_of;
use trimbench_claim::{Consent, Inspection};
use trimbench_core::{
    Bytes, Completion, DiscardMode, FileCommand, FileId, FilesystemSpec, Instant, Interrupt,
    ProvisionError, Provisioner as _, Status, Storage as _, Support, Tag, Target,
};
use trimbench_linux::{CacheControl, FilesystemKind, MakeError, MakeOptions, MkfsProvisioner};

const EXT4: [Need; 4] = [Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")];
/// What a test has beside that which hides something of the system from itself.
const APART: [Need; 5] = [Root, Loop, Program("mkfs.ext4"), Filesystem("ext4"), Program("unshare")];

/// What a test holds that may run: a loop device that is free is so for all, and whoever asks for
/// it keeps mkfs from it for a moment. (Some tests start themselves again, so that a lock of the
/// machine would wait for itself.)
fn alone(test: &str, needs: &[Need]) -> Option<MutexGuard<'static, ()>> {
    static MACHINE: Mutex<()> = Mutex::new(());
    requires(test, needs).then(|| MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn own_program() -> PathBuf {
    std::env::current_exe().expect("a program that runs is somewhere")
}

/// Runs the test again in a mount namespace of its own, which it may change; in there, what
/// [`alone`] gives.
fn apart(test: &str) -> Option<MutexGuard<'static, ()>> {
    const ROLE: &str = "TRIMBENCH_TEST_APART";
    if std::env::var_os(ROLE).is_some() {
        return alone(test, &APART);
    }
    if !requires(test, &APART) {
        return None;
    }
    let mut command = apart_from_mounts();
    command.arg(own_program()).args(["--exact", test, "--nocapture"]).env(ROLE, "yes");
    let output = command.output().expect("util-linux is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stdout));
    None
}

/// Those that are made on `path`, which may be overwritten.
fn made(path: &Path, kind: FilesystemKind, options: &[&str]) -> Result<MkfsProvisioner, MakeError> {
    let mount_options = options.iter().map(|option| (*option).to_owned()).collect();
    made_with(path, (kind, mount_options), CacheControl::Keep)
}

fn made_with(
    path: &Path,
    (kind, mount_options): (FilesystemKind, Vec<String>),
    cache: CacheControl,
) -> Result<MkfsProvisioner, MakeError> {
    let interrupt = Interrupt::default();
    claimed(path, MakeOptions { kind, mount_options, cache, seed: 1, interrupt })
}

fn claimed(path: &Path, options: MakeOptions) -> Result<MkfsProvisioner, MakeError> {
    let inspection = Inspection::of(path).expect("it is there");
    let destroy = inspection.destroy_names();
    let consent = Consent { destroy, ..Consent::default() };
    MkfsProvisioner::claim(&inspection, &consent, options)
}

/// An image that takes no room.
fn image(mebibytes: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let path = folder.path().join("image");
    let file = fs::File::create(&path).expect("the folder is ours");
    file.set_len(mebibytes << 20).expect("sparse files take no room");
    (folder, path)
}

fn options(discard: DiscardMode, mkfs_discard: bool) -> FilesystemSpec {
    FilesystemSpec { discard, mkfs_discard, ..FilesystemSpec::default() }
}

fn perform(files: &mut impl Target<Command = FileCommand>, command: FileCommand) {
    files.submit(Tag(1), command).expect("a valid command");
    let mut ended: Vec<Completion> = Vec::new();
    files.reap(Instant::NEVER, &mut ended);
    assert_eq!(ended[0].status, Status::Done, "{command:?}");
}

/// Whether the kernel still knows anything of the image.
fn attached(path: &Path) -> bool {
    let output = Command::new("losetup").arg("-j").arg(path).output().expect("losetup runs");
    !output.stdout.is_empty()
}

/// Each filesystem is new, of this type and mounted as requested; nothing is left.
fn is_made_as_wished(kind: FilesystemKind, mebibytes: u64) {
    let (_folder, path) = image(mebibytes);
    let mut filesystems = made(&path, kind, &["noatime"]).expect("it may be overwritten");
    let mut place = PathBuf::new();
    for discard in [DiscardMode::Online, DiscardMode::Off] {
        filesystems.make(&options(discard.clone(), true)).expect("the image is large enough");
        let files = filesystems.directory();
        files.path().clone_into(&mut place);
        let mount = mount_of(&place).expect("it is mounted");
        assert_eq!(mount.filesystem, kind.id());
        assert!(mount.has_option("noatime"), "{}", mount.options);
        let online = if discard == DiscardMode::Online { Support::Native } else { Support::None };
        assert_eq!(files.capabilities().discard, online, "{}", mount.options);
        let entries = fs::read_dir(&mount.mount_point).expect("it can be read");
        let names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        assert!(!names.iter().any(|name| name == "left"), "it is new: {names:?}");
        fs::write(mount.mount_point.join("left"), "behind").expect("there is room");
        perform(filesystems.directory(), FileCommand::Create { file: FileId(1) });
        filesystems.unmount().expect("nobody uses it");
        assert!(!place.exists(), "it is unmounted");
    }
    // Dropped while mounted.
    filesystems.make(&FilesystemSpec::default()).expect("once more");
    drop(filesystems);
    assert!(!place.exists() && !attached(&path));
    let workspace = place.ancestors().nth(2).expect("the mount point lies in a directory of ours");
    assert!(!workspace.exists(), "{}", workspace.display());
}

#[test]
fn ext4_is_made_as_wished_and_gone_afterwards() {
    if let Some(_alone) = alone("ext4_is_made_as_wished_and_gone_afterwards", &EXT4) {
        is_made_as_wished(FilesystemKind::Ext4, 128);
    }
}

#[test]
fn xfs_is_made_as_wished_and_gone_afterwards() {
    let needs = [Root, Loop, Program("mkfs.xfs"), Filesystem("xfs")];
    if let Some(_alone) = alone("xfs_is_made_as_wished_and_gone_afterwards", &needs) {
        is_made_as_wished(FilesystemKind::Xfs, 512);
    }
}

#[test]
fn btrfs_is_made_as_wished_and_gone_afterwards() {
    let needs = [Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")];
    if let Some(_alone) = alone("btrfs_is_made_as_wished_and_gone_afterwards", &needs) {
        is_made_as_wished(FilesystemKind::Btrfs, 256);
    }
}

/// Bytes of discards that the device has completed.
fn discarded(device: &LoopDevice) -> u64 {
    let stat = device.queue("..").join("stat");
    let text = fs::read_to_string(stat).expect("a device has counters");
    let sectors = text.split_whitespace().nth(13).expect("Linux 4.18 and later count discards");
    sectors.parse::<u64>().expect("a counter is a number") * 512
}

#[test]
fn mkfs_discards_the_device_only_if_that_is_wished() {
    let test = "mkfs_discards_the_device_only_if_that_is_wished";
    let Some(_alone) = alone(test, &EXT4) else { return };
    let device = LoopDevice::new(128);
    let mut filesystems = made(Path::new(device.node()), FilesystemKind::Ext4, &[]).unwrap();
    for (mkfs_discard, expected) in [(true, 128 << 20), (false, 0)] {
        let before = discarded(&device);
        // The second time it carries what was made the first time.
        filesystems.make(&options(DiscardMode::Off, mkfs_discard)).expect("it may be overwritten");
        // The device, and a block or so on the way.
        let found = discarded(&device) - before;
        assert!((expected..=expected + expected / 100).contains(&found), "{found}");
        filesystems.unmount().expect("nobody uses it");
    }
}

/// The reason, and the operation that failed.
fn failure(ended: Result<(), ProvisionError>) -> (&'static str, String) {
    let ProvisionError { operation, reason, advice } = ended.expect_err("it cannot be had");
    assert!(advice.is_some(), "{reason}");
    (operation, reason)
}

#[test]
fn what_cannot_be_had_is_told_and_leaves_nothing() {
    let test = "what_cannot_be_had_is_told_and_leaves_nothing";
    let needs = [Root, Loop, Program("mkfs.xfs"), Program("mkfs.ext4"), Filesystem("xfs")];
    let Some(_alone) = alone(test, &needs) else { return };
    let (_folder, small) = image(100);
    let mut too_small = made(&small, FilesystemKind::Xfs, &[]).unwrap();
    let (operation, reason) = failure(too_small.make(&FilesystemSpec::default()));
    assert!(operation == "make" && reason.contains("mkfs.xfs"), "{operation}: {reason}");
    drop(too_small);

    let mut wrong_option = made(&small, FilesystemKind::Ext4, &["nonsense"]).unwrap();
    let (operation, reason) = failure(wrong_option.make(&FilesystemSpec::default()));
    assert!(operation == "mount" && reason.contains("mount:"), "{operation}: {reason}");
    drop(wrong_option);
    assert!(!attached(&small));
}

#[test]
fn a_memory_limit_holds_for_this_process_until_it_ends() {
    let test = "a_memory_limit_holds_for_this_process_until_it_ends";
    let Some(_alone) = alone(test, &EXT4) else { return };
    let groups = || fs::read_to_string("/proc/self/cgroup").expect("procfs is mounted");
    let before = groups();
    let (_folder, path) = image(128);
    let limit = CacheControl::Limit(Bytes::gib(1));
    let limited = made_with(&path, (FilesystemKind::Ext4, Vec::new()), limit).unwrap();
    let line = groups().lines().find(|line| line.contains("/trimbench-")).map(str::to_owned);
    let line = line.expect("the process is in a group of ours");
    drop(limited);
    assert_eq!(groups(), before, "it was in {line}");
}

#[test]
fn a_memory_limit_is_refused_for_an_image_that_is_kept_in_memory() {
    let test = "a_memory_limit_is_refused_for_an_image_that_is_kept_in_memory";
    let Some(_alone) = alone(test, &EXT4) else { return };
    let folder = scratch();
    let path = folder.path().join("image");
    fs::File::create(&path).unwrap().set_len(64 << 20).unwrap();
    let with = |cache| made_with(&path, (FilesystemKind::Ext4, Vec::new()), cache);
    let Err(MakeError::Provision(error)) = with(CacheControl::Limit(Bytes::gib(1))) else {
        panic!("it is not refused");
    };
    assert!(error.reason.contains("kept in memory") && error.advice.is_some(), "{error}");
    with(CacheControl::Keep).unwrap();
}

#[test]
fn what_is_cached_is_dropped_if_that_is_wished() {
    let test = "what_is_cached_is_dropped_if_that_is_wished";
    let needs = [&EXT4[..], &[Program("fincore")]].concat();
    let Some(_alone) = alone(test, &needs) else { return };
    let (folder, path) = image(64);
    let cached = folder.path().join("cached");
    fs::write(&cached, vec![b'x'; 1 << 20]).unwrap();
    let bytes = || {
        let path = cached.to_str().expect("temporary names are ASCII");
        let told = run("fincore", &["--bytes", "--noheadings", "--output", "RES", path]);
        told.trim().parse::<u64>().expect("a number")
    };
    assert!(bytes() > 0, "what was just written is cached");
    let ext4 = (FilesystemKind::Ext4, Vec::new());
    let mut filesystems = made_with(&path, ext4, CacheControl::Drop).unwrap();
    filesystems.make(&FilesystemSpec::default()).unwrap();
    assert_eq!(bytes(), 0);
}

#[test]
fn a_seed_decides_what_files_hold() {
    let Some(_alone) = alone("a_seed_decides_what_files_hold", &EXT4) else { return };
    let content = |seed| {
        let (_folder, path) = image(64);
        let (kind, interrupt) = (FilesystemKind::Ext4, Interrupt::default());
        let (mount_options, cache) = (Vec::new(), CacheControl::Keep);
        let options = MakeOptions { kind, mount_options, cache, seed, interrupt };
        let mut filesystems = claimed(&path, options).unwrap();
        filesystems.make(&FilesystemSpec::default()).unwrap();
        let file = FileId(1);
        perform(filesystems.directory(), FileCommand::Create { file });
        let write = FileCommand::Write { file, offset: Bytes(0), length: Bytes(4_096) };
        perform(filesystems.directory(), write);
        let bytes = fs::read(filesystems.directory().path().join("file-1")).unwrap();
        assert_eq!(bytes.len(), 4_096);
        // The first eight tell blocks apart.
        bytes[8..].to_vec()
    };
    assert_eq!(content(1), content(1));
    assert_ne!(content(1), content(2));
}

#[test]
fn what_only_a_model_can_do_is_refused() {
    let Some(_alone) = alone("what_only_a_model_can_do_is_refused", &EXT4) else { return };
    let (_folder, path) = image(64);
    let mut filesystems = made(&path, FilesystemKind::Ext4, &[]).unwrap();
    let policy = options(DiscardMode::Policy("paced".to_owned()), true);
    let state = FilesystemSpec { start_state: Some(0), ..FilesystemSpec::default() };
    for (options, said) in [(policy, "`paced`"), (state, "start state")] {
        for refused in [filesystems.check(&options), filesystems.make(&options)] {
            let error = refused.expect_err("it is real");
            assert!(error.reason.contains(said), "{error}");
        }
    }
    let mut carried = [0; 2];
    fs::File::open(&path).unwrap().read_exact_at(&mut carried, 1080).unwrap();
    assert_eq!(carried, [0, 0], "no superblock was written");
    filesystems.check(&FilesystemSpec::default()).unwrap();
}

#[test]
fn discards_are_only_measured_where_the_device_takes_them() {
    let test = "discards_are_only_measured_where_the_device_takes_them";
    let Some(_alone) = apart(test) else { return };
    let folder = scratch();
    // Its files have no holes.
    run("mount", &["-t", "ramfs", "ramfs", &folder.path().display().to_string()]);
    let device = LoopDevice::over(&folder.path().join("image"), 64);
    let mut filesystems = made(Path::new(device.node()), FilesystemKind::Ext4, &[]).unwrap();
    let (operation, reason) = failure(filesystems.make(&options(DiscardMode::Online, true)));
    assert!(operation == "mount" && reason.contains("-o discard"), "{operation}: {reason}");
    assert!(!is_mounted(device.node()));
    filesystems.make(&options(DiscardMode::Off, true)).expect("none are sent");
    assert!(is_mounted(device.node()));
    drop((filesystems, device));
    run("umount", &["--lazy", &folder.path().display().to_string()]);
}

/// Whether the device is mounted in our own namespace.
fn is_mounted(node: &str) -> bool {
    let table = fs::read_to_string("/proc/self/mounts").expect("procfs is mounted");
    table.lines().any(|line| line.split(' ').next() == Some(node))
}

#[test]
fn what_another_puts_on_the_device_meanwhile_is_not_overwritten() {
    let test = "what_another_puts_on_the_device_meanwhile_is_not_overwritten";
    let needs = [&EXT4[..], &[Program("mkswap")]].concat();
    let Some(_alone) = alone(test, &needs) else { return };
    let device = LoopDevice::new(64);
    let mut filesystems = made(Path::new(device.node()), FilesystemKind::Ext4, &[]).unwrap();
    filesystems.make(&FilesystemSpec::default()).expect("nothing is there");
    filesystems.unmount().expect("nobody uses it");
    run("wipefs", &["--all", device.node()]);
    run("mkswap", &[device.node()]);
    let (operation, reason) = failure(filesystems.make(&FilesystemSpec::default()));
    assert!(operation == "make" && reason.contains("swap"), "{operation}: {reason}");
    let table = run("wipefs", &["--noheadings", "--output", "TYPE", device.node()]);
    assert_eq!(table.trim(), "swap");
}

/// Where the filesystem is mounted, and a file in it that is open.
fn in_use(filesystems: &mut MkfsProvisioner) -> (PathBuf, fs::File) {
    filesystems.make(&FilesystemSpec::default()).expect("it is large enough");
    let path = filesystems.directory().path().to_owned();
    let file = fs::File::create(path.join("used")).expect("there is room");
    (path, file)
}

#[test]
fn the_end_waits_for_others_that_are_still_there_for_a_moment() {
    let test = "the_end_waits_for_others_that_are_still_there_for_a_moment";
    let Some(_alone) = alone(test, &EXT4) else { return };
    let (_folder, path) = image(64);
    let mut filesystems = made(&path, FilesystemKind::Ext4, &[]).unwrap();
    let (_, file) = in_use(&mut filesystems);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pause(200);
            ended.store(true, Ordering::Relaxed);
            drop(file);
        });
        drop(filesystems);
        assert!(ended.load(Ordering::Relaxed), "it is unmounted and not merely detached");
    });
}

#[expect(clippy::disallowed_methods, reason = "it is no target's time that passes")]
fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

#[test]
fn what_others_keep_using_is_detached() {
    let needs = [&EXT4[..], &[Program("mkfs.btrfs"), Filesystem("btrfs")]].concat();
    let Some(_alone) = alone("what_others_keep_using_is_detached", &needs) else { return };
    // btrfs has a device number of its own.
    for (kind, mebibytes) in [(FilesystemKind::Ext4, 64), (FilesystemKind::Btrfs, 256)] {
        let (_folder, path) = image(mebibytes);
        let mut filesystems = made(&path, kind, &[]).unwrap();
        let (place, file) = in_use(&mut filesystems);
        let (operation, reason) = failure(filesystems.unmount().map(drop));
        assert!(operation == "unmount" && reason.contains("busy"), "{operation}: {reason}");
        drop(filesystems);
        let workspace = place.ancestors().nth(2).expect("it lies in a directory of ours");
        assert!(!workspace.exists(), "{kind:?}: {}", workspace.display());
        file.write_all_at(b"still there", 0).expect("its user has it until the end");
    }
}

#[test]
fn what_a_killed_run_left_mounted_is_removed_by_the_next() {
    const KILLED: &str = "TRIMBENCH_TEST_KILLED";
    let test = "what_a_killed_run_left_mounted_is_removed_by_the_next";
    let Some(_alone) = apart(test) else { return };
    if let Some(path) = std::env::var_os(KILLED) {
        let mut filesystems = made(Path::new(&path), FilesystemKind::Ext4, &[]).unwrap();
        filesystems.make(&FilesystemSpec::default()).expect("it is large enough");
        std::process::abort();
    }
    // Otherwise another run that begins meanwhile could remove it.
    run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
    let (_folder, path) = image(64);
    let killed = Command::new(own_program()).args(["--exact", test]).env(KILLED, &path).output();
    let killed = killed.expect("it is there");
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
    let entries = fs::read_dir("/run").unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.to_string_lossy().starts_with("/run/.trimbench-");
    let left: Vec<PathBuf> = entries.filter(name).collect();
    assert!(left.len() == 1 && attached(&path), "{left:?}");
    let (_other_folder, other) = image(64);
    let next = made(&other, FilesystemKind::Ext4, &[]).unwrap();
    assert_eq!(next.cleaned_leftovers(), left);
    assert!(!left[0].exists(), "it is unmounted");
    let after = made(&path, FilesystemKind::Ext4, &[]);
    assert!(matches!(after, Err(MakeError::Claim(_))), "it carries a filesystem now: {after:?}");
}

#[test]
fn what_this_system_lacks_is_told_before_anything_is_begun() {
    let test = "what_this_system_lacks_is_told_before_anything_is_begun";
    let Some(_alone) = apart(test) else { return };
    let folder = scratch();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let missing = || {
        let (_folder, path) = image(64);
        match made(&path, FilesystemKind::Ext4, &[]) {
            Ok(_) => None,
            Err(MakeError::Provision(error)) => Some((error.reason, error.advice.unwrap())),
            Err(other) => panic!("{other}"),
        }
    };
    let modules = Path::new("/lib/modules");
    if !modules.exists() {
        let library = fs::canonicalize("/lib").expect("every system has it");
        let library = library.to_str().expect("it is ASCII");
        let (upper, work) = (at("upper"), at("work"));
        fs::create_dir(&upper).and_then(|()| fs::create_dir(&work)).expect("it is ours");
        let layers = format!("lowerdir={library},upperdir={upper},workdir={work}");
        run("mount", &["-t", "overlay", "-o", &layers, "overlay", library]);
        fs::create_dir(modules).expect("it is over the other");
    }
    run("mount", &["-t", "tmpfs", "tmpfs", "/lib/modules"]);
    assert_eq!(missing(), None, "what the kernel has needs no module");

    fs::write(at("known"), "nodev\ttmpfs\n\text3\nnodev\text4x\n").unwrap();
    run("mount", &["--bind", &at("known"), "/proc/filesystems"]);
    let advice = "name another filesystem".to_owned();
    assert_eq!(missing(), Some(("this kernel has no ext4".to_owned(), advice)));

    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    fs::create_dir_all(modules.join(release.trim()).join("kernel/fs/ext4")).unwrap();
    assert_eq!(missing(), None, "it can be loaded");

    run("mount", &["--bind", "/dev/null", &program("mkfs.ext4")]);
    let advice = "install e2fsprogs".to_owned();
    assert_eq!(missing(), Some(("there is no `mkfs.ext4`".to_owned(), advice)));
}

/// Where a program is that [`requires`] found.
fn program(name: &str) -> String {
    let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(|it| Path::new(it).join(name));
    let path = folders.into_iter().find(|path| path.exists());
    path.expect("it is installed").display().to_string()
}

#[test]
fn programs_that_do_nothing_or_something_else_are_not_believed() {
    let test = "programs_that_do_nothing_or_something_else_are_not_believed";
    let Some(_alone) = apart(test) else { return };
    let (_folder, path) = image(64);
    let foreign = LoopDevice::new(64);
    run("mkfs.ext4", &["-q", foreign.node()]);
    let mut filesystems = made(&path, FilesystemKind::Ext4, &[]).unwrap();
    filesystems.make(&FilesystemSpec::default()).expect("the programs are the system's");
    filesystems.unmount().expect("nobody uses it");
    let other = format!("for place; do :; done; exec $REAL {} $place", foreign.node());
    for (name, script, said) in [
        ("mkfs.ext4", "exit 0", "its filesystem is not there"),
        ("mkfs.ext4", "exec $REAL -q -F /proc/self/fd/0", "its filesystem is not there"),
        ("mount", "exit 0", "something else was mounted"),
        ("mount", &other, "something else was mounted"),
        // The arguments: -t ext4 -o OPTIONS DEVICE PLACE.
        ("mount", "mkfs.ext4 -q -F $5; exec $REAL \"$@\"", "does not carry the filesystem"),
    ] {
        let (folder, itself) = (scratch(), program(name));
        let (real, wrapper) = (folder.path().join(name), folder.path().join("wrapper"));
        fs::copy(&itself, &real).unwrap();
        fs::write(&wrapper, format!("#!/bin/sh\nREAL={}\n{script}\n", real.display())).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        run("mount", &["--bind", &wrapper.display().to_string(), &itself]);
        let (_, reason) = failure(filesystems.make(&FilesystemSpec::default()));
        run("umount", &[&itself]);
        assert!(reason.contains(said), "{name} {script}: {reason}");
        assert!(!is_mounted(foreign.node()), "{script}");
    }
    filesystems.make(&FilesystemSpec::default()).expect("the programs are the system's again");
}
