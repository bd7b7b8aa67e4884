use std::collections::BTreeSet;
use std::fs;

use super::*;

const FILE: FileId = FileId(1);
const SIZE: u64 = 9 << 20; // Two whole pieces of 4 MiB and a part of one.

/// A folder on a disk: `/tmp` may be a tmpfs.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn target(parent: &Path) -> DirectoryTarget {
    DirectoryTarget::open(parent, DirectoryOptions::default()).unwrap()
}

fn write(offset: u64, length: u64) -> FileCommand {
    FileCommand::Write { file: FILE, offset: Bytes(offset), length: Bytes(length) }
}

fn read(offset: u64, length: u64) -> FileCommand {
    FileCommand::Read { file: FILE, offset: Bytes(offset), length: Bytes(length) }
}

/// Submits one command and waits for it.
fn run(target: &mut DirectoryTarget, command: FileCommand) -> Status {
    target.submit(Tag(9), command).unwrap();
    let mut out = Vec::new();
    target.reap(Instant::NEVER, &mut out);
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].tag, Tag(9));
    out[0].status
}

fn with_file(parent: &Path) -> DirectoryTarget {
    let mut target = target(parent);
    assert_eq!(run(&mut target, FileCommand::Create { file: FILE }), Status::Done);
    assert_eq!(run(&mut target, write(0, SIZE)), Status::Done);
    target
}

fn reap_all(target: &mut DirectoryTarget, count: usize) -> Vec<Completion> {
    let mut out = Vec::new();
    while out.len() < count {
        target.reap(Instant::NEVER, &mut out);
    }
    assert_eq!(out.len(), count);
    out
}

#[test]
fn what_was_written_is_in_the_file_whole_and_without_repetition() {
    let folder = folder();
    let target = with_file(folder.path());
    let content = fs::read(target.path().join("file-1")).unwrap();
    assert_eq!(content.len() as u64, SIZE);
    let stamps: BTreeSet<&[u8]> = content.chunks(4096).map(|page| &page[..8]).collect();
    assert_eq!(stamps.len(), content.len() / 4096);
    let high_bits: u64 = content.iter().map(|&byte| u64::from(byte >> 7)).sum();
    let share = high_bits as f64 / content.len() as f64;
    assert!((0.49..0.51).contains(&share), "half of all random bytes have the high bit: {share}");
}

#[test]
fn an_overwrite_changes_its_range_and_nothing_else() {
    let folder = folder();
    let mut target = with_file(folder.path());
    let path = target.path().join("file-1");
    let before = fs::read(&path).unwrap();
    assert_eq!(run(&mut target, write(8192, 4096)), Status::Done);
    let after = fs::read(&path).unwrap();
    let changed: Vec<usize> = (0..before.len() / 4096)
        .filter(|page| before[page * 4096..][..4096] != after[page * 4096..][..4096])
        .collect();
    assert_eq!(changed, [2]);
}

#[test]
fn reads_succeed_within_the_file_and_fail_beyond_its_end() {
    let folder = folder();
    let mut target = with_file(folder.path());
    assert_eq!(run(&mut target, read(0, SIZE)), Status::Done);
    assert_eq!(run(&mut target, read(SIZE - 4096, 4096)), Status::Done);
    let no_data = Status::Failed(Errno(libc::ENODATA));
    assert_eq!(run(&mut target, read(SIZE - 4096, 8192)), no_data);
    assert_eq!(run(&mut target, read(SIZE, 4096)), no_data);
    let odd = FileCommand::Truncate { file: FILE, length: Bytes(5000) };
    assert_eq!(run(&mut target, odd), Status::Done);
    assert_eq!(run(&mut target, read(0, 8192)), no_data);
}

#[test]
fn metadata_commands_do_what_they_say() {
    let folder = folder();
    let mut target = with_file(folder.path());
    let path = target.path().join("file-1");
    let half = FileCommand::Truncate { file: FILE, length: Bytes(4 << 20) };
    assert_eq!(run(&mut target, half), Status::Done);
    assert_eq!(fs::metadata(&path).unwrap().len(), 4 << 20);
    let offset = Bytes(1 << 20);
    let hole = FileCommand::PunchHole { file: FILE, offset, length: Bytes(1 << 20) };
    assert_eq!(run(&mut target, hole), Status::Done);
    let content = fs::read(&path).unwrap();
    assert!(content[1 << 20..2 << 20].iter().all(|&byte| byte == 0));
    assert!(content[(2 << 20) + 8..][..64].iter().any(|&byte| byte != 0));
    assert_eq!(run(&mut target, FileCommand::Fsync { file: FILE }), Status::Done);
    assert_eq!(run(&mut target, FileCommand::SyncFilesystem), Status::Done);
    assert!(target.extent_count(FILE).unwrap() >= 2, "a hole parts the file");
    assert_eq!(run(&mut target, FileCommand::Unlink { file: FILE }), Status::Done);
    assert!(!path.exists());
    let unknown = Rejected::UnknownFile { file: FILE };
    assert_eq!(target.submit(Tag(1), read(0, 4096)), Err(unknown));
}

#[test]
fn three_thousand_requests_are_outstanding_at_once_and_all_end_once() {
    let folder = folder();
    let mut target = with_file(folder.path());
    let pages = SIZE / 4096;
    for tag in 0..3000_u32 {
        let offset = u64::from(tag) * 7 % pages * 4096;
        let command = if tag % 2 == 0 { read(offset, 4096) } else { write(offset, 4096) };
        target.submit(Tag(tag), command).unwrap();
    }
    assert_eq!(target.statistics().outstanding, 3000);
    let done = reap_all(&mut target, 3000);
    let tags: BTreeSet<Tag> = done.iter().map(|completion| completion.tag).collect();
    assert_eq!(tags.len(), 3000);
    assert!(done.iter().all(|completion| completion.status == Status::Done));
    assert_eq!(target.statistics().outstanding, 0);
}

#[test]
fn more_than_the_ring_holds_wait_in_user_space_with_bounded_memory() {
    let folder = folder();
    let mut target = DirectoryTarget::open(folder.path(), DirectoryOptions::default()).unwrap();
    target.data.pool = Pool::new(Bytes::mib(4), 0, 0);
    run(&mut target, FileCommand::Create { file: FILE });
    assert_eq!(run(&mut target, write(0, SIZE)), Status::Done);
    for tag in 0..6000_u32 {
        let offset = u64::from(tag) % (SIZE / 4096) * 4096;
        target.submit(Tag(tag), read(offset, 4096)).unwrap();
    }
    let done = reap_all(&mut target, 6000);
    assert!(done.iter().all(|completion| completion.status == Status::Done));
}

#[test]
fn an_unlink_waits_for_the_reads_before_it_while_other_files_go_on() {
    let folder = folder();
    let mut target = with_file(folder.path());
    let other = FileId(2);
    run(&mut target, FileCommand::Create { file: other });
    for tag in 0..64 {
        target.submit(Tag(tag), read(u64::from(tag) * 4096, 4096)).unwrap();
    }
    target.submit(Tag(100), FileCommand::Unlink { file: FILE }).unwrap();
    target.submit(Tag(101), FileCommand::Create { file: FILE }).unwrap();
    target.submit(Tag(102), FileCommand::Fsync { file: other }).unwrap();
    let done = reap_all(&mut target, 67);
    assert!(done.iter().all(|completion| completion.status == Status::Done), "{done:?}");
    let place = |tag| done.iter().position(|completion| completion.tag == Tag(tag)).unwrap();
    assert!((0..64).all(|tag| place(tag) < place(100)));
    assert!(place(100) < place(101));
    assert_eq!(fs::metadata(target.path().join("file-1")).unwrap().len(), 0);
}

#[test]
fn a_deadline_ends_the_wait_neither_early_nor_much_too_late() {
    let folder = folder();
    let mut target = target(folder.path());
    let mut out = Vec::new();
    let mut late: Vec<Nanos> = (0..200)
        .map(|_| {
            let deadline = target.now() + Nanos::from_micros(700);
            target.reap(deadline, &mut out);
            let now = target.now();
            assert!(now >= deadline);
            now - deadline
        })
        .collect();
    late.sort();
    assert!(out.is_empty());
    // The median, since other tests run meanwhile; the tail is measured by `lateness` below.
    assert!(late[100] < Nanos::from_millis(1), "median {:?}", late[100]);
    let past = target.now();
    target.reap(past, &mut out);
    assert!(target.now() - past < Nanos::from_millis(100));
}

#[test]
fn the_end_of_a_metadata_command_ends_the_wait() {
    let folder = folder();
    let mut target = with_file(folder.path());
    // A finite deadline that is near sends it to a thread.
    let deadline = target.now() + Nanos::from_millis(900);
    target.submit(Tag(1), FileCommand::Truncate { file: FILE, length: Bytes(0) }).unwrap();
    let mut out = Vec::new();
    target.reap(deadline, &mut out);
    assert_eq!(out.len(), 1);
    assert!(out[0].at < deadline);
}

#[test]
fn a_file_that_exists_already_or_is_too_large_fails_with_its_errno() {
    let folder = folder();
    let mut target = with_file(folder.path());
    let again = run(&mut target, FileCommand::Create { file: FILE });
    assert_eq!(again, Status::Failed(Errno(libc::EEXIST)));
    assert_eq!(run(&mut target, read(0, 4096)), Status::Done, "the file is still there");
    let huge = FileCommand::Truncate { file: FILE, length: Bytes(1 << 62) };
    assert_eq!(run(&mut target, huge), Status::Failed(Errno(libc::EFBIG)));
    assert_eq!(run(&mut target, write(100, 100)), Status::Failed(Errno(libc::EINVAL)));
    for command in [write(0, 0), read(u64::MAX, 4096)] {
        let rejected = Rejected::Kernel { errno: Errno(libc::EINVAL) };
        assert_eq!(target.submit(Tag(1), command), Err(rejected));
    }
}

#[test]
fn hundreds_of_files_are_used_with_few_of_them_open() {
    let folder = folder();
    let mut target = target(folder.path());
    for number in 0..600 {
        let file = FileId(number);
        assert_eq!(run(&mut target, FileCommand::Create { file }), Status::Done);
        let command = FileCommand::Write { file, offset: Bytes(0), length: Bytes(4096) };
        assert_eq!(run(&mut target, command), Status::Done);
    }
    let open = fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(open < 600, "{open} descriptors");
    for number in 0..600 {
        let file = FileId(number);
        let command = FileCommand::Read { file, offset: Bytes(0), length: Bytes(4096) };
        assert_eq!(run(&mut target, command), Status::Done);
        assert_eq!(run(&mut target, FileCommand::Unlink { file }), Status::Done);
    }
}

#[test]
fn nothing_is_left_behind_neither_on_closing_nor_on_dropping_in_the_middle() {
    let folder = folder();
    let target = with_file(folder.path());
    target.close().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let mut target = with_file(folder.path());
    for tag in 0..500 {
        target.submit(Tag(tag), write(u64::from(tag) * 4096, 4096)).unwrap();
    }
    target.submit(Tag(500), FileCommand::Unlink { file: FILE }).unwrap();
    drop(target);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn closing_says_what_it_could_not_remove() {
    let folder = folder();
    let target = target(folder.path());
    let foreign = target.path().join("foreign");
    fs::write(&foreign, b"not ours").unwrap();
    let error = target.close().unwrap_err();
    assert!(matches!(error.0, Problem::Removal { .. }), "{error}");
    assert!(foreign.exists());
}

#[test]
fn a_leftover_is_cleaned_at_the_next_start_and_reported() {
    let folder = folder();
    // A crash closes all descriptors, hence the lock, and runs no destructor; here the descriptors
    // leak, so the marker is replaced by a copy that nobody locks.
    let target = with_file(folder.path());
    let left = target.path().to_owned();
    std::mem::forget(target);
    let marker = left.join("trimbench-workspace");
    let text = fs::read(&marker).unwrap();
    fs::remove_file(&marker).unwrap();
    fs::write(&marker, text).unwrap();
    let next = super::tests::target(folder.path());
    assert_eq!(next.cleaned_leftovers(), std::slice::from_ref(&left));
    assert!(!left.exists());
    next.close().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn unsuitable_places_are_refused_with_advice() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused =
        |path: &Path| DirectoryTarget::open(path, DirectoryOptions::default()).unwrap_err();
    let missing = refused(&folder.path().join("missing"));
    assert!(matches!(missing.0, Problem::Missing { .. }), "{missing}");
    assert!(missing.to_string().contains("create it"), "{missing}");
    let not_directory = refused(&file);
    assert!(matches!(not_directory.0, Problem::NotADirectory { .. }), "{not_directory}");
    let proc = refused(Path::new("/proc"));
    assert!(matches!(proc.0, Problem::UnsupportedFilesystem { .. }), "{proc}");
    assert!(proc.to_string().contains("`proc`"), "{proc}");
}

#[test]
fn types_of_filesystems_are_judged() {
    for (filesystem, expected) in [
        ("ext4", None),
        ("btrfs", None),
        ("overlay", Some("an overlay, whose deletions may free nothing")),
        ("nfs4", Some("a network filesystem, whose discards are its server's")),
        ("fuse.sshfs", Some("served by a program, which hides the disk")),
        ("squashfs", Some("a type whose discards trimbench does not know")),
    ] {
        assert_eq!(error::unsuitable(filesystem), expected, "{filesystem}");
    }
}

#[test]
fn the_caller_is_blocked_only_when_it_has_nothing_else_to_do() {
    let second = Nanos::from_secs(1);
    let soon = Instant::from_start(second);
    let unlink = FileCommand::Unlink { file: FILE };
    assert!(may_block_caller(unlink, second, soon));
    assert!(!may_block_caller(unlink, Nanos::from_millis(999), soon));
    assert!(!may_block_caller(FileCommand::SyncFilesystem, Nanos::from_secs(60), soon));
    assert!(may_block_caller(FileCommand::SyncFilesystem, Nanos(u64::MAX), Instant::NEVER));
}
