//! Real filesystems made anew on image files and loop devices: made as wished, and gone afterwards,
//! whatever happens.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tests::Need::{Filesystem, Loop, Program, Root};
use tests::{LoopDevice, requires};
use trimbench_core::{
    Bytes, Completion, DiscardMode, FileCommand, FileId, FilesystemWish, Instant, Interrupt,
    ProvisionError, Provisioner as _, Status, Support, Tag, Target,
};
use trimbench_linux::{
    CacheControl, Consent, FilesystemKind, Inspection, MadeFilesystems, MakeError, MakeOptions,
    mount_of,
};

/// Those that are made on `path`, which may be overwritten.
fn made(path: &Path, kind: FilesystemKind, options: &[&str]) -> Result<MadeFilesystems, MakeError> {
    let mount_options = options.iter().map(|option| (*option).to_owned()).collect();
    made_with(path, (kind, mount_options), CacheControl::Keep)
}

fn made_with(
    path: &Path,
    (kind, mount_options): (FilesystemKind, Vec<String>),
    cache: CacheControl,
) -> Result<MadeFilesystems, MakeError> {
    let interrupt = Interrupt::default();
    let options = MakeOptions { kind, mount_options, cache, seed: 1, interrupt };
    let inspection = Inspection::of(path).expect("it is there");
    let destroy = inspection.destroy_names();
    let consent = Consent { destroy, ..Consent::default() };
    MadeFilesystems::claim(&inspection, &consent, options)
}

/// An image that takes no room.
fn image(mebibytes: u64) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let path = folder.path().join("image");
    let file = std::fs::File::create(&path).expect("the folder is ours");
    file.set_len(mebibytes << 20).expect("sparse files take no room");
    (folder, path)
}

fn wish(discard: DiscardMode, mkfs_discard: bool) -> FilesystemWish {
    FilesystemWish { discard, mkfs_discard, ..FilesystemWish::default() }
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

/// Each filesystem is new, of this type and mounted as wished; nothing is left.
fn is_made_as_wished(kind: FilesystemKind, mebibytes: u64) {
    let (_folder, path) = image(mebibytes);
    let mut filesystems = made(&path, kind, &["noatime"]).expect("it may be overwritten");
    let mut place = std::path::PathBuf::new();
    for discard in [DiscardMode::Online, DiscardMode::Off] {
        filesystems.make(&wish(discard.clone(), true)).expect("the image is large enough");
        let files = filesystems.files();
        files.path().clone_into(&mut place);
        let mount = mount_of(&place).expect("it is mounted");
        assert_eq!(mount.filesystem, kind.id());
        assert!(mount.has_option("noatime"), "{}", mount.options);
        let online = if discard == DiscardMode::Online { Support::Native } else { Support::None };
        assert_eq!(files.capabilities().discard, online, "{}", mount.options);
        let entries = std::fs::read_dir(&mount.mount_point).expect("it can be read");
        let names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        assert!(!names.iter().any(|name| name == "left"), "it is new: {names:?}");
        std::fs::write(mount.mount_point.join("left"), "behind").expect("there is room");
        perform(filesystems.files(), FileCommand::Create { file: FileId(1) });
        filesystems.unmount().expect("nobody uses it");
        assert!(!place.exists(), "it is unmounted");
    }
    // Dropped while mounted.
    filesystems.make(&FilesystemWish::default()).expect("once more");
    drop(filesystems);
    assert!(!place.exists() && !attached(&path));
    let workspace = place.ancestors().nth(2).expect("the mount point lies in a directory of ours");
    assert!(!workspace.exists(), "{}", workspace.display());
}

#[test]
fn ext4_is_made_as_wished_and_gone_afterwards() {
    let needs = [Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")];
    if requires("ext4_is_made_as_wished_and_gone_afterwards", &needs) {
        is_made_as_wished(FilesystemKind::Ext4, 128);
    }
}

#[test]
fn xfs_is_made_as_wished_and_gone_afterwards() {
    let needs = [Root, Loop, Program("mkfs.xfs"), Filesystem("xfs")];
    if requires("xfs_is_made_as_wished_and_gone_afterwards", &needs) {
        is_made_as_wished(FilesystemKind::Xfs, 512);
    }
}

#[test]
fn btrfs_is_made_as_wished_and_gone_afterwards() {
    let needs = [Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")];
    if requires("btrfs_is_made_as_wished_and_gone_afterwards", &needs) {
        is_made_as_wished(FilesystemKind::Btrfs, 256);
    }
}

/// Bytes of discards that the device has completed.
fn discarded(device: &LoopDevice) -> u64 {
    let stat = device.queue("..").join("stat");
    let text = std::fs::read_to_string(stat).expect("a device has counters");
    let sectors = text.split_whitespace().nth(13).expect("Linux 4.18 and later count discards");
    sectors.parse::<u64>().expect("a counter is a number") * 512
}

#[test]
fn mkfs_discards_the_device_only_if_that_is_wished() {
    let test = "mkfs_discards_the_device_only_if_that_is_wished";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    let device = LoopDevice::new(128);
    let mut filesystems = made(Path::new(device.node()), FilesystemKind::Ext4, &[]).unwrap();
    for (mkfs_discard, expected) in [(true, 128 << 20), (false, 0)] {
        let before = discarded(&device);
        // The second time it carries what was made the first time.
        filesystems.make(&wish(DiscardMode::Off, mkfs_discard)).expect("it may be overwritten");
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
    if !requires(test, &[Root, Loop, Program("mkfs.xfs"), Program("mkfs.ext4"), Filesystem("xfs")])
    {
        return;
    }
    let (_folder, small) = image(100);
    let mut too_small = made(&small, FilesystemKind::Xfs, &[]).unwrap();
    let (operation, reason) = failure(too_small.make(&FilesystemWish::default()));
    assert!(operation == "make" && reason.contains("mkfs.xfs"), "{operation}: {reason}");
    drop(too_small);

    let mut wrong_option = made(&small, FilesystemKind::Ext4, &["nonsense"]).unwrap();
    let (operation, reason) = failure(wrong_option.make(&FilesystemWish::default()));
    assert!(operation == "mount" && reason.contains("mount:"), "{operation}: {reason}");
    drop(wrong_option);
    assert!(!attached(&small));
}

#[test]
fn a_memory_limit_holds_for_this_process_until_it_ends() {
    let test = "a_memory_limit_holds_for_this_process_until_it_ends";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")]) {
        return;
    }
    let groups = || std::fs::read_to_string("/proc/self/cgroup").expect("procfs is mounted");
    let before = groups();
    let (_folder, path) = image(128);
    let limit = CacheControl::Limit(Bytes::gib(1));
    let limited = made_with(&path, (FilesystemKind::Ext4, Vec::new()), limit).unwrap();
    let line = groups().lines().find(|line| line.contains("/trimbench-")).map(str::to_owned);
    let line = line.expect("the process is in a group of ours");
    drop(limited);
    assert_eq!(groups(), before, "it was in {line}");
}
