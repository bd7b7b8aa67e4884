//! The method's parameters.

use trimbench_core::settings::{
    SettingError, ValueProblem, Values, checked, default_to, named, presets, within,
};
use trimbench_core::{Bytes, Nanos, Ppm, named_enum, settings};

use trimbench_engine::Span;
use trimbench_engine::settings::{access_size, percents, span_or_all};

/// Slices of a window at the most: each is a point of the record.
const SLICES_MAX: u64 = 10_000;
/// Slices of a window at the least, for its end to be a plateau.
const SLICES_MIN: u64 = 20;
const DAY: Nanos = Nanos::from_secs(24 * 3_600);

named_enum! {
    /// What the pace after a TRIM is compared with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reference {
        /// The same load, at the same time, on the drive that was trimmed and left idle first.
        Twin = "twin",
        /// The last quarter of the same window.
        Plateau = "plateau",
    }
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Settle(values) {
        /// the first bytes of the device, or `all`
        pub span: Span = "span", presets("2GiB", "all", "all"), span_or_all();
        /// shares of the span to trim, from its start, {}
        pub ranges: Vec<Ppm> = "ranges", presets("25%,50%,100%", "1%,10%,50%,100%", "100%"),
            percents(Ppm(10_000), Ppm::ONE);
        /// shares of the span to write between two TRIMs, from its start, {}
        pub written: Vec<Ppm> = "written", presets("0,50%,100%", "0,1%,10%,50%,100%", "0"),
            percents(Ppm(0), Ppm::ONE);
        /// bytes of each write of the load, {}
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// writes outstanding, {}
        pub queue_depth: u32 = "queue-depth", default_to("1"), within(1, 1_024);
        /// how long the load runs after a TRIM, {}
        pub window: Nanos = "window", presets("2s", "60s", "10min"),
            within(Nanos::from_millis(10), DAY);
        /// time over which throughput is counted, {}; 20 to 10000 in a window
        pub slice: Nanos = "slice", presets("10ms", "100ms", "1s"),
            within(Nanos::from_micros(100), Nanos::from_secs(60));
        /// slices of the running median, an odd number, {}
        pub smoothing: usize = "smoothing", default_to("5"), checked(within(1, 101), odd);
        /// idle time before a TRIM, and of a twin after it, {}
        pub rest: Nanos = "rest", presets("1s", "60s", "10min"), within(Nanos::ZERO, DAY);
        /// reference for the pace: `twin`, the same load after an idle time, or `plateau`, the last
        /// quarter of the window
        pub reference: Reference = "reference", default_to("twin"), named();
        /// how often to halve the idle time that an undisturbed drive needs for the work of its
        /// largest TRIM, {}; 0 does not look for it
        pub idle_halvings: u32 = "idle-halvings", default_to("0"), within(0, 16);
    }
    check Settle::check;
}

fn odd(slices: usize) -> Result<usize, ValueProblem> {
    let even = slices.is_multiple_of(2);
    (!even)
        .then_some(slices)
        .ok_or_else(|| format!("`{slices}` is even: no slice is in the middle of so many").into())
}

impl Settle {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        let (window, slices) = (self.window, self.window.0 / self.slice.0);
        if (SLICES_MIN..=SLICES_MAX).contains(&slices) {
            return Ok(());
        }
        let problem = format!(
            "a window of {window} has {slices} slices; {SLICES_MIN} to {SLICES_MAX} are good"
        );
        Err(values.wrong("slice", problem))
    }

    /// How often the load runs at each point.
    pub(super) fn loads_per_point(&self) -> u64 {
        match self.reference {
            Reference::Twin => 3,
            Reference::Plateau => 1,
        }
    }

    pub(super) fn slices(&self) -> usize {
        trimbench_core::units::index(self.window.0 / self.slice.0)
    }
}
