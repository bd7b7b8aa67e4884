//! The block target on loop devices: requests that reach the device, and errors there.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::num::NonZero;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tests::Need::{Loop, RamDisk, Root};
use tests::obstacles::Scene;
use tests::{LoopDevice, Mounted, requires, run};
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Bytes, Caveat, Completion, Content, Data, Drive as _, DriveError, Errno, Instant,
    Interrupt, LbaRange, Ppm, Rejected, Status, Storage as _, Support, Tag, Target as _,
    TrimPromise,
};
use trimbench_engine::runner::Single;
use trimbench_engine::workload::{ClosedLoop, RandomAccess};
use trimbench_engine::{DeviceArea, Runner, Sample};
use trimbench_linux::{BlockMedium, BlockOptions, BlockTarget};

/// `O_DIRECT | O_EXCL` of this machine, as the kernel numbers them.
fn exclusive(node: &str) -> std::io::Result<File> {
    let direct = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
    OpenOptions::new().read(true).write(true).custom_flags(direct | 0o200).open(node)
}

#[expect(clippy::disallowed_methods, reason = "no target is there yet whose time could pass")]
fn open(node: &str, options: BlockOptions) -> BlockTarget {
    let mut tries = 0;
    let file = loop {
        match exclusive(node) {
            Ok(file) => break file,
            // A program that another test starts has all files of this process until it begins.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && tries < 100 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("nobody else has {node} open: {error}"),
        }
    };
    let medium = BlockMedium::of(file.into()).expect("it is suitable");
    BlockTarget::new(medium, options).expect("the kernel has what it needs")
}

fn range(target: &BlockTarget, offset: u64, length: u64) -> LbaRange {
    let size = target.medium().logical_block();
    LbaRange::from_bytes(Bytes(offset), Bytes(length), size).expect("whole blocks")
}

/// Executes all commands with at most `queue_depth` under way.
fn perform(
    target: &mut BlockTarget,
    queue_depth: usize,
    commands: impl IntoIterator<Item = BlockCommand>,
) -> Vec<Completion> {
    let (mut out, mut issued) = (Vec::new(), 0);
    for command in commands {
        while issued - out.len() >= queue_depth {
            target.reap(Instant::NEVER, &mut out);
        }
        let tag = Tag(u32::try_from(issued).expect("few commands"));
        target.submit(tag, command).expect("a valid command");
        issued += 1;
    }
    while out.len() < issued {
        target.reap(Instant::NEVER, &mut out);
    }
    out
}

fn all_done(completions: &[Completion]) -> bool {
    completions.iter().all(|completion| completion.status == Status::Done)
}

fn fill(target: &mut BlockTarget, data: Data) {
    let capacity = target.medium().capacity().0;
    let piece = 1 << 20;
    let offsets = (0..capacity).step_by(1 << 20);
    let commands: Vec<BlockCommand> = offsets
        .map(|offset| {
            let range = range(target, offset, piece.min(capacity - offset));
            BlockCommand::Write { range, data }
        })
        .collect();
    assert!(all_done(&perform(target, 8, commands)));
}

/// An attribute of sysfs that gets another value for a while.
struct Restored<'a>(&'a Path, String);

impl<'a> Restored<'a> {
    fn set(path: &'a Path, value: &str) -> Self {
        let before = fs::read_to_string(path).expect("the attribute is there");
        fs::write(path, value).expect("root may set it");
        Self(path, before)
    }
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        let restored = fs::write(self.0, self.1.trim());
        assert!(restored.is_ok() || std::thread::panicking(), "{}: {restored:?}", self.0.display());
    }
}

#[test]
fn a_device_that_takes_no_requests_that_must_not_wait_discards_all_the_same() {
    let test = "a_device_that_takes_no_requests_that_must_not_wait_discards_all_the_same";
    if !requires(test, &[Root, RamDisk]) {
        return;
    }
    let mut scene = Scene::default();
    let (device, _) = scene.ram_disk("nowait");
    let mut target = open(device.to_str().expect("a short name"), BlockOptions::default());
    let range = range(&target, 1 << 20, 1 << 20);
    let completions = perform(&mut target, 1, [BlockCommand::Discard(range)]);
    assert!(all_done(&completions), "{completions:?}");
    drop(target);
    let content = fs::read(&device).expect("it is ours");
    let (start, end) = (1 << 20, 2 << 20);
    assert!(content[start..end].iter().all(|byte| *byte == 0), "zram frees and reads zeroes");
    assert!(content[..start].iter().all(|byte| *byte != 0), "what lies before is as it was");
}

#[test]
fn every_discard_issued_is_completed_at_the_device() {
    if !requires("every_discard_issued_is_completed_at_the_device", &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new(4096);
    let nomerges = device.queue("nomerges");
    let _restored = Restored::set(&nomerges, "2");
    for discard_on_threads in [false, true] {
        let options = BlockOptions { discard_on_threads, ..BlockOptions::default() };
        let mut target = open(device.node(), options);
        assert_eq!(target.capabilities().discard, Support::Native);
        let granularity = target.capabilities().discard_granularity.0;
        let capacity = target.medium().capacity().0;
        for size in [granularity, 64 << 10, 1 << 20, 64 << 20, 1 << 30] {
            for queue_depth in [1, 32] {
                // Two discards in the middle of the device apart from each other, never adjacent.
                let count = (capacity / size / 2).min(100);
                let ranges = (0..count).map(|number| range(&target, number * size * 2, size));
                let discards: Vec<_> = ranges.map(BlockCommand::Discard).collect();
                let before = target.statistics();
                assert!(all_done(&perform(&mut target, queue_depth, discards)));
                let after = target.statistics();
                let seen = (
                    after.discard.completed - before.discard.completed,
                    after.discard.bytes - before.discard.bytes,
                );
                let what = format!("{size} bytes at queue depth {queue_depth}");
                assert_eq!(seen, (count, Bytes(count * size)), "{what}");
                assert_eq!(after.write, before.write, "{what}");
            }
        }
    }
}

/// Linux 6.17 and later mixes up ranges that it tries a second time, once the first request has
/// been overwritten: the more the busier the processors.
#[test]
fn discards_beyond_the_queue_reach_their_own_ranges() {
    const PIECE: u64 = 8_192;
    const COUNT: u64 = 4_096;
    if !requires("discards_beyond_the_queue_reach_their_own_ranges", &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new((2 * COUNT * PIECE) >> 20);
    let mut target = open(device.node(), BlockOptions::default());
    fill(&mut target, Data::Random);
    let busy = AtomicBool::new(true);
    thread::scope(|scope| {
        for _ in 0..2 * thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let read = BlockCommand::Read(range(&target, PIECE, 4_096));
        let discard = |number| BlockCommand::Discard(range(&target, 2 * number * PIECE, PIECE));
        let each = |number| std::iter::once(discard(number)).chain([read; 24]);
        let commands: Vec<BlockCommand> = (0..COUNT).flat_map(each).collect();
        let ended = perform(&mut target, 8_000, commands);
        busy.store(false, Ordering::Relaxed);
        assert!(all_done(&ended), "{:?}", ended.iter().find(|it| it.status != Status::Done));
    });
    drop(target);
    let bytes = fs::read(device.image()).unwrap();
    for (number, piece) in bytes.chunks(usize::try_from(PIECE).unwrap()).enumerate() {
        let is_discarded = piece.iter().all(|byte| *byte == 0);
        assert_eq!(is_discarded, number % 2 == 0, "piece {number}");
    }
}

#[test]
fn discards_free_the_image_and_the_rest_keeps_its_stamps() {
    if !requires("discards_free_the_image_and_the_rest_keeps_its_stamps", &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new(64);
    let allocated = || fs::metadata(device.image()).expect("the image is ours").blocks() * 512;
    let mut target = open(device.node(), BlockOptions::default());
    fill(&mut target, Data::Stamped(5));
    assert!(all_done(&perform(&mut target, 1, [BlockCommand::Flush])));
    let full = allocated();
    assert!(full >= 64 << 20, "{full}");
    let half = range(&target, 0, 32 << 20);
    assert!(all_done(&perform(&mut target, 1, [BlockCommand::Discard(half)])));
    assert!(allocated() <= full - (32 << 20) + (1 << 20), "{}", allocated());
    let mut found = Vec::new();
    let all = range(&target, 0, 64 << 20);
    target.examine(all, &mut found).expect("it can be read");
    let (freed, kept) = found.split_at(found.len() / 2);
    assert!(freed.iter().all(|content| *content == Content::Zeroes));
    assert!(kept.iter().all(|content| matches!(content, Content::Stamp { generation: 5, .. })));
    assert_eq!(target.trim_promise(), TrimPromise::Zeroes);
    target.purge().expect("a TRIM of everything");
    assert!(allocated() <= 1 << 20, "{}", allocated());
}

#[test]
fn a_loop_device_is_described_and_free_again_when_dropped() {
    let test = "a_loop_device_is_described_and_free_again_when_dropped";
    if !requires(test, &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new(16);
    let mut held = 0;
    for _ in 0..20 {
        // At once: the kernel must not hold on to it.
        held += u32::from(exclusive(device.node()).is_err());
        let mut target = open(device.node(), BlockOptions::default());
        fill(&mut target, Data::Random);
        exclusive(device.node()).expect_err("it is open exclusively");
    }
    // A few times it is a program that another test starts at that moment: until it begins, the
    // new process has all files of this one.
    assert!(held <= 10, "{held} of 20 times the device was busy after the target was dropped");
    let target = open(device.node(), BlockOptions::default());
    assert_eq!(target.caveats(), [Caveat::NotAPhysicalSsd]);
    let medium = target.medium();
    assert_eq!(medium.capacity(), Bytes::mib(16));
    assert_eq!(medium.loop_backing_file().as_deref(), Some(device.image()));
    let facts = medium.environment();
    for key in ["kernel", "device-kind", "scheduler", "nomerges", "discard-max-bytes"] {
        assert!(facts.contains_key(key), "{key} in {facts:?}");
    }
    assert_eq!(Some(&*facts["device-name"]), device.node().strip_prefix("/dev/"));
    assert_eq!(facts["loop-backing-file"], device.image().to_str().expect("ASCII"));
}

#[test]
fn a_device_without_discard_says_so() {
    if !requires("a_device_without_discard_says_so", &[Root, Loop]) {
        return;
    }
    // Nothing is freed in a ramfs, so a loop device over a file in it takes no discards.
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let _mounted = Mounted::new(&["-t", "ramfs", "-o", "mode=700", "none"], folder.path());
    let device = LoopDevice::over(&folder.path().join("image"), 16);
    let mut target = open(device.node(), BlockOptions::default());
    assert_eq!(target.capabilities().discard, Support::None);
    let discard = BlockCommand::Discard(range(&target, 0, 4096));
    let rejected = Err(Rejected::Unsupported { operation: "discard" });
    assert_eq!(target.submit(Tag(1), discard), rejected);
    assert!(matches!(target.purge(), Err(DriveError::Refused { .. })));
    assert_eq!(target.trim_promise(), TrimPromise::Unknown);
    fill(&mut target, Data::Random);
}

#[test]
fn a_device_that_shrinks_or_vanishes_ends_commands_with_the_reason() {
    let test = "a_device_that_shrinks_or_vanishes_ends_commands_with_the_reason";
    if !requires(test, &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new(16);
    let mut target = open(device.node(), BlockOptions::default());
    let image = OpenOptions::new().write(true).open(device.image()).expect("the image is ours");
    for (size, expected) in [(8_u64 << 20, Errno(6)), (0, Errno::ENODEV)] {
        image.set_len(size).expect("an image can be cut");
        run("losetup", &["--set-capacity", device.node()]);
        let beyond = range(&target, 12 << 20, 4096);
        for command in
            [BlockCommand::Read(beyond), BlockCommand::write(beyond), BlockCommand::Discard(beyond)]
        {
            let done = perform(&mut target, 1, [command]);
            assert_eq!(done[0].status, Status::Failed(expected), "{command:?} at {size}");
        }
    }
}

#[test]
fn a_full_filesystem_below_ends_writes_with_enospc_or_eio() {
    let test = "a_full_filesystem_below_ends_writes_with_enospc_or_eio";
    if !requires(test, &[Root, Loop]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let _mounted = Mounted::memory("8m", folder.path());
    let device = LoopDevice::over(&folder.path().join("image"), 64);
    let mut target = open(device.node(), BlockOptions::default());
    let writes: Vec<_> =
        (0..64).map(|number| BlockCommand::write(range(&target, number << 20, 1 << 20))).collect();
    let done = perform(&mut target, 8, writes);
    let failed: Vec<_> = done.iter().filter(|it| it.status != Status::Done).collect();
    assert!((50..64).contains(&failed.len()), "{}", failed.len());
    for completion in failed {
        let expected = [Errno::ENOSPC, Errno::EIO].map(Status::Failed);
        assert!(expected.contains(&completion.status), "{completion:?}");
    }
    // It lives on: what is freed can be written. Which of the writes before found room is chance,
    // so all of it is freed.
    let all = range(&target, 0, 64 << 20);
    let again = [BlockCommand::Discard(all), BlockCommand::write(range(&target, 0, 4 << 20))];
    assert!(all_done(&perform(&mut target, 1, again)));
}

#[test]
fn the_runner_drives_a_block_target() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
    let path = folder.path().join("image");
    File::create(&path).and_then(|file| file.set_len(8 << 20)).expect("the folder is ours");
    let mut target = open(path.to_str().expect("ASCII"), BlockOptions::default());
    let area = DeviceArea {
        start: Bytes(0),
        length: target.medium().capacity(),
        logical_block: target.medium().logical_block(),
        data: Data::Random,
    };
    let access = RandomAccess::new(area, Bytes(4096), Ppm(300_000), Rng::new(1));
    let mut load = Single(ClosedLoop::new(access, 32, 5_000));
    let (mut good, mut least) = (0, u64::MAX);
    let mut observer = |sample: &Sample<BlockCommand>| {
        good += u32::from(sample.status == Status::Done);
        least = least.min(sample.latency().0);
    };
    let mut runner = Runner::new(Interrupt::default());
    let done = runner.run_until(&mut target, &mut load, &mut observer, Instant::NEVER);
    assert_eq!((done, good), (Ok(true), 5_000));
    assert!(least > 0, "no command takes no time");
    let counted = target.statistics();
    assert_eq!(counted.read.completed + counted.write.completed, 5_000);
}
