//! Striped parity (raidz): where the sectors of a record lie on the drives.
//!
//! The sectors of the stripe are counted row by row across the drives. A record of `s` sectors
//! takes a run of them: one parity sector for each of the `parity` columns in each row of data, and
//! at the end as many skipped ones as make the run a multiple of `parity + 1`, so that no hole is
//! too small to be used. Its first columns are parity.
//!
//! ```text
//! raidz2, 10 drives, 128 KiB = 32 sectors of 4 KiB: 8 rows of parity, 40 sectors, 2 skipped: 42
//! drive    0  1  2  3  4  5  6  7  8  9
//! row 0   P  Q  d  d  d  d  d  d  d  d       the next record begins on drive 2 of row 4:
//! row 4   -  -  P  Q  d  d  ...              what is skipped is never freed, so that on each
//!                                            drive freed space has a hole every 21 sectors
//! ```
//!
//! Units: sectors of 4 KiB (`ashift` 12). Source: \[FBZFS\] `vdev_raidz_map_alloc`.

use super::range_tree::RangeTree;
use crate::extent::Extent;

#[cfg(test)]
mod tests;

/// How records are spread over drives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripe {
    /// In [1, 255].
    pub(crate) drives: u64,
    /// In [0, 3], fewer than drives.
    pub(crate) parity: u64,
}

/// Neighbouring records of one file, written together: `[start, start + records x asize)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// First sector of the stripe.
    pub(crate) start: u64,
    /// Never none.
    pub(crate) records: u64,
    /// Sectors of data of each record.
    pub(crate) sectors: u64,
}

/// Sectors `[start, start + sectors)` of one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) drive: usize,
    pub(crate) start: u64,
    pub(crate) sectors: u64,
}

/// Which columns of a record are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Data and parity.
    All,
    /// Data only: what a read wants.
    Data,
}

impl Stripe {
    /// Sectors that a record of so many sectors takes, with parity and what is skipped.
    pub(crate) fn allocated(self, sectors: u64) -> u64 {
        let rows = sectors.div_ceil(self.drives - self.parity);
        (sectors + self.parity * rows).next_multiple_of(self.parity + 1)
    }

    pub(crate) fn taken(self, run: Run) -> u64 {
        run.records * self.allocated(run.sectors)
    }

    /// The first `records` of a run, and the rest; either may be nothing.
    pub(crate) fn split(self, run: Run, records: u64) -> (Option<Run>, Option<Run>) {
        assert!(records <= run.records, "a part of the run");
        let start = run.start + records * self.allocated(run.sectors);
        let rest = Run { start, records: run.records - records, ..run };
        let head = Run { records, ..run };
        ((head.records > 0).then_some(head), (rest.records > 0).then_some(rest))
    }

    /// The records of a run, drive by drive in order of their columns; what touches on a drive is
    /// one piece.
    pub(crate) fn pieces(self, run: Run, columns: Columns, out: &mut Vec<Piece>) {
        let from = out.len();
        let allocated = self.allocated(run.sectors);
        for record in 0..run.records {
            self.columns(run.start + record * allocated, run.sectors, columns, |piece| {
                let open = out[from..].iter_mut().rev().find(|open| open.drive == piece.drive);
                match open {
                    Some(open) if open.start + open.sectors == piece.start => {
                        open.sectors += piece.sectors;
                    }
                    _ => out.push(piece),
                }
            });
        }
    }

    /// What a run covers on each drive, skipped sectors too: they are written along, so that the
    /// writes of neighbouring records become one.
    pub(crate) fn spans(self, run: Run) -> impl Iterator<Item = Piece> {
        let extent = Extent::new(run.start, self.taken(run));
        (0..self.drives).filter_map(move |drive| {
            let Extent { start, length: sectors } = self.on_drive(extent, drive)?;
            let drive = usize::try_from(drive).expect("a drive's number is small");
            Some(Piece { drive, start, sectors })
        })
    }

    /// What sectors of the stripe are on a drive: one piece, if any. What follows in the stripe
    /// follows on each drive. Source: \[OPENZFS\] `vdev_raidz_xlate`.
    pub(crate) fn on_drive(self, extent: Extent, drive: u64) -> Option<Extent> {
        let row = |sector: u64| (sector + self.drives - 1 - drive) / self.drives;
        let (first, past) = (row(extent.start), row(extent.end()));
        (first < past).then(|| Extent::between(first, past))
    }

    /// What runs of the stripe are on a drive, merged where they touch there.
    pub(crate) fn tree_on_drive(self, runs: &RangeTree, drive: u64) -> RangeTree {
        let mut tree = RangeTree::default();
        runs.iter().filter_map(|run| self.on_drive(run, drive)).for_each(|piece| tree.add(piece));
        tree
    }

    fn columns(self, start: u64, sectors: u64, columns: Columns, mut each: impl FnMut(Piece)) {
        let data = self.drives - self.parity;
        let (whole, rest) = (sectors / data, sectors % data);
        let large = if rest == 0 { 0 } else { rest + self.parity };
        let used = if whole == 0 { large } else { self.drives };
        let skip = if columns == Columns::Data { self.parity } else { 0 };
        for column in skip..used {
            let at = start % self.drives + column;
            each(Piece {
                drive: usize::try_from(at % self.drives).expect("a drive's number is small"),
                start: start / self.drives + at / self.drives,
                sectors: whole + u64::from(column < large),
            });
        }
    }
}
