use trimbench_core::rng::Rng;
use trimbench_core::{Blocks as Length, Bytes};
use trimbench_ssd::TrimMode;

use super::*;
use crate::soak::scenario::{PIECE, Size};

/// A drive that frees pieces of three pieces, of which the first begins at piece 1.
fn scenario(reads: TrimmedReads, start: Start) -> Scenario {
    let mut scenario = Scenario::draw(&Rng::new(1), Size::Tiny);
    scenario.drive.media = Media::Flash;
    scenario.drive.power_loss_protection = false;
    scenario.drive.trim.mode = TrimMode::Queued;
    scenario.drive.trim.granularity = Bytes(3 * PIECE);
    scenario.drive.trim.alignment = Bytes(PIECE);
    scenario.drive.contents.reads = reads;
    scenario.load.start = start;
    scenario
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Length(length)).unwrap()
}

/// Blocks of a piece, of which each is the stamp of its generation, or zeroes where that is 0.
fn stamps(piece: u64, generations: [u32; 8]) -> Found {
    let mut contents = [Content::Zeroes; 8];
    for (block, &generation) in generations.iter().enumerate().filter(|(_, it)| **it > 0) {
        contents[block] = Content::Stamp { lba: lba(piece, block), generation };
    }
    Found { mapped: true, blocks: Some(contents) }
}

fn trimmed(found: Found) -> Found {
    Found { mapped: false, ..found }
}

fn other(mapped: bool, hash: u64) -> Found {
    Found { mapped, blocks: Some([Content::Other { hash }; 8]) }
}

fn written<O: Oracle>(reads: TrimmedReads) -> O {
    let mut oracle = O::new(&scenario(reads, Start::Fresh));
    oracle.write(range(0, 128), Data::Stamped(1));
    oracle
}

/// What both oracles must say.
fn check<O: Oracle>() {
    stamps_and_neighbours::<O>();
    pieces_that_are_freed::<O>();
    reads_of_trimmed_units::<O>();
    power_cuts::<O>();
    contents_begin_with_a_stamp::<O>();
}

fn stamps_and_neighbours<O: Oracle>() {
    let mut oracle = written::<O>(TrimmedReads::Zeroes);
    oracle.write(range(12, 5), Data::Stamped(2));
    assert_eq!(oracle.mapped_pieces(), 16);
    assert_eq!(oracle.judge(1, &stamps(1, [1, 1, 1, 1, 2, 2, 2, 2])), Ok(()));
    assert_eq!(oracle.judge(2, &stamps(2, [2, 1, 1, 1, 1, 1, 1, 1])), Ok(()));
    assert!(oracle.judge(2, &stamps(2, [1; 8])).is_err(), "the old version");
    assert!(oracle.judge(3, &stamps(4, [1; 8])).is_err(), "the stamps of another piece");
    assert!(oracle.judge(3, &trimmed(stamps(3, [0; 8]))).is_err(), "trimmed by nobody");
    oracle.write(range(24, 8), Data::Compressible(0));
    assert_eq!(oracle.judge(3, &stamps(3, [0; 8])), Ok(()));
}

fn pieces_that_are_freed<O: Oracle>() {
    // (start, length, first piece freed, one past the last); pieces are 1..4, 4..7, 7..10.
    let cases = [
        (8, 24, 1, 4),
        (0, 128, 1, 16),
        (9, 24, 0, 0),
        (8, 23, 0, 0),
        (7, 50, 1, 7),
        (0, 31, 0, 0),
        (31, 26, 4, 7),
        (1, 3, 0, 0),
    ];
    for (start, length, first, end) in cases {
        let mut oracle = written::<O>(TrimmedReads::Zeroes);
        oracle.discard(range(start, length));
        for piece in 0..16 {
            let full = stamps(piece, [1; 8]);
            let empty = trimmed(stamps(piece, [0; 8]));
            let found = if (first..end).contains(&piece) { empty } else { full };
            assert_eq!(oracle.judge(piece, &found), Ok(()), "{start} {length}");
        }
        assert_eq!(oracle.mapped_pieces(), 16 - (end - first));
    }
}

fn reads_of_trimmed_units<O: Oracle>() {
    for (reads, rest) in [(TrimmedReads::Zeroes, 0), (TrimmedReads::OldData, 1)] {
        let mut oracle = written::<O>(reads);
        oracle.discard(range(8, 24));
        assert_eq!(oracle.judge(2, &trimmed(stamps(2, [rest; 8]))), Ok(()));
        assert!(oracle.judge(2, &trimmed(stamps(2, [1 - rest; 8]))).is_err(), "{reads:?}");
        assert!(oracle.judge(2, &stamps(2, [rest; 8])).is_err(), "it still holds data");
        oracle.write(range(16, 1), Data::Stamped(9));
        let mut partly = [rest; 8];
        partly[0] = 9;
        assert_eq!(oracle.judge(2, &stamps(2, partly)), Ok(()), "{reads:?}");
    }
    let mut oracle = written::<O>(TrimmedReads::Unstable);
    oracle.discard(range(8, 24));
    assert_eq!(oracle.judge(2, &other(false, 1)), Ok(()));
    assert_eq!(oracle.judge(2, &other(false, 2)), Ok(()));
    assert!(oracle.judge(2, &trimmed(stamps(2, [0; 8]))).is_err());
}

fn power_cuts<O: Oracle>() {
    let cut = |found: Found| {
        let mut oracle = written::<O>(TrimmedReads::Zeroes);
        oracle.flush();
        oracle.discard(range(8, 24));
        oracle.write(range(16, 4), Data::Stamped(2));
        let look = |piece| if piece == 2 { found } else { trimmed(stamps(piece, [0; 8])) };
        let judgement = oracle.power_cut(look);
        (judgement, oracle.mapped_pieces())
    };
    assert_eq!(cut(stamps(2, [2, 2, 2, 2, 0, 0, 0, 0])), (Ok(()), 14), "as before the cut");
    assert_eq!(cut(stamps(2, [1; 8])), (Ok(()), 14), "as at the flush");
    assert!(cut(stamps(2, [2, 2, 2, 2, 1, 1, 1, 1])).0.is_err(), "torn");
    assert_eq!(cut(trimmed(stamps(2, [0; 8]))), (Ok(()), 13), "between the two");
    assert!(cut(stamps(2, [0; 8])).0.is_err(), "as it never was");
    // What is as at the flush stays so.
    let mut oracle = written::<O>(TrimmedReads::Zeroes);
    oracle.flush();
    oracle.discard(range(8, 24));
    assert_eq!(oracle.power_cut(|piece| stamps(piece, [1; 8])), Ok(()));
    assert_eq!(oracle.mapped_pieces(), 16);
    assert_eq!(oracle.judge(2, &stamps(2, [1; 8])), Ok(()));
    assert!(oracle.judge(2, &trimmed(stamps(2, [0; 8]))).is_err());
}

fn contents_begin_with_a_stamp<O: Oracle>() {
    let mut oracle = O::new(&scenario(TrimmedReads::OldData, Start::Filled));
    let unknown = |mapped| Found { mapped, blocks: None };
    oracle.discard(range(8, 24));
    assert_eq!(oracle.judge(2, &unknown(false)), Ok(()));
    assert_eq!(oracle.judge(5, &unknown(true)), Ok(()));
    assert!(oracle.judge(2, &unknown(true)).is_err());
    oracle.write(range(64, 8), Data::Stamped(1));
    assert!(oracle.judge(5, &unknown(true)).is_err(), "contents are kept now");
    assert_eq!(oracle.judge(5, &other(true, 3)), Ok(()));
    assert_eq!(oracle.judge(2, &trimmed(stamps(2, [0; 8]))), Ok(()), "nothing was ever kept");
    oracle.purge();
    assert_eq!(oracle.mapped_pieces(), 0);
    assert_eq!(oracle.judge(5, &unknown(false)), Ok(()));
}

#[test]
fn the_exact_oracle_knows_the_rules() {
    check::<Exact>();
    // It also remembers bytes that it could not know beforehand.
    let mut oracle = written::<Exact>(TrimmedReads::OldData);
    oracle.write(range(0, 8), Data::Random);
    assert_eq!(oracle.judge(0, &other(true, 5)), Ok(()));
    assert!(oracle.judge(0, &other(true, 6)).is_err());
    assert_eq!(oracle.judge(0, &other(true, 5)), Ok(()));
}

#[test]
fn a_power_cut_tells_bytes_that_are_known_from_new_ones() {
    for seen_before in [true, false] {
        let mut oracle = Exact::new(&scenario(TrimmedReads::OldData, Start::Filled));
        oracle.write(range(0, 8), Data::Stamped(1));
        oracle.flush();
        if seen_before {
            assert_eq!(oracle.judge(2, &other(true, 5)), Ok(()));
        }
        oracle.write(range(16, 8), Data::Random);
        oracle.write(range(8, 8), Data::Random);
        assert_eq!(oracle.power_cut(|piece| other(true, 5 - piece % 2)), Ok(()));
        oracle.discard(range(8, 24));
        // What was there before contents were kept reads as zeroes once it is trimmed; new bytes
        // stay. The cut told which they are only where the old ones were known.
        assert_eq!(oracle.judge(2, &trimmed(stamps(2, [0; 8]))), Ok(()), "{seen_before}");
        assert_eq!(oracle.judge(2, &other(false, 5)).is_ok(), !seen_before);
        assert!(oracle.judge(2, &other(false, 6)).is_err());
    }
}

#[test]
fn the_flat_oracle_knows_the_rules() {
    check::<Versions>();
}
