//! The directory target on real filesystems: ext4, XFS and btrfs on loop devices; and the drain
//! rules of `docs/reference/drain-rules.md`, measured again.
//!
//! What is asserted of times is what the rules promise, not what one machine needs.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tests::Need::{Filesystem, Loop, Program, Root};
use tests::machine::APART_FROM_MOUNTS;
use tests::{LoopFilesystem, requires, run};
use trimbench_claim::inspect::environment;
use trimbench_core::{
    Bytes, Caveat, Completion, DeviceStatistics, Errno, FileCommand, FileId, ForceDiscards,
    Instant, Medium, MountDiscard, Nanos, Status, Storage as _, Support, Tag, Target as _,
};
use trimbench_linux::{
    DRAIN_RULES, DirectoryOptions, DirectoryTarget, DiscardObstacle, FilesystemDrain,
};

/// The file that is deleted.
const VICTIM: FileId = FileId(1);
/// The file whose fsync forces the log.
const SCRATCH: FileId = FileId(2);
/// Deleted in each test: two block groups of ext4, or more than one of btrfs's small ones.
const FREED: Bytes = Bytes(256 << 20);
/// How often counters are read.
const LOOK: Nanos = Nanos::from_millis(10);

/// When discards were seen, from the end of the drain's commands on.
struct Seen {
    discards: Bytes,
    first: Option<Nanos>,
    last: Nanos,
    pending_after_sync: Option<Bytes>,
    pending_at_end: Option<Bytes>,
}

fn open(path: &Path) -> DirectoryTarget {
    DirectoryTarget::open(path, DirectoryOptions::default()).expect("the directory is suitable")
}

fn perform(target: &mut DirectoryTarget, command: FileCommand) -> Status {
    target.submit(Tag(1), command).expect("a valid command");
    let mut out: Vec<Completion> = Vec::new();
    while out.is_empty() {
        // A finite deadline: metadata goes to a thread, as it does under load.
        target.reap(target.now() + LOOK, &mut out);
    }
    out[0].status
}

fn done(target: &mut DirectoryTarget, command: FileCommand) {
    assert_eq!(perform(target, command), Status::Done, "{command:?}");
}

fn write(file: FileId, length: Bytes) -> FileCommand {
    FileCommand::Write { file, offset: Bytes(0), length }
}

fn pause(target: &mut DirectoryTarget, span: Nanos) {
    let mut out = Vec::new();
    target.reap(target.now() + span, &mut out);
}

fn since(target: &DirectoryTarget, before: &DeviceStatistics) -> Bytes {
    target.statistics().discard.bytes - before.discard.bytes
}

/// Writes a file, lets everything come to rest, deletes it, drains as the target's rule says, and
/// watches until all is discarded, `within` at the longest.
fn delete_and_drain(target: &mut DirectoryTarget, within: Nanos) -> Seen {
    let rule = target.capabilities().drain;
    done(target, FileCommand::Create { file: SCRATCH });
    done(target, FileCommand::Create { file: VICTIM });
    done(target, write(VICTIM, FREED));
    done(target, FileCommand::Fsync { file: VICTIM });
    done(target, FileCommand::SyncFilesystem);
    pause(target, Nanos::from_secs(1));
    let before = target.statistics();
    done(target, FileCommand::Unlink { file: VICTIM });
    match rule.force {
        ForceDiscards::Sync => done(target, FileCommand::SyncFilesystem),
        ForceDiscards::FsyncDirtyFile => {
            done(target, write(SCRATCH, Bytes(4096)));
            done(target, FileCommand::Fsync { file: SCRATCH });
        }
    }
    let forced = target.now();
    let pending_after_sync = target.statistics().discard_pending;
    let (mut first, mut last, mut seen) = (None, Nanos::ZERO, Bytes(0));
    while target.now() < forced + within {
        let discards = since(target, &before);
        let elapsed = target.now().since(forced);
        if discards > seen {
            first = first.or(Some(elapsed));
            (last, seen) = (elapsed, discards);
        }
        let pending = target.statistics().discard_pending;
        if seen >= FREED && pending.is_none_or(|pending| pending.0 == 0) {
            break;
        }
        pause(target, LOOK);
    }
    let pending_at_end = target.statistics().discard_pending;
    Seen { discards: seen, first, last, pending_after_sync, pending_at_end }
}

/// All discards of a deletion come, in the time that the drain rule of the filesystem allows. On a
/// disk that others keep busy they can come late though the rule is right: it is tried three times,
/// each on a filesystem of its own.
fn drains_in_time(kind: &str, row: &FilesystemDrain) {
    let is_deferred = row.mount == Some(MountDiscard::Deferred);
    let drained = || {
        let filesystem = LoopFilesystem::new(kind, 1024, row.option);
        let mut target = open(filesystem.path());
        let expected = row.mount.unwrap_or(MountDiscard::AtCommit);
        assert_eq!(target.discard_path().mount, expected, "{kind}");
        assert_eq!(target.capabilities().discard, Support::Native, "{kind}");
        assert_eq!(target.caveats(), [Caveat::NotAPhysicalSsd], "{kind}");
        assert_eq!(target.statistics().discard_pending.is_some(), is_deferred, "{kind}");
        let rule = target.capabilities().drain;
        assert_eq!(rule, row.rule(), "{kind}");
        // No rule writes to the scratch file where discards are deferred: live data would make its
        // block group wait 120 s instead of 10.
        let seen = delete_and_drain(&mut target, Nanos::from_secs(45));
        assert!(seen.discards >= FREED, "{kind}: {} of {FREED}", seen.discards);
        target.close().expect("the filesystem is still there");
        let first = seen.first.expect("discards were seen");
        if is_deferred {
            let pending = seen.pending_after_sync.expect("it is counted from the mount on");
            assert!(pending >= FREED, "{pending}");
            assert_eq!(seen.pending_at_end, Some(Bytes(0)));
            assert!(first >= Nanos::from_secs(5), "deferred, but seen after {first}");
        }
        let in_time = first <= rule.latest_start && seen.last <= rule.latest_start + rule.quiet;
        (in_time, first, seen.last)
    };
    let mut late = Vec::new();
    while late.len() < 3 {
        let (in_time, first, last) = drained();
        if in_time {
            return;
        }
        late.push((first, last));
    }
    panic!("{kind} was late three times, first and last discard: {late:?}");
}

#[test]
fn the_discards_of_a_deletion_come_as_the_drain_rule_of_each_filesystem_says() {
    let test = "the_discards_of_a_deletion_come_as_the_drain_rule_of_each_filesystem_says";
    for row in &DRAIN_RULES {
        let Some(kind) = row.types.first() else { continue };
        let mkfs = format!("mkfs.{kind}").leak();
        if requires(test, &[Root, Loop, Program(mkfs), Filesystem(kind)]) {
            drains_in_time(kind, row);
        }
    }
}

#[test]
fn without_the_mount_option_only_fitrim_discards() {
    let test = "without_the_mount_option_only_fitrim_discards";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 1024, "nodiscard");
    let mut target = open(filesystem.path());
    assert_eq!(target.capabilities().discard, Support::None);
    assert_eq!(target.discard_path().obstacle(), Some(DiscardObstacle::NotMountedWithDiscard));
    let before = target.statistics();
    let seen = delete_and_drain(&mut target, Nanos::from_secs(1));
    assert_eq!(seen.discards, Bytes(0));
    done(&mut target, FileCommand::TrimFreeSpace);
    assert!(since(&target, &before) >= FREED);
}

#[test]
fn a_full_filesystem_is_refused_and_one_that_fills_up_says_enospc() {
    let test = "a_full_filesystem_is_refused_and_one_that_fills_up_says_enospc";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 256, "discard");
    let mut target = open(filesystem.path());
    let Medium::Directory { available, .. } = target.capabilities().medium else {
        panic!("a directory target stores in a directory");
    };
    assert!(available < FREED);
    done(&mut target, FileCommand::Create { file: VICTIM });
    let status = perform(&mut target, write(VICTIM, Bytes(2 * FREED.0)));
    assert_eq!(status, Status::Failed(Errno::ENOSPC));
    let refused = DirectoryTarget::open(filesystem.path(), DirectoryOptions::default());
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("is nearly full"), "{error}");
    target.close().unwrap();
    assert!(fs::read_dir(filesystem.path()).unwrap().all(|entry| {
        // mkfs.ext4 makes this one.
        entry.unwrap().file_name() == "lost+found"
    }));
    open(filesystem.path()).close().unwrap();
}

/// As in a container that masks sysfs: the test runs itself again where it cannot be read.
#[test]
fn where_sysfs_is_masked_nothing_is_said_of_discards() {
    const NAME: &str = "where_sysfs_is_masked_nothing_is_said_of_discards";
    if !requires(NAME, &[Root, Loop, Program("mkfs.ext4"), Program("unshare")]) {
        return;
    }
    let is_masked = fs::read_dir("/sys/dev/block").expect("it is there").next().is_none();
    if !is_masked {
        let own = std::env::current_exe().expect("it runs");
        let own = own.to_str().expect("it is text");
        let script = "mount -t tmpfs none /sys/dev/block && exec \"$0\" --exact \"$1\"";
        let mask = ["sh", "-c", script, own, NAME];
        run(APART_FROM_MOUNTS[0], &[&APART_FROM_MOUNTS[1..], &mask[..]].concat());
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 64, "discard");
    let refused = DirectoryTarget::open(filesystem.path(), DirectoryOptions::default());
    let error = refused.unwrap_err().to_string();
    let unknown = "`, so whether discards were sent is unknown";
    assert!(error.starts_with("cannot read `/sys/dev/block/7:") && error.contains(unknown));
    assert!(!error.contains("not mounted"), "{error}");
}

#[test]
fn a_filesystem_without_inodes_is_not_said_to_lack_space() {
    let test = "a_filesystem_without_inodes_is_not_said_to_lack_space";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 64, "nodiscard");
    assert!(!DirectoryTarget::has_no_inodes(filesystem.path()));
    let files = (0..).map(|index| filesystem.path().join(index.to_string()));
    let end = files.map(fs::File::create).find_map(Result::err).expect("inodes come to an end");
    assert_eq!(end.raw_os_error(), Some(Errno::ENOSPC.0));
    assert!(DirectoryTarget::has_no_inodes(filesystem.path()));
    let refused = DirectoryTarget::open(filesystem.path(), DirectoryOptions::default());
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("free space and no free inodes"), "{error}");
}

/// Thaws when dropped: an unmount of a frozen filesystem would hang.
struct Frozen<'a>(&'a str);

impl<'a> Frozen<'a> {
    fn new(mount_point: &'a str) -> Self {
        run("fsfreeze", &["--freeze", mount_point]);
        Self(mount_point)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        run("fsfreeze", &["--unfreeze", self.0]);
    }
}

#[test]
fn a_frozen_filesystem_holds_thousands_of_writes_and_the_caller_stays_on_time() {
    let test = "a_frozen_filesystem_holds_thousands_of_writes_and_the_caller_stays_on_time";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Program("fsfreeze")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 1024, "discard");
    let mut target = open(filesystem.path());
    for file in [VICTIM, SCRATCH] {
        done(&mut target, FileCommand::Create { file });
        done(&mut target, write(file, Bytes::mib(16)));
    }
    let frozen = Frozen::new(filesystem.path().to_str().unwrap());
    let start = target.now();
    for tag in 0..2500 {
        let offset = Bytes(u64::from(tag) * 4096);
        let command = FileCommand::Write { file: SCRATCH, offset, length: Bytes(4096) };
        target.submit(Tag(tag), command).unwrap();
    }
    target.submit(Tag(2500), FileCommand::Unlink { file: VICTIM }).unwrap();
    target.submit(Tag(2501), FileCommand::Unlink { file: SCRATCH }).unwrap();
    assert!(target.now() - start < Nanos::from_secs(1), "submitting waits for nothing");
    let mut out = Vec::new();
    let deadline = target.now() + Nanos::from_millis(500);
    target.reap(deadline, &mut out);
    assert_eq!(out, []);
    assert!(target.now() - deadline < Nanos::from_millis(100));
    assert_eq!(target.statistics().outstanding, 2502);
    let threads = fs::read_dir("/proc/self/task").unwrap().count();
    assert!(threads < 500, "{threads} threads for 2500 requests");
    drop(frozen);
    while out.len() < 2502 {
        target.reap(Instant::NEVER, &mut out);
    }
    assert!(out.iter().all(|completion| completion.status == Status::Done));
    // That of the other file may come at any time.
    let mut of_scratch = out.iter().filter(|completion| completion.tag != Tag(2500));
    let unlinked = of_scratch.position(|completion| completion.tag == Tag(2501));
    assert_eq!(unlinked, Some(2500), "the unlink comes after all writes of its file");
    target.close().unwrap();
}

#[test]
fn read_only_and_immutable_places_are_refused() {
    let test = "read_only_and_immutable_places_are_refused";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Program("chattr")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("ext4", 256, "discard");
    let mount_point = filesystem.path().to_str().unwrap();
    let refused =
        || DirectoryTarget::open(filesystem.path(), DirectoryOptions::default()).unwrap_err();
    run("chattr", &["+i", mount_point]);
    let immutable = refused();
    run("chattr", &["-i", mount_point]);
    assert!(immutable.to_string().contains("cannot create files"), "{immutable}");
    run("mount", &["-o", "remount,ro", mount_point]);
    let read_only = refused();
    assert!(read_only.to_string().contains("is read-only"), "{read_only}");
}

#[test]
fn the_snapshot_describes_a_loop_device() {
    let test = "the_snapshot_describes_a_loop_device";
    if !requires(test, &[Root, Loop, Program("mkfs.btrfs"), Filesystem("btrfs")]) {
        return;
    }
    let filesystem = LoopFilesystem::new("btrfs", 256, "discard=async");
    let found = environment(filesystem.path()).unwrap();
    let value = |key: &str| found.get(key).map_or("", String::as_str);
    assert_eq!(value("filesystem"), "btrfs");
    assert_eq!(value("device-kind"), "loop");
    assert!(value("loop-backing-file").ends_with("/image"), "{found:?}");
    assert!(value("mount-options").contains("discard=async"), "{found:?}");
    assert_eq!(value("device-sectors"), (256 << 11).to_string());
    let uuid = run("blkid", &["-s", "UUID", "-o", "value", filesystem.node()]);
    assert_eq!(value("filesystem-uuid"), uuid.trim());
    assert_eq!(value("disk-name"), filesystem.device_name());
    assert_eq!(value("mount-root"), "", "all of it is mounted: {found:?}");
    // Only what `mount -o loop` attaches goes with the mount, and is named by its file.
    assert_eq!(value("loop-file"), "");
    let again = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = again.path().join("image");
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let [image, point] = [image.as_path(), again.path()].map(|path| path.to_str().unwrap());
    run("mkfs.ext4", &["-q", image]);
    run("mount", &["-o", "loop", image, point]);
    let found = environment(again.path());
    run("umount", &[point]);
    let found = found.unwrap();
    let of_file = ["loop-options", "loop-file"].map(|key| found.get(key).map(String::as_str));
    assert_eq!(of_file, [Some("loop"), Some(image)]);
}

#[test]
fn in_memory_filesystems_work_with_a_caveat() {
    let test = "in_memory_filesystems_work_with_a_caveat";
    if !requires(test, &[Root, Filesystem("tmpfs")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=256m", "tmpfs", path]);
    let mut target = open(folder.path());
    let (caveats, obstacle) = (target.caveats().to_vec(), target.discard_path().obstacle());
    done(&mut target, FileCommand::Create { file: VICTIM });
    let written = perform(&mut target, write(VICTIM, Bytes::mib(9)));
    let length = fs::metadata(target.path().join("file-1")).unwrap().len();
    let closed = target.close();
    run("umount", &[path]);
    assert_eq!(caveats, [Caveat::BufferedIo, Caveat::NotAPhysicalSsd]);
    assert_eq!(obstacle, Some(DiscardObstacle::NoDevice));
    assert_eq!((written, length), (Status::Done, 9 << 20));
    closed.unwrap();
}

/// The test runs itself again as the program that is killed.
#[test]
fn what_a_killed_run_left_is_cleaned_at_the_next_start() {
    const ROLE: &str = "TRIMBENCH_TEST_DIRECTORY";
    if let Some(parent) = std::env::var_os(ROLE) {
        let mut target = open(Path::new(&parent));
        done(&mut target, FileCommand::Create { file: VICTIM });
        done(&mut target, write(VICTIM, Bytes::mib(1)));
        fs::write(Path::new(&parent).join("ready"), b"").unwrap();
        pause(&mut target, Nanos::from_secs(60));
        panic!("nobody killed the program");
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let ready = folder.path().join("ready");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "what_a_killed_run_left_is_cleaned_at_the_next_start"])
        .env(ROLE, folder.path())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let own = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut clock = open(own.path());
    while !ready.exists() && clock.now() < Instant::from_start(Nanos::from_secs(30)) {
        pause(&mut clock, LOOK);
    }
    // While it lives, its directory is not touched.
    let beside = open(folder.path());
    assert!(beside.cleaned_leftovers().is_empty());
    beside.close().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let next = open(folder.path());
    assert_eq!(next.cleaned_leftovers().len(), 1);
    next.close().unwrap();
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["ready"]);
}
