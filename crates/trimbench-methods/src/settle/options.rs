//! The method's parameters.

use trimbench_core::{Bytes, Nanos, Ppm};

use super::ID;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::settings::{self, Span};

/// Slices of a window at the most: each is a point of the record.
const SLICES_MAX: u64 = 10_000;
/// Slices of a window at the least, for its end to be a plateau.
const SLICES_MIN: u64 = 20;

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option("span", ["2GiB", "all", "all"], "the first bytes of the device, or `all`"),
    option(
        "ranges",
        ["25%,50%,100%", "1%,10%,50%,100%", "100%"],
        "shares of the span that are trimmed, from its start, 1 to 100%",
    ),
    option(
        "written",
        ["0,50%,100%", "0,1%,10%,50%,100%", "0"],
        "shares of the span that are written between two TRIMs, from its start, 0 to 100%",
    ),
    option("access", ["4KiB", "4KiB", "4KiB"], "bytes of each write of the load, 4KiB to 1MiB"),
    option("queue-depth", ["1", "1", "1"], "writes outstanding, 1 to 1024"),
    option("window", ["2s", "60s", "10min"], "how long the load runs after a TRIM, 10ms to 24h"),
    option(
        "slice",
        ["10ms", "100ms", "1s"],
        "throughput is counted in slices of this time, 100us to 1min; 20 to 10000 in a window",
    ),
    option("smoothing", ["5", "5", "5"], "slices of the running median, an odd number, 1 to 101"),
    option(
        "rest",
        ["1s", "60s", "10min"],
        "idle time before a TRIM, and of a twin after it, 0 to 24h",
    ),
    option(
        "reference",
        ["twin", "twin", "twin"],
        "what the pace is compared with: `twin`, the same after an idle time, or `plateau`, the \
         last quarter of the window",
    ),
];

/// What the pace after a TRIM is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The same load, at the same time, on the drive that was trimmed and left idle first.
    Twin,
    /// The last quarter of the same window.
    Plateau,
}

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// What part of the device is used.
    pub span: Span,
    /// Shares of the span that are trimmed, ascending.
    pub ranges: Vec<Ppm>,
    /// Shares of the span that are written before, ascending.
    pub written: Vec<Ppm>,
    /// Bytes of each write of the load.
    pub access: Bytes,
    /// Writes outstanding.
    pub queue_depth: u32,
    /// How long the load runs.
    pub window: Nanos,
    /// Throughput is counted in slices of this time.
    pub slice: Nanos,
    /// Slices of the running median, odd.
    pub smoothing: usize,
    /// Idle time before a TRIM, and of a twin after it.
    pub rest: Nanos,
    /// What the pace is compared with.
    pub reference: Reference,
    pub(super) values: Values,
}

impl Parameters for Settle {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let day = Nanos::from_secs(24 * 3_600);
        let window = values.span("window", Nanos::from_millis(10), day)?;
        let slice = values.span("slice", Nanos::from_micros(100), Nanos::from_secs(60))?;
        let slices = window.0 / slice.0;
        if !(SLICES_MIN..=SLICES_MAX).contains(&slices) {
            let problem = format!(
                "a window of {window} has {slices} slices; {SLICES_MIN} to {SLICES_MAX} are good"
            );
            return Err(OptionError::Value { key: "slice", problem });
        }
        let smoothing = values.quantity("smoothing", 1, 101)?;
        if smoothing % 2 == 0 {
            let problem = format!("`{smoothing}` is even: no slice is in the middle of so many");
            return Err(OptionError::Value { key: "smoothing", problem });
        }
        Ok(Self {
            span: Span::read(&values)?,
            ranges: settings::percents(&values, "ranges", (Ppm(10_000), Ppm::ONE))?,
            written: settings::percents(&values, "written", (Ppm(0), Ppm::ONE))?,
            access: settings::access(&values, "access", Bytes::mib(1))?,
            queue_depth: values.quantity("queue-depth", 1, 1_024)?,
            window,
            slice,
            smoothing,
            rest: values.span("rest", Nanos::ZERO, day)?,
            reference: values.choice(
                "reference",
                &[("twin", Reference::Twin), ("plateau", Reference::Plateau)],
            )?,
            values,
        })
    }
}

impl Settle {
    /// How often the load runs at each point.
    pub(super) fn loads_per_point(&self) -> u64 {
        match self.reference {
            Reference::Twin => 2,
            Reference::Plateau => 1,
        }
    }

    /// Slices of a window.
    pub(super) fn slices(&self) -> usize {
        trimbench_core::units::index(self.window.0 / self.slice.0)
    }
}
