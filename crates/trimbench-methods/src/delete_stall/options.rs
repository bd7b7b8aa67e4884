//! The method's parameters.

use trimbench_core::{Bytes, Nanos, Ppm};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::workload::Arrivals;

/// Sizes are rounded down to this, so that they are whole pieces of any filesystem and drive.
const SIZE_UNIT: u64 = 4096;

/// The analysis grows with the cube of the deletions: with five sizes this takes some seconds.
const REPETITIONS_MAX: u32 = 40;

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option(
        "sizes",
        ["128MiB,256MiB,512MiB,768MiB,1GiB", "512MiB,1GiB,2GiB,4GiB,8GiB", "1GB,2GB,4GB,8GB,16GB"],
        "sizes of the deleted files, separated by commas, 1MiB to 1TiB",
    ),
    option("repetitions", ["3", "5", "3"], "deletions of each size, 1 to 40"),
    option("placebos", ["8", "15", "10"], "deletions of an empty file, 2 to 1000"),
    option("window", ["3s", "10s", "30s"], "what is measured after each deletion, 100ms to 1h"),
    option("lead", ["500ms", "2s", "5s"], "load before each deletion, not counted, 0 to 10min"),
    option(
        "rest",
        ["1s", "5s", "10s"],
        "idle time between writing the file and the load, 0 to 10min",
    ),
    option(
        "rate",
        ["1000", "1000", "1000"],
        "accesses a second of the open-loop load, 1 to 1000000",
    ),
    option("arrivals", ["constant", "poisson", "constant"], "`constant` or `poisson` gaps"),
    option("access", ["4KiB", "4KiB", "4KiB"], "bytes of each access, 4KiB to 1MiB"),
    option("read-share", ["90%", "90%", "90%"], "share of reads in the load; the rest are writes"),
    option("span", ["1GiB", "4GiB", "8GiB"], "what load and probe access, 1MiB to 1TiB"),
    option("probe-interval", ["1ms", "1ms", "1ms"], "pace of the serial probe, 100us to 1s"),
    option(
        "chunk",
        ["128MiB", "128MiB", "128MiB"],
        "on a device: bytes of one discard, 1MiB to 2TiB",
    ),
    option(
        "mode",
        ["unlink", "unlink", "unlink"],
        "in a directory: `unlink`, `truncate`, `punch-hole` or `trim` (unlink, then fstrim)",
    ),
    option(
        "overdue-after",
        ["10ms", "10ms", "10ms"],
        "a response beyond this is overdue, 1us to 1h",
    ),
    option(
        "p999-limit",
        ["none", "none", "none"],
        "searches the highest rate of deletion whose p99.9 of the load's response time stays \
         within this, 1us to 1h; `none`: no search",
    ),
    option(
        "rate-chunks",
        ["1MiB,8MiB,64MiB", "1MiB,4MiB,16MiB,64MiB,256MiB", "1MiB,8MiB,64MiB"],
        "sizes of the discards, or in a directory of the files, that the search compares, \
         64KiB to 2TiB",
    ),
    option(
        "rate-max",
        ["1GB", "2GB", "2GB"],
        "the highest rate of deletion that the search tries, bytes a second, 2MB to 100GB",
    ),
    option("placebo-only", ["no", "no", "no"], "`yes`: delete nothing, to see the method's noise"),
];

/// How a file in a directory loses its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The file is removed.
    Unlink,
    /// The file is cut to nothing.
    Truncate,
    /// The file's content is punched out.
    PunchHole,
    /// The file is removed, and the filesystem told to discard its free space.
    Trim,
}

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteStall {
    /// Sizes of the deleted files, ascending, whole multiples of 4 KiB.
    pub sizes: Vec<Bytes>,
    /// Deletions of each size.
    pub repetitions: u32,
    /// Deletions of an empty file.
    pub placebos: u32,
    /// Measured time after each deletion.
    pub window: Nanos,
    /// Load before each deletion.
    pub lead: Nanos,
    /// Idle time between writing the file and the load.
    pub rest: Nanos,
    /// Mean gap between arrivals of the load.
    pub gap: Nanos,
    /// How the gaps are distributed.
    pub arrivals: Arrivals,
    /// Bytes of each access.
    pub access: Bytes,
    /// Share of reads in the load.
    pub read_share: Ppm,
    /// What load and probe access.
    pub span: Bytes,
    /// Pace of the serial probe.
    pub probe_interval: Nanos,
    /// Bytes of one discard on a device.
    pub chunk: Bytes,
    /// How a file loses its space.
    pub mode: Mode,
    /// A response beyond this is overdue.
    pub overdue_after: Nanos,
    /// Delete nothing.
    pub placebo_only: bool,
    /// What the p99.9 of the load may come to beside a steady deletion; `None`: no search.
    pub p999_limit: Option<Nanos>,
    /// Sizes of discards, or of files, that the search compares, ascending, whole multiples of
    /// 4 KiB.
    pub rate_chunks: Vec<Bytes>,
    /// The highest rate that it tries, bytes a second.
    pub rate_max: Bytes,
    pub(super) values: Values,
}

/// The chunks that the search compares, none of them larger than what is deleted.
fn rate_chunks(
    values: &Values,
    sizes: &[Bytes],
    searches: bool,
) -> Result<Vec<Bytes>, OptionError> {
    let key = "rate-chunks";
    let mut chunks = values.sizes(key, Bytes(64 << 10), Bytes::gib(2 << 10))?;
    for chunk in &mut chunks {
        *chunk = whole(*chunk);
    }
    chunks.sort_unstable();
    chunks.dedup();
    match (chunks.last(), sizes.last()) {
        (Some(chunk), Some(size)) if searches && chunk > size => {
            let problem = format!("`{chunk}` is more than the largest of `sizes`, {size}");
            Err(OptionError::Value { key, problem })
        }
        _ => Ok(chunks),
    }
}

/// Whole units of [`SIZE_UNIT`], rounded down.
fn whole(size: Bytes) -> Bytes {
    Bytes(size.0 / SIZE_UNIT * SIZE_UNIT)
}

impl Parameters for DeleteStall {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let mut sizes = values.sizes("sizes", Bytes::mib(1), Bytes::gib(1 << 10))?;
        for size in &mut sizes {
            *size = whole(*size);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let hour = Nanos::from_secs(3_600);
        let minutes = Nanos::from_secs(600);
        let rate = values.quantity("rate", 1_u64, 1_000_000)?;
        let access = values.quantity("access", Bytes(4_096), Bytes::mib(1))?;
        if !access.0.is_multiple_of(SIZE_UNIT) {
            let problem = format!("`{access}` is not a multiple of 4KiB");
            return Err(OptionError::Value { key: "access", problem });
        }
        let limit = "p999-limit";
        let p999_limit = if values.is_word(limit, "none") {
            None
        } else {
            Some(values.span(limit, Nanos::from_micros(1), hour)?)
        };
        let rate_chunks = rate_chunks(&values, &sizes, p999_limit.is_some())?;
        Ok(Self {
            p999_limit,
            rate_chunks,
            rate_max: values.quantity("rate-max", Bytes(2_000_000), Bytes(100_000_000_000))?,
            sizes,
            repetitions: values.quantity("repetitions", 1, REPETITIONS_MAX)?,
            placebos: values.quantity("placebos", 2, 1_000)?,
            window: values.span("window", Nanos::from_millis(100), hour)?,
            lead: values.span("lead", Nanos::ZERO, minutes)?,
            rest: values.span("rest", Nanos::ZERO, minutes)?,
            gap: Nanos(1_000_000_000 / rate),
            arrivals: values.choice(
                "arrivals",
                &[("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)],
            )?,
            access,
            read_share: values.share("read-share")?,
            span: whole(values.quantity("span", Bytes::mib(1), Bytes::gib(1 << 10))?),
            probe_interval: values.span(
                "probe-interval",
                Nanos::from_micros(100),
                Nanos::from_secs(1),
            )?,
            chunk: values.quantity("chunk", Bytes::mib(1), Bytes::gib(2 << 10))?,
            mode: values.choice(
                "mode",
                &[
                    ("unlink", Mode::Unlink),
                    ("truncate", Mode::Truncate),
                    ("punch-hole", Mode::PunchHole),
                    ("trim", Mode::Trim),
                ],
            )?,
            overdue_after: values.span("overdue-after", Nanos::from_micros(1), hour)?,
            placebo_only: values.choice("placebo-only", &[("no", false), ("yes", true)])?,
            values,
        })
    }
}

impl DeleteStall {
    /// Bytes that the target must hold: the load's area and the largest file.
    pub fn needed(&self) -> Bytes {
        let largest = if self.placebo_only { None } else { self.sizes.last() };
        self.span + largest.copied().unwrap_or(Bytes(0))
    }

    /// Bytes that a run writes to prepare: the load's area once, and every file.
    pub fn written(&self) -> Bytes {
        let files: u64 = self.sizes.iter().map(|size| size.0).sum();
        let times = if self.placebo_only { 0 } else { u64::from(self.repetitions) };
        Bytes(self.span.0 + files * times)
    }

    /// Bytes that the search writes at the most, to have them deleted.
    pub fn searched(&self) -> Bytes {
        let each = self.rate_max.0 as f64 * self.shortest_try().seconds();
        Bytes(trimbench_core::units::rounded(each).saturating_mul(self.tries()))
    }

    /// How long the search takes at the most on the target's clock, writing at `bytes_per_second`;
    /// without what a filesystem waits before it discards.
    pub(super) fn search_time(&self, bytes_per_second: u64) -> Nanos {
        let writing = self.searched().0 as f64 / bytes_per_second as f64;
        self.shortest_try().times(self.tries()) + Nanos::from_seconds(writing)
    }

    /// Tries at the most, in lengths of the shortest; none without a limit.
    fn tries(&self) -> u64 {
        match self.p999_limit {
            Some(_) => self.rate_chunks.len() as u64 * super::rate::LENGTHS_MAX,
            None => 0,
        }
    }

    /// The least time of a try.
    pub(super) fn shortest_try(&self) -> Nanos {
        self.gap.times(super::rate::accesses_meant())
    }

    /// Bytes that the load writes.
    pub fn load_written(&self) -> Bytes {
        let trials =
            self.sizes.len() as u64 * u64::from(self.repetitions) + u64::from(self.placebos);
        let accesses = (self.lead + self.window).times(trials).0 / self.gap.0;
        let writes = accesses - self.read_share.of(accesses);
        Bytes(writes * self.access.0)
    }

    /// How long a run takes on the target's clock, writing at `bytes_per_second`.
    pub fn estimate(&self, bytes_per_second: u64) -> Nanos {
        let trials =
            self.sizes.len() as u64 * u64::from(self.repetitions) + u64::from(self.placebos);
        let writing = self.written().0 as f64 / bytes_per_second as f64;
        (self.lead + self.window + self.rest).times(trials) + Nanos::from_seconds(writing)
    }
}
