//! The block of a file's extents comes and goes.

use super::*;

fn tree(machine: &Machine) -> bool {
    machine.fs().files[FileId(1)].tree.is_some()
}

#[test]
fn five_extents_need_a_block_and_it_is_freed_with_the_file() {
    let mut machine = Machine::with(
        FsConfig { allocation: Allocation::Linear, ..config(WORKER) },
        Recorder::new(Bytes::mib(128)),
    );
    let file = FileId(1);
    machine.done(FileCommand::Create { file });
    for piece in 0..5 {
        let free = machine.fs().allocator.obtainable();
        let (offset, length) = (bytes(40 * piece), bytes(20));
        machine.done(FileCommand::Write { file, offset, length });
        let taken = free - machine.fs().allocator.obtainable();
        assert_eq!(
            (machine.extents(1).len() as u64, taken),
            (piece + 1, 20 + u64::from(piece == 4))
        );
        machine.fs().check();
    }
    assert!(tree(&machine));
    let all = machine.fs().allocator.obtainable();
    machine.unlink(1);
    machine.sync();
    machine.rest(SECOND);
    assert_eq!(machine.counters().freed, bytes(101));
    assert_eq!(machine.fs().allocator.obtainable(), all + 101);
}

#[test]
fn a_hole_that_leaves_four_extents_frees_the_block() {
    let mut machine = Machine::new(WORKER);
    let file = FileId(1);
    machine.done(FileCommand::Create { file });
    for piece in 0..5 {
        machine.done(FileCommand::Write { file, offset: bytes(40 * piece), length: bytes(20) });
    }
    assert!(tree(&machine));
    machine.done(FileCommand::PunchHole { file, offset: bytes(0), length: bytes(20) });
    assert!(!tree(&machine));
    machine.fs().check();
}

#[test]
fn what_is_being_written_is_an_extent_of_its_own_today_only() {
    for (allocation, expected) in
        [(Allocation::Linear, 0), (Allocation::ByIndex { processors: 2 }, 1)]
    {
        let mut machine = Machine::with(
            FsConfig { allocation, ..config(WORKER) },
            Recorder::new(Bytes::mib(128)),
        );
        let file = FileId(1);
        machine.done(FileCommand::Create { file });
        for piece in 0..4 {
            machine.done(FileCommand::Write { file, offset: bytes(40 * piece), length: bytes(20) });
        }
        machine.sync();
        machine.done(FileCommand::Append { file, length: bytes(2), stream: STREAM });
        machine.done(fsync(1));
        assert_eq!(machine.extents(1).len(), 4, "it went on where it ended");
        assert!(!tree(&machine));
        machine.sync();
        machine.rest(SECOND);
        // The block was there for a moment, and was discarded.
        assert_eq!(machine.counters().freed, bytes(expected), "{allocation:?}");
        machine.fs().check();
    }
}
