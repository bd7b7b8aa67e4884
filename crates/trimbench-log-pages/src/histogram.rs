//! Latency histograms of 32 buckets, as Memblaze and Micron drives keep them for reads, writes and
//! deallocations. Bounds: \[NVMECLI\] `memblaze-nvme.c` and `micron-nvme.c`, which agree.

use serde::Serialize;

use crate::page::DecodedPage;

/// Where each bucket begins, in microseconds. The last has no end.
pub(crate) const STARTS_US: [u64; 32] = [
    0, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1_000, 5_000, 10_000, 20_000, 50_000,
    100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 1_000_000,
    2_000_000, 3_000_000, 4_000_000, 5_000_000, 8_000_000,
];

/// How many commands took how long, since the drive began to count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogHistogram {
    /// Buckets, by latency.
    pub buckets: Vec<LatencyBucket>,
}

/// Commands within a range of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyBucket {
    /// Where the range begins, in microseconds; included.
    pub from_us: u64,
    /// Where it ends; not included. `None`: no end.
    pub to_us: Option<u64>,
    /// How many commands.
    pub count: u64,
}

impl LogHistogram {
    /// The histogram of the commands whose keys begin with `prefix`, from a page that has it.
    pub(crate) fn of(page: &DecodedPage, prefix: &str) -> Option<Self> {
        let counts = page.values.iter().filter_map(|value| {
            value.name.strip_prefix(prefix)?.strip_prefix("-latency-from-")?;
            value.value.number()
        });
        let counts: Vec<u64> = counts.collect();
        if counts.len() != STARTS_US.len() {
            return None;
        }
        let ends = STARTS_US[1..].iter().copied().map(Some).chain([None]);
        let ranges = STARTS_US.into_iter().zip(ends).zip(counts);
        let buckets =
            ranges.map(|((from_us, to_us), count)| LatencyBucket { from_us, to_us, count });
        Some(Self { buckets: buckets.collect() })
    }

    /// All commands; saturates.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// Where the highest bucket with a command begins: the slowest command took this long at least.
    pub fn slowest_from_us(&self) -> Option<u64> {
        self.buckets.iter().rev().find(|bucket| bucket.count != 0).map(|bucket| bucket.from_us)
    }
}

/// 32 counters of `width` bytes from `at` on: `read-latency-from-50-us-count`, and so on.
macro_rules! histogram {
    ($commands:literal, $at:expr, $width:literal) => {
        $crate::histogram::histogram!(@each $commands, $at, $width;
            0 "0", 1 "50", 2 "100", 3 "150", 4 "200", 5 "300", 6 "400", 7 "500", 8 "600",
            9 "700", 10 "800", 11 "900", 12 "1000", 13 "5000", 14 "10000", 15 "20000",
            16 "50000", 17 "100000", 18 "200000", 19 "300000", 20 "400000", 21 "500000",
            22 "600000", 23 "700000", 24 "800000", 25 "900000", 26 "1000000", 27 "2000000",
            28 "3000000", 29 "4000000", 30 "5000000", 31 "8000000")
    };
    (@each $commands:literal, $at:expr, $width:literal; $($index:literal $from:literal),*) => {
        &[$($crate::field::LogField::counter(
            concat!($commands, "-latency-from-", $from, "-us-count"),
            $at + $index * $width,
            $width,
            concat!($commands, " commands that took this long, up to the next bucket"),
        )),*]
    };
}

pub(crate) use histogram;
