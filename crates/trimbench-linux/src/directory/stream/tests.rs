use std::fs;

use trimbench_core::{DirectoryId, FileId};

use super::super::files::Place;
use super::*;

const SEED: u64 = 1;
/// Length, piece, and how many times GNU's library writes and reads then: counted.
const CALLS: [(u64, u32, u64, u64); 10] = [
    (11_217, 4_096, 3, 3),
    (11_217, 512, 3, 3),
    (20_000, 5_000, 5, 5),
    (20_000, 8_192, 4, 3),
    (4_096, 4_096, 1, 1),
    (8_192, 4_096, 2, 2),
    (1, 512, 1, 1),
    (200_000, 4_096, 49, 49),
    (30_000, 10_000, 6, 6),
    (12_288, 8_192, 2, 2),
];

struct Ground {
    folder: tempfile::TempDir,
    directory: OwnedFd,
    streams: Streams,
}

fn place() -> Ground {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let directory = OwnedFd::from(fs::File::open(folder.path()).unwrap());
    let streams = Streams::new(Bytes(4_096), SEED, 0);
    let source: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
    streams.set_source(&source);
    Ground { folder, directory, streams }
}

fn name() -> Name {
    Name::of(FileId(7), Place::In(DirectoryId::OWN))
}

fn stream(piece: u32, buffered: bool, payload: Payload) -> Stream {
    Stream { piece, buffered, payload }
}

/// System calls of this thread that read and wrote.
fn calls() -> (u64, u64) {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    (field("syscr:"), field("syscw:"))
}

#[test]
fn buffered_files_take_as_many_system_calls_as_with_the_c_library() {
    let it = place();
    let (first, second) = (calls(), calls());
    let overhead = second.0 - first.0;
    for (length, piece, writes, reads) in CALLS {
        let stream = stream(piece, true, Payload::Source);
        let begin = calls();
        it.streams.store(&it.directory, &name(), Bytes(length), stream).unwrap();
        let middle = calls();
        it.streams.load(&it.directory, &name(), Bytes(length), stream).unwrap();
        let end = calls();
        assert_eq!(middle.1 - begin.1, writes, "writes of {length} by {piece}");
        assert_eq!(end.0 - middle.0 - overhead, reads, "reads of {length} by {piece}");
    }
}

#[test]
fn files_hold_the_source_from_its_beginning_each_time() {
    let it = place();
    let path = it.folder.path().join("7");
    let source = it.streams.source.read().unwrap().clone();
    for buffered in [false, true] {
        for (length, piece) in [(11_217, 4_096), (9_000, 512), (20_000, 5_000), (0, 512), (3, 1)] {
            let stream = stream(piece, buffered, Payload::Source);
            it.streams.store(&it.directory, &name(), Bytes(length), stream).unwrap();
            it.streams.append(&it.directory, &name(), Bytes(777), stream).unwrap();
            let content = fs::read(&path).unwrap();
            let (stored, appended) = content.split_at(index(length));
            assert_eq!(stored, &source[..index(length)], "{length} by {piece}, {buffered}");
            assert_eq!(appended, &source[..777]);
            it.streams.load(&it.directory, &name(), Bytes(length + 777), stream).unwrap();
            let beyond = it.streams.load(&it.directory, &name(), Bytes(length + 778), stream);
            assert_eq!(beyond, Err(Errno(libc::ENODATA)));
            fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn random_files_do_not_repeat_a_block() {
    let it = place();
    let mut blocks = std::collections::BTreeSet::new();
    for number in 0..3 {
        let name = Name::of(FileId(number), Place::In(DirectoryId::OWN));
        let stream = stream(8_192, number == 0, Payload::Random);
        it.streams.store(&it.directory, &name, Bytes(40_960), stream).unwrap();
        let content = fs::read(it.folder.path().join(name.text())).unwrap();
        blocks.extend(content.chunks(4_096).map(<[u8]>::to_vec));
    }
    assert_eq!(blocks.len(), 30);
}

#[test]
fn more_than_the_source_is_refused() {
    let it = place();
    let stream = stream(4_096, true, Payload::Source);
    let stored = it.streams.store(&it.directory, &name(), Bytes(200_001), stream);
    assert_eq!(stored, Err(Errno(libc::EINVAL)));
}
