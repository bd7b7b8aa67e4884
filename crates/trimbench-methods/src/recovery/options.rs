//! The method's parameters.

use trimbench_core::{Bytes, Data, Nanos, Ppm};

use super::ID;
use crate::method::ASSUMED_RATE;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::rounds::{Load, RoundLength};
use crate::settings::{self, Span};

/// Rounds of a torture until the steady state. Source: \[PTS\], with the share of ours.
const ROUND_TIME: Nanos = Nanos::from_secs(60);
const ROUND_SHARE: Ppm = Ppm(100_000);
const ROUNDS_MAX: u32 = 25;

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option("span", ["16GiB", "all", "all"], "the first bytes of the device, or `all`"),
    option(
        "torture",
        ["100%", "steady", "20min"],
        "random writes: a share of the span up to 2000%, a time up to 7 days, or until `steady`",
    ),
    option("access", ["4KiB", "4KiB", "4KiB"], "bytes of a random write, 4KiB to 1MiB"),
    option("queue-depth", ["32", "32", "32"], "random writes outstanding, 1 to 1024"),
    option(
        "pass-size",
        ["128KiB", "128KiB", "128KiB"],
        "bytes of a sequential write, 4KiB to 16MiB",
    ),
    option("pass-depth", ["32", "32", "32"], "sequential writes outstanding, 1 to 1024"),
    option(
        "data",
        ["random", "random", "random"],
        "`random`, or `compressible-25%`: a compressing drive stores a quarter",
    ),
    option(
        "compare-data",
        ["none", "none", "none"],
        "`none`, or data of which fresh and fragmented passes are repeated, as `compressible-10%`",
    ),
    option(
        "rest",
        ["1s", "30s", "10s"],
        "idle time between phases, 0 to 24h; drives collect and work TRIMs off meanwhile",
    ),
];

/// How long the random writes go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Torture {
    /// Until so much of the span has been written.
    Share(Ppm),
    /// For so long.
    Time(Nanos),
    /// In rounds, until they are steady by \[PTS\].
    Steady,
}

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What part of the device is used.
    pub span: Span,
    /// How long the random writes go on.
    pub torture: Torture,
    /// Bytes of a random write.
    pub access: Bytes,
    /// Random writes outstanding.
    pub queue_depth: u32,
    /// Bytes of a sequential write.
    pub pass_size: Bytes,
    /// Sequential writes outstanding.
    pub pass_depth: u32,
    /// What writes carry.
    pub data: Data,
    /// What the passes of the comparison carry.
    pub compare_data: Option<Data>,
    /// Idle time between phases.
    pub rest: Nanos,
    pub(super) values: Values,
}

impl Parameters for Recovery {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let compare_data = match values.text("compare-data") {
            "none" => None,
            _ => Some(settings::data(&values, "compare-data")?),
        };
        Ok(Self {
            span: Span::read(&values)?,
            torture: torture(&values)?,
            access: settings::access(&values, "access", Bytes::mib(1))?,
            queue_depth: values.quantity("queue-depth", 1, 1_024)?,
            pass_size: settings::access(&values, "pass-size", Bytes::mib(16))?,
            pass_depth: values.quantity("pass-depth", 1, 1_024)?,
            data: settings::data(&values, "data")?,
            compare_data,
            rest: values.span("rest", Nanos::ZERO, Nanos::from_secs(24 * 3_600))?,
            values,
        })
    }
}

impl Recovery {
    /// The torture's load on the first `span` bytes.
    pub(super) fn load(&self, span: Bytes) -> Load {
        let Self { access, queue_depth, data, .. } = *self;
        Load { span, access, queue_depth, read_share: Ppm(0), data }
    }

    /// The rounds of a torture until the steady state.
    pub(super) fn rounds(span: Bytes) -> RoundLength {
        let bytes = Bytes(ROUND_SHARE.of(span.0));
        RoundLength { time: ROUND_TIME, bytes, rounds_max: ROUNDS_MAX }
    }

    /// Bytes that one torture is assumed to write, at the most.
    pub(super) fn torture_assumed(&self, span: Bytes) -> u64 {
        let in_time =
            |time: Nanos| trimbench_core::units::rounded(time.seconds() * ASSUMED_RATE as f64);
        match self.torture {
            Torture::Share(share) => share.of(span.0),
            Torture::Time(time) => in_time(time),
            Torture::Steady => {
                Self::rounds(span).bytes.0.max(in_time(ROUND_TIME)) * u64::from(ROUNDS_MAX)
            }
        }
    }

    /// Times that the span is written in order, and that it is tortured.
    pub(super) fn writes(&self) -> (u64, u64) {
        if self.compare_data.is_some() { (9, 3) } else { (6, 2) }
    }

    /// Bytes that a run on so many bytes writes, at the most.
    pub(super) fn written(&self, span: Bytes) -> u64 {
        let (sequential, random) = self.writes();
        let random = self.torture_assumed(span).saturating_mul(random);
        span.0.saturating_mul(sequential).saturating_add(random)
    }
}

/// Reads `steady`, a share with `%`, or a time.
fn torture(values: &Values) -> Result<Torture, OptionError> {
    let key = "torture";
    let text = values.text(key);
    if text == "steady" {
        return Ok(Torture::Steady);
    }
    if text.ends_with('%') || text.ends_with("ppm") {
        return values.quantity(key, Ppm(10_000), Ppm(20_000_000)).map(Torture::Share);
    }
    let week = Nanos::from_secs(7 * 24 * 3_600);
    values.span(key, Nanos::from_millis(1), week).map(Torture::Time)
}
