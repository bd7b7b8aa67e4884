//! The method's parameters.

use trimbench_core::settings::{
    SettingError, ValueProblem, Values, ascending, default_to, list, or_word, parsed, presets,
    within,
};
use trimbench_core::units::{index, rounded};
use trimbench_core::{Bytes, Data, Nanos, Ppm, settings};

use trimbench_engine::settings::{access_size, data_kind, pattern, span_or_all, whole_size};
use trimbench_engine::{Pattern, Shape, Span, UNIT};

const DAY: Nanos = Nanos::from_secs(24 * 3_600);
const TENFOLD: Ppm = Ppm(10_000_000);
/// A confirmation may have so many times the accesses of a rate.
const CONFIRM_ACCESSES: f64 = 4.0;
/// Rates beyond it are no drive's.
const PER_SECOND_MAX: u64 = 10_000_000;
/// Shares of what the drive sustains, in percent.
const PERCENT_MAX: u32 = 200;

/// A rate to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferedRate {
    /// In percent of what the drive sustains of the same mix, 1 to 200.
    Percent(u32),
    /// Accesses a second, 1 to 10 million.
    PerSecond(u64),
}

impl OfferedRate {
    /// What ids have of it: `50-percent`, `30000-per-s`.
    pub fn id(self) -> String {
        match self {
            Self::Percent(percent) => format!("{percent}-percent"),
            Self::PerSecond(rate) => format!("{rate}-per-s"),
        }
    }

    /// The same for titles.
    pub(super) fn words(self) -> String {
        match self {
            Self::Percent(percent) => format!("{percent} % of sustained"),
            Self::PerSecond(rate) => format!("{} a second", trimbench_results::number::count(rate)),
        }
    }

    /// Accesses a second, on a drive that sustains `sustained` of them.
    pub(super) fn per_second(self, sustained: f64) -> f64 {
        match self {
            Self::Percent(percent) => sustained * f64::from(percent) / 100.0,
            Self::PerSecond(rate) => rate as f64,
        }
    }
}

fn read_rate(text: &str) -> Result<OfferedRate, ValueProblem> {
    let text = text.trim();
    let wrong = || {
        ValueProblem(format!(
            "`{text}` is neither a share of what the drive sustains in whole percent, 1% to \
             {PERCENT_MAX}%, nor a rate of 1 to {PER_SECOND_MAX} accesses a second"
        ))
    };
    if text.ends_with('%') {
        let share = text.parse::<Ppm>().map_err(|_| wrong())?;
        let percent = share.0 / 10_000;
        let is_whole = share.0.is_multiple_of(10_000) && (1..=PERCENT_MAX).contains(&percent);
        return is_whole.then_some(OfferedRate::Percent(percent)).ok_or_else(wrong);
    }
    let rate = text.parse().map_err(|_| wrong())?;
    let is_rate = (1..=PER_SECOND_MAX).contains(&rate);
    is_rate.then_some(OfferedRate::PerSecond(rate)).ok_or_else(wrong)
}

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LatencyUnderLoad(values) {
        /// the first bytes of the device ({}), or `all`
        pub span: Span = "span", presets("4GiB", "all", "all"), span_or_all();
        /// sequential writes before anything else, as a share of the span, {}
        pub precondition: Ppm = "precondition", presets("100%", "200%", "100%"),
            within(Ppm(0), TENFOLD);
        /// accesses of a round of the preconditioning with the mix itself, as a share of the span,
        /// {}
        pub round_share: Ppm = "round-share", presets("20%", "20%", "50%"),
            within(Ppm(10_000), TENFOLD);
        /// rounds after which the preconditioning gives up, {}
        pub rounds_max: u32 = "rounds-max", default_to("25"), within(5, 1_000);
        /// accesses outstanding during these rounds, {}
        pub queue_depth: u32 = "queue-depth", presets("64", "256", "512"), within(1, 1_024);
        /// rates to offer, one after the other: each a share of what the drive sustains in whole
        /// percent (1% to 200%), or accesses a second
        pub rates: Vec<OfferedRate> = "rates",
            presets("5%,10%,25%,50%,75%,90%,100%,110%",
                "5%,10%,20%,30%,40%,50%,60%,70%,80%,90%,95%,100%,110%",
                "10000,30000,50000,70000,90000,110000,150000,250000,500000"),
            ascending(list(parsed("1% to 200%, or 1 to 10000000", read_rate)));
        /// share of reads in each rate; the rest are writes
        pub read_share: Ppm = "read-share", presets("50%", "50%", "1%"), within(Ppm(0), Ppm::ONE);
        /// reads a second beside each rate, {}
        pub reads: u64 = "reads", presets("0", "0", "5000"), within(0, PER_SECOND_MAX);
        /// bytes of each access, {}, a multiple of 4KiB
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// which places are accessed how often, as in `steady-state`
        pub pattern: Pattern = "pattern", default_to("uniform"), pattern();
        /// `random`, or `compressible-25%`: a compressing drive stores a quarter; whole percent
        pub data: Data = "data", default_to("random"), data_kind();
        /// time at each rate before anything counts, {}: the drive comes into its state under it
        pub warm_up: Nanos = "warm-up", presets("2s", "1min", "1min"), within(Nanos::ZERO, DAY);
        /// time at each rate that counts, {}
        pub rate_time: Nanos = "rate-time", presets("5s", "5min", "15min"),
            within(Nanos::from_millis(100), DAY);
        /// time for which the highest rate that keeps the response time is run once more, {}; lower
        /// ones follow until one keeps it, and its p99 does not grow; `none`
        pub confirm_time: Option<Nanos> = "confirm-time", presets("15s", "none", "none"),
            or_word("none", within(Nanos::from_millis(100), DAY));
        /// accesses of the warm-up, and of what counts, after which either ends early, {}; `none`.
        /// A confirmation has four times as many
        pub accesses_max: Option<u64> = "accesses-max", presets("100000", "none", "none"),
            or_word("none", within(100, 1_000_000_000_000_u64));
        /// commands outstanding at the most, {}: one that finds no place waits, and its response
        /// time counts from its submission, which hides an overload; `none`: no limit
        pub places: Option<u64> = "places", presets("none", "none", "448"),
            or_word("none", within(1, 1_000_000_u64));
        /// TRIMs a second beside the reads and writes, separated by commas, {}; a curve for each
        pub trim_rates: Vec<u64> = "trim-rate", presets("0,5", "0,1,10", "0"),
            ascending(list(within(0, 100_000_u64)));
        /// bytes of each TRIM, {}; at most what the device takes as one
        pub trim_chunk: Bytes = "trim-chunk", presets("1MiB", "64MiB", "64MiB"),
            whole_size(Bytes(UNIT), Bytes::gib(1 << 10));
        /// response time that the headline's rate keeps at the 99th percentile, {}
        pub keep: Nanos = "keep", default_to("10ms"),
            within(Nanos::from_micros(1), Nanos::from_secs(3_600));
    }
    check LatencyUnderLoad::check;
}

impl LatencyUnderLoad {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        if self.precondition == Ppm(0) && self.read_share == Ppm::ONE {
            let problem = "reads of a drive that was never written say nothing; give more than 0";
            return Err(values.wrong("precondition", problem));
        }
        Ok(())
    }

    /// Bytes of a round of the preconditioning.
    pub(super) fn round(&self, span: Bytes) -> Bytes {
        Bytes(self.round_share.of(span.0)).max(self.access)
    }

    /// How long `rate` accesses a second (with the reads beside them) warm the drive up, and how
    /// long they count.
    pub(super) fn warm_up_at(&self, rate: f64) -> Nanos {
        self.within_accesses(self.warm_up, rate)
    }

    pub(super) fn length_at(&self, rate: f64) -> Nanos {
        self.within_accesses(self.rate_time, rate)
    }

    /// How long such a rate counts when it is confirmed; `None` if it is not.
    pub(super) fn confirmed_at(&self, rate: f64) -> Option<Nanos> {
        let all = rate + self.reads as f64;
        let most = self.accesses_max.map(|most| CONFIRM_ACCESSES * most as f64 / all);
        self.confirm_time.map(|time| most.map_or(time, |most| time.min(Nanos::from_seconds(most))))
    }

    fn within_accesses(&self, time: Nanos, rate: f64) -> Nanos {
        let all = rate + self.reads as f64;
        self.accesses_max.map_or(time, |most| time.min(Nanos::from_seconds(most as f64 / all)))
    }

    /// How many TRIMs there are to send at one offered rate: so many that Poisson arrivals of
    /// `per_second` hardly ever use them up.
    pub(super) fn trims(&self, per_second: u64) -> u64 {
        let length = self.rate_time.max(self.confirm_time.unwrap_or(Nanos::ZERO));
        let expected = per_second as f64 * (self.warm_up + length).seconds();
        if per_second == 0 { 0 } else { rounded(expected + 4.0 * expected.sqrt()) + 4 }
    }

    /// Bytes of a TRIM on a device of this shape.
    pub(super) fn chunk_on(&self, shape: &Shape) -> Bytes {
        let chunk = self.trim_chunk.min(shape.discard_max).0 / shape.granularity.0;
        Bytes(chunk.max(1) * shape.granularity.0)
    }

    /// What the TRIMs of one offered rate discard.
    pub(super) fn trimmed_zone(&self, shape: &Shape, per_second: u64) -> Bytes {
        Bytes(self.chunk_on(shape).0.saturating_mul(self.trims(per_second)))
    }

    /// Steps of all rates.
    pub(super) fn points(&self) -> usize {
        self.rates.len() * index(self.trim_rates.len() as u64)
    }
}
