use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::rc::Rc;

use trimbench_core::{
    Blocks, Content, Data, Drive as _, DriveError, PurgeMeans, TrimPromise, Wear,
};

use super::*;

/// Bytes of the images: two whole pieces of 4 MiB and a part of one.
const SIZE: u64 = 9 << 20;

/// An image file, and a second look at it.
struct Image {
    target: BlockTarget,
    file: File,
    _folder: tempfile::TempDir,
}

fn direct(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
}

fn medium(path: &Path) -> BlockMedium {
    BlockMedium::of(direct(path).into()).unwrap()
}

fn image_with(options: BlockOptions) -> Image {
    // On a disk: `/tmp` may be a tmpfs.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("image");
    let mut create = OpenOptions::new();
    let file = create.read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(SIZE).unwrap();
    let target = BlockTarget::new(medium(&path), options).unwrap();
    Image { target, file, _folder: folder }
}

fn threaded(discard_on_threads: bool) -> BlockOptions {
    BlockOptions { discard_on_threads, ..BlockOptions::default() }
}

fn image() -> Image {
    image_with(BlockOptions::default())
}

impl Image {
    /// The blocks of these bytes.
    fn range(&self, offset: u64, length: u64) -> LbaRange {
        let size = self.target.medium().logical_block();
        LbaRange::from_bytes(Bytes(offset), Bytes(length), size).unwrap()
    }

    fn write(&self, offset: u64, length: u64) -> BlockCommand {
        BlockCommand::write(self.range(offset, length))
    }

    fn read(&self, offset: u64, length: u64) -> BlockCommand {
        BlockCommand::Read(self.range(offset, length))
    }

    fn discard(&self, offset: u64, length: u64) -> BlockCommand {
        BlockCommand::Discard(self.range(offset, length))
    }

    /// Submits one command and waits for it.
    fn run(&mut self, command: BlockCommand) -> Status {
        self.target.submit(Tag(9), command).unwrap();
        let done = self.reap(1);
        assert_eq!(done[0].tag, Tag(9));
        done[0].status
    }

    fn reap(&mut self, count: usize) -> Vec<Completion> {
        let mut out = Vec::new();
        while out.len() < count {
            self.target.reap(Instant::NEVER, &mut out);
        }
        assert_eq!(out.len(), count);
        assert_eq!(self.target.statistics().outstanding, 0);
        out
    }

    fn content(&self) -> Vec<u8> {
        let mut content = vec![0; SIZE.try_into().unwrap()];
        self.file.read_exact_at(&mut content, 0).unwrap();
        content
    }

    fn allocated(&self) -> u64 {
        self.file.metadata().unwrap().blocks() * 512
    }
}

#[test]
fn a_write_covers_its_range_whole_in_pieces_and_nothing_else() {
    let mut image = image();
    assert_eq!(image.run(image.write(4096, SIZE - 8192)), Status::Done);
    let content = image.content();
    let zeroes = |part: &[u8]| part.iter().all(|&byte| byte == 0);
    assert!(zeroes(&content[..4096]) && zeroes(&content[content.len() - 4096..]));
    let written = &content[4096..content.len() - 4096];
    let pages: std::collections::BTreeSet<&[u8]> = written.chunks(4096).collect();
    assert_eq!(pages.len(), written.len() / 4096, "every page differs");
    let high: u64 = written.iter().map(|&byte| u64::from(byte >> 7)).sum();
    let share = high as f64 / written.len() as f64;
    assert!((0.49..0.51).contains(&share), "half of all random bytes have the high bit: {share}");
    assert_eq!(image.run(image.read(0, SIZE)), Status::Done);
    assert_eq!(image.run(BlockCommand::Flush), Status::Done);
}

#[test]
fn stamps_are_found_where_they_were_written_and_zeroes_elsewhere() {
    let mut image = image();
    let range = image.range(4 << 20, 5 << 20);
    let command = BlockCommand::Write { range, data: Data::Stamped(3) };
    assert_eq!(image.run(command), Status::Done);
    let mut found = Vec::new();
    let all = image.range(0, SIZE);
    image.target.examine(all, &mut found).unwrap();
    assert_eq!(found.len() as u64, all.length().0);
    for (content, lba) in found.iter().zip(0..) {
        let stamp = Content::Stamp { lba: Lba(lba), generation: 3 };
        let expected = if Lba(lba) < range.start() { Content::Zeroes } else { stamp };
        assert_eq!(*content, expected, "{lba}");
    }
}

#[test]
fn thousands_of_commands_are_outstanding_and_each_ends_once() {
    let mut image = image();
    let pages = SIZE / 4096;
    let count = 6000_u32; // More than the ring holds.
    for tag in 0..count {
        let offset = u64::from(tag) * 7 % pages * 4096;
        let command =
            if tag % 2 == 0 { image.read(offset, 4096) } else { image.write(offset, 4096) };
        image.target.submit(Tag(tag), command).unwrap();
    }
    assert_eq!(image.target.statistics().outstanding, u64::from(count));
    let done = image.reap(count as usize);
    let tags: std::collections::BTreeSet<Tag> = done.iter().map(|it| it.tag).collect();
    assert_eq!(tags.len(), count as usize);
    assert!(done.iter().all(|completion| completion.status == Status::Done));
    assert!(done.is_sorted_by_key(|completion| completion.at));
    let counted = image.target.statistics();
    assert_eq!((counted.read.completed, counted.write.completed), (3000, 3000));
    assert_eq!(counted.write.bytes, Bytes(3000 * 4096));
    assert!(counted.write.time.0 > 0);
}

#[test]
fn commands_without_memory_wait_and_end() {
    let mut image = image();
    image.target.pool = Pool::new(Bytes(8192), 0, 0);
    for tag in 0..100 {
        let length = if tag % 10 == 0 { SIZE } else { 4096 };
        image.target.submit(Tag(tag), image.write(0, length)).unwrap();
    }
    assert!(image.reap(100).iter().all(|completion| completion.status == Status::Done));
}

/// Discards of every other 256 KiB, all outstanding at once, with writes between them.
fn discards_free_their_ranges(threads: bool) {
    let mut image = image_with(threaded(threads));
    assert_eq!(image.run(image.write(0, SIZE)), Status::Done);
    let before = image.content();
    assert!(image.allocated() >= SIZE);
    let ranges: Vec<u64> = (0..SIZE).step_by(512 << 10).collect();
    for (&offset, tag) in ranges.iter().zip(0..) {
        image.target.submit(Tag(tag), image.discard(offset, 256 << 10)).unwrap();
    }
    let done = image.reap(ranges.len());
    assert!(done.iter().all(|completion| completion.status == Status::Done));
    let after = image.content();
    for offset in (0..after.len()).step_by(256 << 10) {
        let part = offset..offset + (256 << 10);
        if offset % (512 << 10) == 0 {
            assert!(after[part].iter().all(|&byte| byte == 0), "{offset} is not freed");
        } else {
            assert_eq!(after[part.clone()], before[part], "{offset} is changed");
        }
    }
    let freed = ranges.len() as u64 * (256 << 10);
    assert!(image.allocated() <= SIZE - freed + (64 << 10), "{}", image.allocated());
    let counted = image.target.statistics().discard;
    assert_eq!((counted.completed, counted.bytes), (ranges.len() as u64, Bytes(freed)));
}

#[test]
fn discards_of_an_image_free_their_ranges_and_nothing_else() {
    discards_free_their_ranges(false);
}

#[test]
fn discards_by_threads_free_their_ranges_and_nothing_else() {
    discards_free_their_ranges(true);
}

#[test]
fn a_discard_that_hangs_keeps_no_write_waiting() {
    use std::sync::Barrier;
    let mut image = image_with(threaded(true));
    let gate = Arc::new(Barrier::new(2));
    let inner = Arc::clone(&gate);
    let hang = Box::new(move |_, _| {
        inner.wait();
        Ok(())
    });
    let bell = image.target.ring.bell().unwrap();
    image.target.discards = Discards::Threads(helpers(bell, image.target.clock, hang));
    image.target.submit(Tag(1), image.discard(0, 4096)).unwrap();
    image.target.submit(Tag(2), image.write(8192, 4096)).unwrap();
    let mut out = Vec::new();
    image.target.reap(Instant::NEVER, &mut out);
    assert_eq!(out.iter().map(|it| it.tag).collect::<Vec<_>>(), [Tag(2)]);
    gate.wait();
    image.target.reap(Instant::NEVER, &mut out);
    assert_eq!(out[1].tag, Tag(1));
}

#[test]
fn a_discard_that_the_kernel_does_not_know_ends_with_its_errno() {
    let mut image = image();
    assert_eq!(image.target.ring.discards(), Ok(false), "a file is no block device");
    image.target.discards = Discards::Ring;
    let unknown = Status::Failed(Errno(libc::EOPNOTSUPP));
    assert_eq!(image.run(image.discard(0, 4096)), unknown);
    assert_eq!(image.run(image.read(0, 4096)), Status::Done);
    assert_eq!(image.target.statistics().discard.completed, 0);
}

#[test]
fn what_does_not_fit_is_rejected_and_starts_nothing() {
    let mut image = image();
    let size = image.target.medium().logical_block();
    let capacity = Bytes(SIZE).blocks_floor(size);
    for start in [capacity.0, capacity.0 - 1, u64::MAX - 2] {
        let range = LbaRange::new(Lba(start), Blocks(2)).unwrap();
        for command in
            [BlockCommand::Read(range), BlockCommand::write(range), BlockCommand::Discard(range)]
        {
            let rejected = Err(Rejected::OutOfRange { range, capacity });
            assert_eq!(image.target.submit(Tag(1), command), rejected);
        }
    }
    image.target.medium.capabilities.discard_max = Bytes(8192);
    let (length, maximum) = (Bytes(12_288), Bytes(8192));
    let rejected = Err(Rejected::DiscardTooLarge { length, maximum });
    assert_eq!(image.target.submit(Tag(1), image.discard(0, 12_288)), rejected);
    assert_eq!(image.target.statistics(), DeviceStatistics::default());
    assert_eq!(image.content(), vec![0; SIZE.try_into().unwrap()]);
}

#[test]
fn a_medium_that_shrinks_or_vanishes_ends_commands_with_the_reason() {
    let mut image = image();
    assert_eq!(image.run(image.write(0, SIZE)), Status::Done);
    image.file.set_len(1 << 20).unwrap();
    assert_eq!(image.run(image.read(0, 4096)), Status::Done);
    let beyond = Status::Failed(Errno(libc::ENXIO));
    assert_eq!(image.run(image.read(2 << 20, 4096)), beyond);
    assert_eq!(image.run(image.read(0, SIZE)), beyond);
    assert_eq!(image.run(image.write(0, 4096)), beyond, "it is not the image that it was");
    assert_eq!(image.run(image.discard(2 << 20, 4096)), beyond);
    let range = image.range(2 << 20, 4096);
    let failed = DriveError::Failed { operation: "read", errno: Errno(libc::ENXIO) };
    assert_eq!(image.target.examine(range, &mut Vec::new()), Err(failed));
    image.file.set_len(0).unwrap();
    assert_eq!(image.run(image.read(0, 4096)), Status::Failed(Errno::ENODEV));
}

#[test]
fn a_broken_ring_ends_everything_with_its_error_and_takes_nothing_more() {
    let mut image = image();
    for tag in 0..5 {
        image.target.submit(Tag(tag), image.read(0, 4096)).unwrap();
    }
    image.target.broken = Some(Errno(libc::EBADF));
    let mut out = Vec::new();
    image.target.reap(Instant::NEVER, &mut out);
    assert_eq!(out.len(), 5);
    assert!(out.iter().all(|it| it.status == Status::Failed(Errno(libc::EBADF))));
    let rejected = Err(Rejected::Kernel { errno: Errno(libc::EBADF) });
    assert_eq!(image.target.submit(Tag(1), image.read(0, 4096)), rejected);
    let soon = image.target.now() + Nanos::from_millis(1);
    image.target.reap(soon, &mut out);
    assert!(image.target.now() >= soon);
    assert_eq!(out.len(), 5);
}

#[test]
fn the_last_look_happens_once_and_before_anything_is_written() {
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let first_write: FirstWrite = Box::new(move || {
        counted.set(counted.get() + 1);
        Ok(())
    });
    let options = BlockOptions { first_write: Some(first_write), ..BlockOptions::default() };
    let mut image = image_with(options);
    assert_eq!(image.run(image.read(0, 4096)), Status::Done);
    assert_eq!(image.run(BlockCommand::Flush), Status::Done);
    assert_eq!(calls.get(), 0);
    for command in [image.discard(0, 4096), image.write(0, 4096)] {
        assert_eq!(image.run(command), Status::Done);
    }
    image.target.purge().unwrap();
    assert_eq!(calls.get(), 1);
}

#[test]
fn what_the_last_look_holds_is_held_as_long_as_the_target() {
    let held = Rc::new(());
    let held_by_look = Rc::clone(&held);
    let first_write: FirstWrite = Box::new(move || {
        let _ = &held_by_look;
        Ok(())
    });
    let options = BlockOptions { first_write: Some(first_write), ..BlockOptions::default() };
    let mut image = image_with(options);
    assert_eq!(Rc::strong_count(&held), 2);
    assert_eq!(image.run(image.write(0, 4096)), Status::Done);
    assert_eq!(Rc::strong_count(&held), 2, "the claim would be given up at the first write");
    drop(image);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn a_purge_by_trim_cuts_no_unit_of_the_granularity() {
    let pieces = |end, first, piece| {
        let pieces = drive::pieces(Blocks(end), Blocks(first), Blocks(piece));
        pieces.map(|range| (range.start().0, range.end().0)).collect::<Vec<_>>()
    };
    assert_eq!(pieces(10, 0, 4), [(0, 4), (4, 8), (8, 10)]);
    // Units of 4 begin at 3, 7, 11.
    assert_eq!(pieces(14, 3, 8), [(0, 3), (3, 11), (11, 14)]);
    assert_eq!(pieces(2, 3, 8), [(0, 2)]);
    assert_eq!(pieces(8, 3, 8), [(0, 3), (3, 8)]);
}

fn mounted() -> Rejected {
    Rejected::Refused { reason: "it is mounted".to_owned() }
}

#[test]
fn a_last_look_that_fails_refuses_this_and_everything_after() {
    type Touch = fn(&mut Image) -> String;
    let submit =
        |image: &mut Image, command| image.target.submit(Tag(1), command).unwrap_err().to_string();
    let _ = submit;
    let touches: [Touch; 3] = [
        |image| image.target.submit(Tag(1), image.write(0, 4096)).unwrap_err().to_string(),
        |image| image.target.submit(Tag(1), image.discard(0, 4096)).unwrap_err().to_string(),
        |image| image.target.purge().unwrap_err().to_string(),
    ];
    for touch in touches {
        let first_write: FirstWrite = Box::new(|| Err(mounted()));
        let options = BlockOptions { first_write: Some(first_write), ..BlockOptions::default() };
        let mut image = image_with(options);
        image.file.write_all_at(b"precious", 0).unwrap();
        let error = touch(&mut image);
        assert!(error.contains("it is mounted"), "{error}");
        let again = image.target.submit(Tag(1), image.read(0, 4096));
        assert!(matches!(again, Err(Rejected::Refused { .. })), "{again:?}");
        assert_eq!(&image.content()[..8], b"precious");
    }
}

#[test]
fn an_image_is_purged_by_trim_while_no_command_is_under_way() {
    let mut image = image();
    assert_eq!(image.target.purge_means(), PurgeMeans::Trim);
    assert_eq!(image.target.trim_promise(), TrimPromise::Zeroes);
    assert_eq!(image.target.wear(), None);
    assert_eq!(image.run(image.write(0, SIZE)), Status::Done);
    image.target.submit(Tag(1), image.read(0, 4096)).unwrap();
    let refused = image.target.purge();
    assert!(matches!(refused, Err(DriveError::Refused { .. })), "a command is under way");
    image.reap(1);
    image.target.medium.capabilities.discard_max = Bytes(1 << 20);
    image.target.purge().unwrap();
    assert!(image.content().iter().all(|&byte| byte == 0));
    assert!(image.allocated() < 64 << 10);
}

/// A drive with a purge of its own, which counts.
struct Purging(Rc<Cell<u32>>);

impl Purger for Purging {
    fn means(&self) -> PurgeMeans {
        PurgeMeans::Sanitize
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.0.set(self.0.get() + 1);
        Ok(())
    }

    fn wear(&mut self) -> Option<Wear> {
        Some(Wear { host_written: Bytes(1), media_written: Bytes(2) })
    }

    fn promise(&self) -> TrimPromise {
        TrimPromise::Deterministic
    }
}

#[test]
fn a_last_look_that_fails_keeps_the_drive_from_purging_itself() {
    let purges = Rc::new(Cell::new(0));
    let purger: Option<Box<dyn Purger>> = Some(Box::new(Purging(Rc::clone(&purges))));
    let first_write: Option<FirstWrite> = Some(Box::new(|| Err(mounted())));
    let options = BlockOptions { first_write, purger, ..BlockOptions::default() };
    let error = image_with(options).target.purge().unwrap_err().to_string();
    assert!(error.contains("it is mounted"), "{error}");
    assert_eq!(purges.get(), 0);
}

#[test]
fn a_purger_replaces_what_trim_would_do() {
    let purges = Rc::new(Cell::new(0));
    let purger: Option<Box<dyn Purger>> = Some(Box::new(Purging(Rc::clone(&purges))));
    let mut image = image_with(BlockOptions { purger, ..BlockOptions::default() });
    image.file.write_all_at(b"left", 0).unwrap();
    image.target.purge().unwrap();
    assert_eq!(purges.get(), 1);
    assert_eq!(&image.content()[..4], b"left");
    assert_eq!(image.target.purge_means(), PurgeMeans::Sanitize);
    assert_eq!(image.target.trim_promise(), TrimPromise::Deterministic);
    assert_eq!(image.target.wear().unwrap().media_written, Bytes(2));
}

#[test]
fn a_deadline_ends_the_wait_not_early_and_a_completion_ends_it_at_once() {
    let mut image = image();
    let mut out = Vec::new();
    for _ in 0..20 {
        let deadline = image.target.now() + Nanos::from_micros(300);
        image.target.reap(deadline, &mut out);
        assert!(image.target.now() >= deadline);
    }
    assert!(out.is_empty());
    image.target.submit(Tag(1), image.read(0, 4096)).unwrap();
    let deadline = image.target.now() + Nanos::from_secs(60);
    image.target.reap(deadline, &mut out);
    assert_eq!(out.len(), 1);
    assert!(out[0].at < deadline);
    // A deadline in the past looks without waiting.
    image.target.submit(Tag(2), image.read(0, 4096)).unwrap();
    while out.len() < 2 {
        image.target.reap(Instant::START, &mut out);
    }
}

#[test]
fn dropping_in_the_middle_waits_for_the_kernel() {
    for threads in [false, true] {
        let mut image = image_with(threaded(threads));
        for tag in 0..500 {
            let command = match tag % 3 {
                0 => image.write(u64::from(tag) * 4096, 65_536),
                1 => image.read(0, SIZE),
                _ => image.discard(u64::from(tag) * 4096, 4096),
            };
            image.target.submit(Tag(tag), command).unwrap();
        }
    }
}

#[test]
fn unsuitable_descriptors_are_refused() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("image");
    let file = File::create(&path).unwrap();
    let of = |options: &mut OpenOptions| BlockMedium::of(options.open(&path).unwrap().into());
    let mut options = OpenOptions::new();
    let refused = of(options.read(true)).unwrap_err();
    assert_eq!(refused, BlockError::NotWritable);
    assert_eq!(of(options.write(true)).unwrap_err(), BlockError::NotDirect);
    options.custom_flags(libc::O_DIRECT);
    assert_eq!(of(&mut options).unwrap_err(), BlockError::Empty);
    file.set_len(100).unwrap();
    assert_eq!(of(&mut options).unwrap_err(), BlockError::Empty);
    let directory = BlockMedium::of(File::open(folder.path()).unwrap().into());
    assert_eq!(directory.unwrap_err(), BlockError::NeitherDeviceNorFile);
}

#[test]
fn the_end_of_an_image_that_is_no_whole_block_is_left_alone() {
    let image = image();
    let size = image.target.medium().logical_block().bytes();
    image.file.set_len(SIZE + size.0 - 1).unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&image.file));
    let odd = medium(Path::new(&path));
    assert_eq!(odd.capacity(), Bytes(SIZE));
    assert!(odd.is_image());
    assert_eq!(odd.capabilities.discard, Support::Emulated);
    assert!(odd.environment().contains_key("filesystem"));
}

#[test]
fn a_discard_that_panics_ends_with_an_error_and_the_next_is_done() {
    let bell = Arc::new(tempfile::tempfile().unwrap().into());
    let discard = |offset, _| {
        assert!(offset != 10, "planted");
        Ok(())
    };
    let mut helpers = helpers(bell, MonotonicClock::start(), Box::new(discard));
    for (offset, result) in [(10, Err(Errno::EIO)), (20, Ok(()))] {
        helpers.give_to_one_of(1, Job { slot: 0, offset, length: 7 }).unwrap();
        let mut finished = Vec::new();
        while finished.is_empty() {
            helpers.take_finished(&mut finished);
            std::thread::yield_now();
        }
        assert_eq!(finished[0].result, result);
    }
}
