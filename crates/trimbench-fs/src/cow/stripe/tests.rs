use std::collections::BTreeSet;

use super::*;

const RAIDZ2: Stripe = Stripe { drives: 10, parity: 2 };

fn sectors(pieces: &[Piece]) -> BTreeSet<(usize, u64)> {
    let all = pieces.iter().flat_map(|piece| {
        (piece.start..piece.start + piece.sectors).map(|sector| (piece.drive, sector))
    });
    let set: BTreeSet<_> = all.collect();
    assert_eq!(set.len() as u64, pieces.iter().map(|piece| piece.sectors).sum::<u64>());
    set
}

fn pieces(stripe: Stripe, run: Run, columns: Columns) -> Vec<Piece> {
    let mut out = Vec::new();
    stripe.pieces(run, columns, &mut out);
    out
}

#[test]
fn records_take_parity_and_are_padded() {
    for (drives, parity, data, expected) in [
        (10, 2, 32, 42), // 32 + 2 x 4 rows = 40, padded to a multiple of 3.
        (10, 2, 1, 3),
        (3, 1, 2, 4), // 2 + 1 = 3, padded to 4.
        (5, 0, 7, 7),
        (11, 3, 8, 12),
    ] {
        assert_eq!(Stripe { drives, parity }.allocated(data), expected, "{drives} {parity} {data}");
    }
}

#[test]
fn a_record_owns_its_sectors_and_no_other() {
    for stripe in [RAIDZ2, Stripe { drives: 3, parity: 1 }, Stripe { drives: 4, parity: 0 }] {
        for start in 0..25 {
            for data in [1, 2, 5, 8, 31, 32] {
                let run = Run { start, records: 3, sectors: data };
                let all = sectors(&pieces(stripe, run, Columns::All));
                let read = sectors(&pieces(stripe, run, Columns::Data));
                let rows = data.div_ceil(stripe.drives - stripe.parity);
                assert_eq!(all.len() as u64, 3 * (data + stripe.parity * rows));
                assert_eq!(read.len() as u64, 3 * data, "a read leaves parity out");
                assert!(read.is_subset(&all));
                let spans: Vec<Piece> = stripe.spans(run).collect();
                let covered = sectors(&spans);
                assert!(all.is_subset(&covered), "{stripe:?} {run:?}");
                assert_eq!(covered.len() as u64, stripe.taken(run), "and nothing beyond the run");
            }
        }
    }
}

#[test]
fn freed_neighbours_do_not_merge_beyond_what_was_skipped() {
    let run = Run { start: 0, records: 50, sectors: 32 };
    let of_one = pieces(RAIDZ2, run, Columns::All);
    let longest = of_one.iter().map(|piece| piece.sectors).max();
    assert_eq!(longest, Some(20), "5 records' share of a drive, 80 KiB, then a skipped sector");
}

#[test]
fn a_run_splits_at_a_record() {
    let run = Run { start: 7, records: 5, sectors: 32 };
    let (head, rest) = RAIDZ2.split(run, 2);
    assert_eq!(head, Some(Run { start: 7, records: 2, sectors: 32 }));
    assert_eq!(rest, Some(Run { start: 7 + 84, records: 3, sectors: 32 }));
    assert_eq!(RAIDZ2.split(run, 5), (Some(run), None));
    assert_eq!(RAIDZ2.split(run, 0), (None, Some(run)));
}
