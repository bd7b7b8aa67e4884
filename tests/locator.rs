//! Stall attribution on real filesystems: planted stalls are attributed to the right layer; and the
//! tracepoints that it uses.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use tests::Need::{Fuse, Loop, Program, Root, Tracing};
use tests::planted::{Planted, Seen};
use tests::superblocks::dos;
use tests::{LoopDevice, LoopFilesystem, Need, machine, requires, run};
use trimbench_core::{
    BlockRequest, Bytes, CallerWait, Completion, FileCommand, FileId, Nanos, Operation as _,
    OperationKind, Rejected, Status, Storage as _, Tag, Target as _,
};
use trimbench_engine::{StallAttribution, StallLayer, attribute_stalls};
use trimbench_linux::{
    DirectoryOptions, DirectoryTarget, RecordedCommand, RecordedEvent, Recorder,
};

const PLANTED: [Need; 6] = [Root, Loop, Fuse, Tracing, Program("mkfs.ext4"), Program("fsfreeze")];

/// Tests share a process, and so the names of their instances in tracefs: who looks at those takes
/// it for writing.
static TRACING: RwLock<()> = RwLock::new(());

/// What a test holds while it traces.
fn traces() -> RwLockReadGuard<'static, ()> {
    TRACING.read().unwrap_or_else(PoisonError::into_inner)
}

/// What was seen of a planted stall that is attributed to the right layers; `None` if it was
/// skipped.
fn located(test: &str, planted: Planted) -> Option<Seen> {
    if !requires(test, &PLANTED) {
        return None;
    }
    let (_traces, _beside) = (traces(), machine::beside());
    let seen = planted.watch();
    assert_eq!(seen.lost, 0);
    let located = attribute_stalls(&seen.waits, &seen.requests, planted.threshold());
    lies_in(&located, planted.layers(), planted.least_stall());
    Some(seen)
}

/// Asserts that at least 95 % of the stalled time lies in these places, and that there was enough.
#[track_caller]
fn lies_in(located: &StallAttribution, places: &[StallLayer], at_least: Nanos) {
    assert!(located.stalled() >= at_least, "{:?}", located.stalled());
    let share: f64 = places.iter().filter_map(|place| located.share(*place)).sum();
    assert!(share >= 0.95, "{share}: {:?}", located.slices);
}

#[test]
fn a_device_that_freezes_is_found_to_be_the_device() {
    let test = "a_device_that_freezes_is_found_to_be_the_device";
    let Some(seen) = located(test, Planted::FrozenDevice) else { return };
    // The discard of the file that was deleted just before is held up with the rest.
    let held =
        |request: &&BlockRequest| request.completed.since(request.issued) > Nanos::from_secs(1);
    let kinds: Vec<OperationKind> =
        seen.requests.iter().filter(held).map(|each| each.kind).collect();
    assert!(kinds.contains(&OperationKind::Write), "{kinds:?}");
}

#[test]
fn a_frozen_filesystem_is_found_to_be_above() {
    let _ = located("a_frozen_filesystem_is_found_to_be_above", Planted::FrozenFilesystem);
}

#[test]
fn exhausted_tags_are_found_to_be_the_device() {
    let test = "exhausted_tags_are_found_to_be_the_device";
    let Some(seen) = located(test, Planted::ExhaustedTags) else { return };
    // The reader waits for a tag, and only then in the device.
    let reader: Vec<_> =
        seen.waits.iter().copied().filter(|wait| wait.kind == OperationKind::Read).collect();
    let located = attribute_stalls(&reader, &seen.requests, Planted::ExhaustedTags.threshold());
    lies_in(&located, Planted::ExhaustedTags.layers(), Nanos::from_secs(1));
    assert!(located.share(StallLayer::Tags) > Some(0.1), "{:?}", located.slices);
}

/// A tracefs that is mounted for the test, and unmounted at its end unless others use it.
struct Tracefs(tempfile::TempDir);

impl Tracefs {
    fn new() -> Self {
        let new = Self(tests::scratch());
        run("mount", &["-t", "tracefs", "none", new.0.path().to_str().expect("a short name")]);
        new
    }

    fn instances(&self) -> PathBuf {
        self.0.path().join("instances")
    }

    /// Every one.
    fn all(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.instances()).expect("tracefs is mounted").flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

fn open(path: &Path) -> DirectoryTarget {
    DirectoryTarget::open(path, DirectoryOptions::default()).expect("the directory is suitable")
}

fn perform(target: &mut DirectoryTarget, command: FileCommand) -> CallerWait {
    let from = target.now();
    target.submit(Tag(1), command).expect("a valid command");
    let mut out: Vec<Completion> = Vec::new();
    while out.is_empty() {
        target.reap(target.now() + Nanos::from_secs(1), &mut out);
    }
    assert_eq!(out[0].status, Status::Done, "{command:?}");
    CallerWait { kind: command.kind(), from, to: out[0].at }
}

#[test]
fn each_request_of_the_device_is_seen_once_and_nothing_else() {
    let test = "each_request_of_the_device_is_seen_once_and_nothing_else";
    if !requires(test, &[Root, Loop, Tracing, Program("mkfs.ext4")]) {
        return;
    }
    let _traces = traces();
    let filesystem = LoopFilesystem::new("ext4", 256, "discard");
    let other = LoopFilesystem::new("ext4", 64, "defaults");
    let (mut target, mut others) = (open(filesystem.path()), open(other.path()));
    let file = FileId(1);
    perform(&mut target, FileCommand::Create { file });
    perform(&mut others, FileCommand::Create { file });
    perform(&mut target, FileCommand::SyncFilesystem);
    target.watch_requests(true).expect("root may trace");
    let before = target.statistics();
    let mut writes = Vec::new();
    for piece in 0..50 {
        let (offset, length) = (Bytes(piece << 16), Bytes(1 << 16));
        writes.push(perform(&mut target, FileCommand::Write { file, offset, length }));
        perform(&mut others, FileCommand::Write { file, offset, length });
    }
    perform(&mut target, FileCommand::Unlink { file });
    perform(&mut target, FileCommand::SyncFilesystem);
    let drain = target.now() + Nanos::from_secs(2);
    while target.statistics().discard.completed == before.discard.completed {
        assert!(target.now() < drain, "the discard comes right after the commit");
        target.reap(target.now() + Nanos::from_millis(5), &mut Vec::new());
    }
    target.reap(target.now() + Nanos::from_millis(20), &mut Vec::new());
    let after = target.statistics();
    let mut requests = Vec::new();
    target.take_requests(&mut requests);
    assert_eq!(target.requests_lost(), 0);
    // The device's own counters: each request once, and none of the other device.
    let flushes = after.flush.completed - before.flush.completed;
    for (kind, before, after) in [
        (OperationKind::Write, before.write, after.write),
        (OperationKind::Read, before.read, after.read),
        (OperationKind::Discard, before.discard, after.discard),
        (OperationKind::Flush, before.flush, after.flush),
    ] {
        let seen = requests.iter().filter(|each| each.kind == kind).count() as u64;
        let counted = after.completed - before.completed;
        // A flush without data is counted as a write too.
        let more = if kind == OperationKind::Write { flushes } else { 0 };
        assert!((seen..=seen + more).contains(&counted), "{kind:?}: {seen}, not {counted}");
    }
    for each in &requests {
        let times = (each.entered, each.issued, each.completed);
        assert!(times.0 <= times.1 && times.1 <= times.2 && times.2 <= target.now(), "{each:?}");
    }
    // One clock: the request of each write lies within what its caller waited.
    for wait in writes {
        let is_its = |each: &BlockRequest| {
            each.kind == OperationKind::Write
                && each.entered >= wait.from
                && each.completed <= wait.to
        };
        assert!(requests.iter().any(is_its), "{wait:?}");
    }
    // No more once it is over.
    target.watch_requests(false).expect("to end is always possible");
    let mut none = Vec::new();
    target.take_requests(&mut none);
    assert_eq!(none, []);
}

#[test]
fn nothing_of_ours_stays_in_tracefs_and_what_only_looks_like_it_does() {
    let test = "nothing_of_ours_stays_in_tracefs_and_what_only_looks_like_it_does";
    if !requires(test, &[Root, Loop, Tracing, Program("mkfs.ext4")]) {
        return;
    }
    let _alone = TRACING.write().unwrap_or_else(PoisonError::into_inner);
    let tracefs = Tracefs::new();
    let filesystem = LoopFilesystem::new("ext4", 64, "defaults");
    let mut target = open(filesystem.path());
    // Named as ours were once, as ours are, and otherwise: none was registered.
    let names = ["trimbench-999999-0", "trimbench-0123456789abcdef", "other"];
    let foreign = names.map(|name| tracefs.instances().join(name));
    for path in &foreign {
        fs::create_dir(path).expect("root may make instances");
    }
    let before = tracefs.all();
    target.watch_requests(true).expect("root may trace");
    let there = foreign.each_ref().map(|path| path.exists());
    for path in &foreign {
        fs::remove_dir(path).expect("nobody uses it");
    }
    assert_eq!(there, [true, true, true]);
    let own: Vec<PathBuf> = tracefs.all().into_iter().filter(|it| !before.contains(it)).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    let filter = fs::read_to_string(own[0].join("events/block/block_rq_issue/filter"));
    assert!(filter.expect("it is ours").starts_with("(dev == "), "only our device is recorded");
    drop(target);
    assert!(!own[0].exists(), "{own:?}");
}

#[test]
fn where_requests_cannot_be_seen_the_reason_is_told() {
    if !requires("where_requests_cannot_be_seen_the_reason_is_told", &[Root]) {
        return;
    }
    let folder = tests::scratch();
    let mut target = open(folder.path());
    let refused = target.watch_requests(true).expect_err("tmpfs has no device");
    assert_eq!(refused, Rejected::Unseen { reason: "there is no block device below".to_owned() });
    assert_eq!(target.requests_lost(), 0);
}

/// What of a device's commands is recorded while `act` runs: kind, offset and length.
fn recorded(
    node: &str,
    event: RecordedEvent,
    act: impl FnOnce(),
) -> Vec<(OperationKind, u64, u64)> {
    let mut recorder = Recorder::start(Path::new(node), event).expect("root may trace");
    let mut commands = Vec::new();
    act();
    recorder.take_rest(&mut commands);
    assert_eq!(recorder.lost(), 0);
    assert!(commands.is_sorted_by_key(|command| command.at));
    let parts = |it: &RecordedCommand| (it.kind, it.offset.0, it.length.0);
    commands.iter().map(parts).filter(|it| it.0 != OperationKind::Read).collect()
}

/// Writes two blocks with a flush behind them, and trims 512 KiB, through this node.
fn write_and_trim(node: &str) {
    let of = format!("of={node}");
    run(
        "dd",
        &["if=/dev/zero", &of, "bs=4096", "count=2", "seek=10", "oflag=direct", "conv=fsync"],
    );
    run("blkdiscard", &["--offset", "1048576", "--length", "524288", node]);
}

#[test]
fn the_commands_of_a_device_are_recorded_as_they_were_given() {
    use OperationKind::{Discard, Flush, Write};
    let test = "the_commands_of_a_device_are_recorded_as_they_were_given";
    if !requires(test, &[Root, Loop, Tracing, Program("partx")]) {
        return;
    }
    let _traces = traces();
    let device = LoopDevice::new(16);
    let node = device.node();
    let given = [
        (Write, 40_960, 4_096),
        (Write, 45_056, 4_096),
        (Flush, 0, 0),
        (Discard, 1 << 20, 512 << 10),
    ];
    for event in [RecordedEvent::Queued, RecordedEvent::Issued] {
        assert_eq!(recorded(node, event, || write_and_trim(node)), given, "{event:?}");
    }
    // Of a partition from its beginning; of its disk, from the disk's.
    let image = fs::OpenOptions::new().write(true).open(device.image()).unwrap();
    for (offset, bytes) in dos() {
        image.write_all_at(&bytes, offset).unwrap();
    }
    run("blockdev", &["--flushbufs", node]);
    run("partx", &["--add", node]);
    let part = format!("{node}p1");
    let of_part = recorded(&part, RecordedEvent::Queued, || write_and_trim(&part));
    let of_disk = recorded(node, RecordedEvent::Queued, || write_and_trim(&part));
    let error = Recorder::start(Path::new(&part), RecordedEvent::Issued).unwrap_err();
    run("partx", &["--delete", node]);
    assert_eq!(of_part, given);
    let shifted = given.map(|(kind, offset, length)| match kind {
        Flush => (kind, offset, length),
        _ => (kind, offset + (1 << 20), length),
    });
    assert_eq!(of_disk, shifted);
    assert!(error.to_string().contains("handles no requests of its own"), "{error}");
}

#[test]
fn a_recording_is_not_written_to_the_device_that_it_records() {
    let test = "a_recording_is_not_written_to_the_device_that_it_records";
    if !requires(test, &[Root, Loop, Tracing, Program("mkfs.ext4")]) {
        return;
    }
    let _traces = traces();
    let filesystem = LoopFilesystem::new("ext4", 32, "");
    let node = format!("/dev/{}", filesystem.device_name());
    let of_device = Recorder::start(Path::new(&node), RecordedEvent::Queued).unwrap();
    assert!(of_device.records(filesystem.path()));
    let another = LoopDevice::new(16);
    let of_another = Recorder::start(Path::new(another.node()), RecordedEvent::Queued).unwrap();
    assert!(!of_another.records(filesystem.path()));
    let error = Recorder::start(filesystem.path(), RecordedEvent::Queued).unwrap_err();
    assert_eq!(error.to_string(), "there is no block device below");
}
