use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Drive, Instant, Nanos, Tag, Target, TrimPromise, Virtual,
};

use super::*;
use crate::config::{Media, SsdConfig, TrimMode};
use crate::ssd::tests::{plain, trim};
use crate::{Overreach, Ssd};

fn drive(reads: TrimmedReads) -> Virtual<Ssd> {
    made(SsdConfig { contents: ContentsConfig { reads, ..plain().contents }, ..plain() })
}

fn made(config: SsdConfig) -> Virtual<Ssd> {
    let mut target = Virtual::new(config.build().unwrap());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

/// Runs the commands one after the other; when the last has ended.
fn run(target: &mut Virtual<Ssd>, commands: &[BlockCommand]) -> Instant {
    let mut out = Vec::new();
    for (tag, command) in commands.iter().enumerate() {
        target.submit(Tag(narrow(tag as u64)), *command).unwrap();
        target.reap(Instant::NEVER, &mut out);
    }
    target.now()
}

fn stamped(start: u64, length: u64, generation: u32) -> BlockCommand {
    BlockCommand::Write { range: range(start, length), data: Data::Stamped(generation) }
}

fn examine(target: &mut Virtual<Ssd>, start: u64, length: u64) -> Vec<Content> {
    let mut out = Vec::new();
    target.examine(range(start, length), &mut out).unwrap();
    assert_eq!(out.len() as u64, length, "one content for each block");
    out
}

const fn stamp(lba: u64, generation: u32) -> Content {
    Content::Stamp { lba: Lba(lba), generation }
}

fn stamps(start: u64, length: u64, generation: u32) -> Vec<Content> {
    (start..start + length).map(|lba| stamp(lba, generation)).collect()
}

#[test]
fn contents_are_kept_from_the_first_stamped_write_on() {
    let mut target = drive(TrimmedReads::Zeroes);
    run(&mut target, &[BlockCommand::write(range(0, 8))]);
    let mut out = Vec::new();
    assert!(target.examine(range(0, 8), &mut out).is_err(), "nothing is known");
    run(&mut target, &[stamped(801, 30, 7)]);
    assert_eq!(examine(&mut target, 801, 30), stamps(801, 30, 7));
    let before = examine(&mut target, 800, 1);
    assert!(matches!(before[..], [Content::Other { .. }]), "what was there before: {before:?}");
    assert_eq!(examine(&mut target, 800, 1), before, "is the same at each read");
    assert!(target.examine(range(131_072 - 1, 2), &mut out).is_err(), "beyond the drive");
    target.purge().unwrap();
    assert!(target.examine(range(801, 1), &mut out).is_err(), "a purge ends it");
}

#[test]
fn trimmed_blocks_read_as_the_drive_has_it() {
    for reads in [TrimmedReads::Zeroes, TrimmedReads::OldData, TrimmedReads::Unstable] {
        let mut target = drive(reads);
        run(&mut target, &[stamped(0, 64, 1), BlockCommand::Discard(range(16, 32))]);
        assert_eq!(examine(&mut target, 0, 16), stamps(0, 16, 1));
        assert_eq!(examine(&mut target, 48, 16), stamps(48, 16, 1));
        let (first, second) = (examine(&mut target, 16, 32), examine(&mut target, 16, 32));
        match reads {
            TrimmedReads::Zeroes => assert_eq!(first, [Content::Zeroes; 32]),
            TrimmedReads::OldData => assert_eq!(first, stamps(16, 32, 1)),
            TrimmedReads::Unstable => {
                assert!(first.iter().zip(&second).all(|(first, second)| first != second));
                continue;
            }
        }
        assert_eq!(first, second);
    }
}

#[test]
fn a_trim_of_part_of_a_unit_frees_nothing() {
    let mut target = drive(TrimmedReads::Zeroes);
    run(&mut target, &[stamped(0, 64, 1), BlockCommand::Discard(range(17, 7))]);
    assert_eq!(examine(&mut target, 0, 64), stamps(0, 64, 1));
    run(&mut target, &[BlockCommand::Discard(range(17, 20))]);
    assert_eq!(examine(&mut target, 0, 24), stamps(0, 24, 1));
    assert_eq!(examine(&mut target, 24, 8), [Content::Zeroes; 8]);
    assert_eq!(examine(&mut target, 32, 32), stamps(32, 32, 1));
}

#[test]
fn other_writes_replace_stamps_each_with_something_else() {
    let mut target = drive(TrimmedReads::Zeroes);
    let zeroes = BlockCommand::Write { range: range(8, 1), data: Data::Compressible(0) };
    let other = BlockCommand::write(range(3, 2));
    run(&mut target, &[stamped(0, 16, 1), other, zeroes]);
    let contents = examine(&mut target, 0, 16);
    run(&mut target, &[other, stamped(5, 1, 2)]);
    let again = examine(&mut target, 0, 16);
    assert_eq!(again[..3], stamps(0, 3, 1));
    assert_eq!(again[5..8], [stamp(5, 2), stamp(6, 1), stamp(7, 1)]);
    assert_eq!(again[8], Content::Zeroes);
    for place in 3..5 {
        assert!(matches!(contents[place], Content::Other { .. }));
        assert_ne!(contents[place], again[place], "another write, other bytes");
    }
    assert_ne!(again[3], again[4], "another block, other bytes");
}

#[test]
fn a_write_of_part_of_a_trimmed_unit_makes_the_rest_what_it_read_as() {
    for reads in [TrimmedReads::Zeroes, TrimmedReads::OldData, TrimmedReads::Unstable] {
        let mut target = drive(reads);
        let trim = BlockCommand::Discard(range(0, 16));
        run(&mut target, &[stamped(0, 16, 1), trim, stamped(3, 1, 2)]);
        let contents = examine(&mut target, 0, 8);
        assert_eq!(contents[3], stamp(3, 2));
        match reads {
            TrimmedReads::Zeroes => assert_eq!(contents[4..], [Content::Zeroes; 4]),
            TrimmedReads::OldData => assert_eq!(contents[4..], stamps(4, 4, 1)),
            TrimmedReads::Unstable => {
                assert!(matches!(contents[4], Content::Other { .. }));
                assert_eq!(examine(&mut target, 0, 8), contents, "it is data from now on");
            }
        }
    }
}

#[test]
fn contents_survive_the_collector() {
    let mut target = drive(TrimmedReads::Zeroes);
    run(&mut target, &[stamped(0, 8_192, 1), BlockCommand::Discard(range(4_096, 1_024))]);
    let mut rng = Rng::new(1);
    for _ in 0..40_000 {
        let unit = 1_024 + rng.below(15 * 1_024);
        run(&mut target, &[BlockCommand::write(range(unit * 8, 8))]);
    }
    let moved = target.model().counters().erased_superblocks;
    assert!(moved > 500, "the drive was written over more than once: {moved}");
    assert_eq!(examine(&mut target, 0, 4_096), stamps(0, 4_096, 1));
    assert_eq!(examine(&mut target, 4_096, 1_024), [Content::Zeroes; 1_024]);
    assert_eq!(examine(&mut target, 5_120, 3_072), stamps(5_120, 3_072, 1));
}

#[test]
fn a_drive_that_does_nothing_with_trim_reads_what_was_written() {
    for (mode, media) in [(TrimMode::Ignored, Media::Flash), (TrimMode::None, Media::InPlace)] {
        let mut target = made(SsdConfig { trim: trim(mode), media, ..plain() });
        run(&mut target, &[stamped(0, 64, 1), BlockCommand::Discard(range(0, 64))]);
        assert_eq!(examine(&mut target, 0, 64), stamps(0, 64, 1));
    }
}

#[test]
fn a_planted_overreach_takes_the_neighbours() {
    let unit = Bytes(4_096);
    for (before, behind) in [(Bytes(0), unit), (unit, Bytes(0)), (unit, unit), (unit, Bytes(8_192))]
    {
        let mut target = drive(TrimmedReads::Zeroes);
        target.model_mut().plant_overreach(Overreach { before, behind });
        run(&mut target, &[stamped(0, 64, 1), BlockCommand::Discard(range(24, 8))]);
        let first = 24 - before.0 / 512;
        let end = 32 + behind.0 / 512;
        assert_eq!(examine(&mut target, 0, first), stamps(0, first, 1));
        let eaten = examine(&mut target, first, end - first);
        assert!(eaten.iter().all(|content| *content == Content::Zeroes), "{before} {behind}");
        assert_eq!(examine(&mut target, end, 64 - end), stamps(end, 64 - end, 1));
    }
    // At the ends of the drive there is no neighbour.
    let mut target = drive(TrimmedReads::Zeroes);
    target.model_mut().plant_overreach(Overreach { before: unit, behind: unit });
    let all = [stamped(0, 8, 1), BlockCommand::Discard(range(0, 8))];
    run(&mut target, &all);
    run(&mut target, &[BlockCommand::Discard(range(131_072 - 8, 8))]);
    target.model_mut().check();
}

#[test]
fn keeping_contents_takes_no_time() {
    let commands = |data| {
        let write = |start, length| BlockCommand::Write { range: range(start, length), data };
        let discard = BlockCommand::Discard(range(4_000, 555));
        let read = BlockCommand::Read(range(3_990, 100));
        let flush = BlockCommand::Flush;
        [write(3_001, 2_000), discard, write(4_013, 3), read, write(4_300, 1), flush, read]
    };
    let mut plain = drive(TrimmedReads::OldData);
    let mut kept = drive(TrimmedReads::OldData);
    let taken = run(&mut plain, &commands(Data::Random));
    assert!(taken.since_start() > Nanos::from_millis(1));
    assert_eq!(run(&mut kept, &commands(Data::Stamped(1))), taken);
}

#[test]
fn another_units_data_is_read_as_such() {
    let mut contents = Contents::new(&plain());
    contents.write(range(0, 16), Data::Stamped(3));
    assert_eq!(contents.read(2, Some(10)), stamp(10, 3));
}

#[test]
fn a_drive_says_what_its_numbers_have_it_say() {
    for promise in [TrimPromise::Unknown, TrimPromise::Zeroes] {
        let contents = ContentsConfig { reads: TrimmedReads::OldData, promise };
        assert_eq!(made(SsdConfig { contents, ..plain() }).trim_promise(), promise);
    }
}

#[test]
fn a_power_cut_loses_what_was_not_flushed_and_undoes_trims() {
    for reads in [TrimmedReads::Zeroes, TrimmedReads::OldData] {
        let mut target = drive(reads);
        let flush = BlockCommand::Flush;
        let trim = |start, length| BlockCommand::Discard(range(start, length));
        run(&mut target, &[stamped(0, 128, 1), trim(0, 16), trim(32, 8), flush]);
        // Overwritten, written after a TRIM, trimmed, trimmed again, trimmed and written.
        let after = [stamped(64, 11, 2), stamped(3, 1, 2), trim(48, 8), trim(32, 8), trim(80, 8)];
        run(&mut target, &after);
        run(&mut target, &[stamped(80, 2, 2)]);
        let mapped = target.model_mut().mapped_units();
        target.power_cut().unwrap();
        target.model_mut().check();
        // Units 0 and 4 are trimmed again, 6 is back; 10 was mapped before the cut, too.
        assert_eq!(target.model_mut().mapped_units(), mapped - 1 + 1);
        let trimmed = |start, length| match reads {
            TrimmedReads::OldData => stamps(start, length, 1),
            _ => vec![Content::Zeroes; 16][..trimbench_core::units::index(length)].to_vec(),
        };
        assert_eq!(examine(&mut target, 0, 16), trimmed(0, 16), "flushed TRIMs hold");
        assert_eq!(examine(&mut target, 32, 8), trimmed(32, 8), "also if repeated");
        for (start, length) in [(16, 16), (40, 24), (64, 16), (80, 8), (88, 40)] {
            assert_eq!(examine(&mut target, start, length), stamps(start, length, 1), "{start}");
        }
        // A second cut finds nothing to do.
        target.power_cut().unwrap();
        assert_eq!(examine(&mut target, 80, 8), stamps(80, 8, 1));
    }
}

#[test]
fn what_has_reached_the_flash_survives_a_power_cut_without_a_flush() {
    let mut target = drive(TrimmedReads::Zeroes);
    // Two whole program groups of 16 units, and one unit of a third.
    run(&mut target, &[stamped(0, 33 * 8, 1)]);
    let later = target.now() + Nanos::from_millis(5);
    target.reap(later, &mut Vec::new());
    // The cut comes with the end of the last command: this read.
    run(&mut target, &[BlockCommand::Read(range(0, 8))]);
    target.power_cut().unwrap();
    assert_eq!(examine(&mut target, 0, 256), stamps(0, 256, 1));
    assert!(matches!(examine(&mut target, 256, 1)[..], [Content::Other { .. }]));
    // Without the pause the groups are still on their way.
    let mut target = drive(TrimmedReads::Zeroes);
    run(&mut target, &[stamped(0, 33 * 8, 1)]);
    target.power_cut().unwrap();
    assert!(matches!(examine(&mut target, 0, 1)[..], [Content::Other { .. }]));
}

#[test]
fn power_loss_protection_loses_nothing() {
    let own = SsdConfig { power_loss_protection: true, ..plain() };
    let in_place = SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..plain() };
    for config in [own, in_place] {
        let flash = config.media == Media::Flash;
        let mut target = made(config);
        run(&mut target, &[stamped(0, 33 * 8, 1), BlockCommand::Discard(range(0, 8))]);
        target.power_cut().unwrap();
        assert_eq!(examine(&mut target, 8, 256), stamps(8, 256, 1));
        let trimmed = if flash { vec![Content::Zeroes; 8] } else { stamps(0, 8, 1) };
        assert_eq!(examine(&mut target, 0, 8), trimmed);
    }
}

#[test]
fn a_trim_of_durable_data_takes_one_entry_and_each_unit_goes_back_by_itself() {
    let mut target = drive(TrimmedReads::Zeroes);
    let flush = || BlockCommand::Flush;
    let trim = BlockCommand::Discard(range(0, 64 * 8));
    run(&mut target, &[stamped(0, 80 * 8, 1), flush(), trim]);
    // One of its units is written, flushed, and trimmed again; another is written in part.
    run(&mut target, &[stamped(8 * 8, 8, 2), stamped(20 * 8, 3, 2)]);
    target.power_cut().unwrap();
    target.model_mut().check();
    assert_eq!(examine(&mut target, 0, 80 * 8), stamps(0, 80 * 8, 1), "the TRIM was not flushed");
    let trim = BlockCommand::Discard(range(0, 64 * 8));
    run(&mut target, &[trim, stamped(8 * 8, 8, 2), flush()]);
    run(&mut target, &[stamped(9 * 8, 8, 2), BlockCommand::Discard(range(8 * 8, 8))]);
    target.power_cut().unwrap();
    target.model_mut().check();
    let mut expected = vec![Content::Zeroes; 64 * 8];
    expected[8 * 8..9 * 8].copy_from_slice(&stamps(8 * 8, 8, 2));
    assert_eq!(examine(&mut target, 0, 64 * 8), expected);
}
