//! How many discards a deletion makes, and how long they are, from the rules in the sources of
//! `OpenZFS` and FreeBSD: a freed range of the pool, its pieces on the drives, the shortest and the
//! longest discard. Shares no code with the model, and looks at no drive and no time.

/// \[S3\]: raidz2 of ten drives, four files.
pub(super) const DRIVES: usize = 10;
const WIDTH: u64 = DRIVES as u64;
const PARITY: u64 = 2;
const FILES: u64 = 4;
const SECTOR: u64 = 4 << 10;
const RECORD: u64 = 128 << 10;
/// `zfs_trim_extent_bytes_max`, `zfs_trim_extent_bytes_min`.
const LONGEST: u64 = 128 << 20;
const SHORTEST: u64 = 32 << 10;
/// `zfs_txg_timeout`, `zfs_trim_txg_batch`, and the txgs that are waited for after a metaslab.
const TXG_SECONDS: f64 = 5.0;
const BATCH: u64 = 32;
const TXGS_AFTER: u64 = 5;

/// A number of discards and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Discards {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Discards {
    /// Bytes of a discard, on average.
    pub(super) fn mean(self) -> f64 {
        self.bytes as f64 / self.count as f64
    }
}

/// A pool, all sizes in sectors, and a deletion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    scale: u64,
    drives: u64,
    sectors: u64,
    metaslab: u64,
    /// Records that are deleted, which lie one behind the other, and what one takes.
    records: u64,
    allocated: u64,
}

impl Pool {
    /// That of \[S3\] at one in `scale`, of drives of so many bytes, with files of so many.
    pub(super) fn of_s3(scale: u64, drive: u64, file: u64) -> Self {
        let rows = (RECORD / SECTOR).div_ceil(WIDTH - PARITY);
        let allocated = (RECORD / SECTOR + rows * PARITY).next_multiple_of(PARITY + 1);
        let records = FILES * file / RECORD;
        let sectors = WIDTH * drive / SECTOR;
        let metaslab = metaslab(WIDTH * drive * scale) / scale / SECTOR;
        Self { scale, drives: WIDTH, sectors, metaslab, records, allocated }
    }

    /// One drive of so many bytes, of which everything is free.
    pub(super) fn of_one(drive: u64) -> Self {
        let (sectors, metaslab) = (drive / SECTOR, metaslab(drive) / SECTOR);
        Self { scale: 1, drives: 1, sectors, metaslab, records: 0, allocated: 1 }
    }

    /// FreeBSD: every drive is told of its columns of each record, without the sectors that are
    /// skipped; what touches is one segment.
    pub(super) fn freebsd(&self) -> Discards {
        let used = RECORD / SECTOR + PARITY * (RECORD / SECTOR).div_ceil(WIDTH - PARITY);
        let (mut count, mut sectors) = (0_u64, 0_u64);
        let mut in_segment = [false; DRIVES];
        for (sector, drive) in (0..self.records * self.allocated).zip((0..DRIVES).cycle()) {
            let is_used = sector % self.allocated < used;
            count += u64::from(is_used && !in_segment[drive]);
            sectors += u64::from(is_used);
            in_segment[drive] = is_used;
        }
        Discards { count, bytes: sectors * SECTOR }
    }

    /// The same in time, where a drive is given so many discards a second. `trim_map_vdev_commit`
    /// of 2017: a second after each pass the next takes a quarter of what exceeds 10,000 segments
    /// and, of those that are 30 s old, a thirtieth of all, rounded up to 64.
    pub(super) fn freebsd_2017_seconds(&self, rate: f64) -> f64 {
        let second = 1.0 / self.scale as f64;
        let most = 10_000 / self.scale;
        let mut pending = self.freebsd().count / WIDTH;
        let mut time = 0.0;
        while pending > 0 {
            time += second;
            let excess = pending.saturating_sub(most) / 4;
            let of_all = (excess + pending / 30 + 1).next_multiple_of(64);
            let is_old = time >= 30.0 * second;
            let taken = if is_old { of_all.min(pending) } else { excess };
            time += taken as f64 / rate;
            pending -= taken;
        }
        time
    }

    /// `OpenZFS` with autotrim: metaslabs are filled one after the other; the freed range of each
    /// is one piece on each drive.
    pub(super) fn autotrim(&self) -> Discards {
        let mut sum = Discards::default();
        for (number, records) in (0..).zip(self.filled()) {
            let start = number * self.metaslab;
            self.add_pieces(&mut sum, start, start + records * self.allocated);
        }
        sum
    }

    /// `zpool trim` of a pool in which everything is free.
    pub(super) fn zpool_trim(&self) -> Discards {
        let mut sum = Discards::default();
        for number in 0..self.sectors / self.metaslab {
            self.add_pieces(&mut sum, number * self.metaslab, (number + 1) * self.metaslab);
        }
        sum
    }

    /// An idle pool: each of the 32 groups of metaslabs takes a txg, each metaslab with frees five.
    pub(super) fn autotrim_seconds(&self) -> f64 {
        let metaslabs = self.filled().count() as u64;
        (metaslabs * TXGS_AFTER + BATCH) as f64 * TXG_SECONDS / self.scale as f64
    }

    /// What a rate adds to `zpool trim`: in each metaslab every discard waits for those before it,
    /// so that the last one's bytes cost nothing.
    pub(super) fn rate_seconds(&self, rate: u64) -> f64 {
        let on_drive = self.metaslab / self.drives * SECTOR;
        let waited_for = (on_drive.div_ceil(LONGEST) - 1) * LONGEST;
        // The label and what the model keeps for metadata cost the last metaslab.
        let metaslabs = self.sectors / self.metaslab - 1;
        (metaslabs * waited_for) as f64 / rate as f64
    }

    /// Deleted records in each metaslab.
    fn filled(&self) -> impl Iterator<Item = u64> {
        let most = self.metaslab / self.allocated;
        let records = self.records;
        (0..records.div_ceil(most)).map(move |number| most.min(records - number * most))
    }

    fn add_pieces(&self, sum: &mut Discards, start: u64, end: u64) {
        for drive in 0..self.drives {
            // vdev_raidz_xlate: rows of the drive before a sector of the pool.
            let rows = |sector: u64| match sector.checked_sub(drive + 1) {
                Some(behind) => behind / self.drives + 1,
                None => 0,
            };
            let bytes = (rows(end) - rows(start)) * SECTOR;
            if bytes >= SHORTEST {
                sum.count += bytes.div_ceil(LONGEST);
                sum.bytes += bytes;
            }
        }
    }
}

/// `vdev_metaslab_set_size`, for pools of 8 GB to 2 PB: 512 MiB each to 100 GB, then the power of
/// two above a 200th, at most 16 GiB.
fn metaslab(pool: u64) -> u64 {
    let (least, most) = (512 << 20, 16 << 30);
    if pool / least <= 200 {
        return least;
    }
    let mut metaslab = least;
    while metaslab <= pool / 200 && metaslab < most {
        metaslab *= 2;
    }
    metaslab
}

#[cfg(test)]
mod tests {
    use super::{Discards, Pool};

    #[test]
    fn the_calculation_gives_what_the_sources_say() {
        // S3 itself: 16 GiB a metaslab; 2,000 of 128 MiB a drive would hold 4 x 512 GB with parity.
        let whole = Pool::of_s3(1, 352 << 30, 480 << 30);
        let Discards { count, bytes } = whole.autotrim();
        assert!((2_700_000_000_000..2_710_000_000_000).contains(&bytes), "{bytes}");
        assert!((19_900..21_100).contains(&count), "{count}");
        // 80 KiB, as freed space has a hole every 21 sectors of a drive.
        let small = Pool::of_s3(512, 704 << 20, 960 << 20);
        let mean = small.freebsd().mean();
        assert!((mean / 1_024.0 - 80.0).abs() < 0.1, "{mean}");
        // At 500 a second what the passes add is little: 6,144 segments a drive, after 30 s.
        let (seconds, count) = (small.freebsd_2017_seconds(500.0), small.freebsd().count);
        assert!((seconds - count as f64 / 10.0 / 500.0).abs() < 0.3, "{seconds}");
        // 16 metaslabs of 512 MiB, of which the last is cut: four discards each, three waits.
        let rate = Pool::of_one(8 << 30).rate_seconds(64 << 20);
        assert!((rate - 15.0 * 6.0).abs() < 1e-9, "{rate}");
    }
}
