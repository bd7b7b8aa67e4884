//! The method's parameters.

use trimbench_core::settings::{ValueProblem, default_to, or_word, parsed, presets, within};
use trimbench_core::{Bytes, Data, Nanos, Ppm, settings};

use trimbench_engine::settings::{access_size, data_kind, span_or_all};
use trimbench_engine::{Load, LoadLength, Pattern, RoundLength, Span};

/// Rounds of a torture until the steady state. Source: \[PTS\], with the share of ours.
const ROUND_TIME: Nanos = Nanos::from_secs(60);
const ROUND_SHARE: Ppm = Ppm(100_000);
const ROUNDS_MAX: u32 = 25;
/// The longest rest.
const REST_MAX: Nanos = Nanos::from_secs(24 * 3_600);

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

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Recovery(values) {
        /// the first bytes of the device ({}), or `all`
        pub span: Span = "span", presets("16GiB", "all", "all"), span_or_all();
        /// random writes: {}
        pub torture: Torture = "torture", presets("100%", "steady", "20min"),
            parsed("a share of the span up to 2000%, a time up to 7 days, or until `steady`",
                Torture::read);
        /// bytes of a random write, {}, a multiple of 4KiB
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// random writes outstanding, {}
        pub queue_depth: u32 = "queue-depth", default_to("32"), within(1, 1_024);
        /// bytes of a sequential write, {}, a multiple of 4KiB
        pub pass_size: Bytes = "pass-size", default_to("128KiB"), access_size(Bytes::mib(16));
        /// sequential writes outstanding, {}
        pub pass_depth: u32 = "pass-depth", default_to("32"), within(1, 1_024);
        /// `random`, or `compressible-25%`: a compressing drive stores a quarter; whole percent
        pub data: Data = "data", default_to("random"), data_kind();
        /// `none`, or data with which fresh and fragmented passes are repeated, as
        /// `compressible-10%`
        pub compare_data: Option<Data> = "compare-data", default_to("none"),
            or_word("none", data_kind());
        /// `none`: a whole device; or on files, the share of the free space that each pass writes
        /// over, {}, beyond a reserve that is never used
        pub free_space: Option<Ppm> = "free-space", default_to("none"),
            or_word("none", within(Ppm(10_000), Ppm(950_000)));
        /// share of the span, from its beginning, that passes write and TRIM covers, {}; fills and
        /// tortures write all of it
        pub part: Ppm = "part", default_to("100%"), within(Ppm(10_000), Ppm(1_000_000));
        /// idle time between phases, {}; drives do garbage collection and postponed TRIM work
        /// meanwhile
        pub rest: Nanos = "rest", presets("1s", "30s", "10s"),
            within(Nanos::ZERO, REST_MAX);
        /// idle time after a torture, {}, or `rest`: as long as elsewhere
        pub torture_rest: Option<Nanos> = "torture-rest", default_to("rest"),
            or_word("rest", within(Nanos::ZERO, REST_MAX));
    }
}

impl Torture {
    /// Reads `steady`, a share with `%`, or a time.
    fn read(text: &str) -> Result<Self, ValueProblem> {
        let text = text.trim();
        if text == "steady" {
            return Ok(Self::Steady);
        }
        if text.ends_with('%') || text.ends_with("ppm") {
            return within(Ppm(10_000), Ppm(20_000_000)).read(text).map(Self::Share);
        }
        let week = Nanos::from_secs(7 * 24 * 3_600);
        within(Nanos::from_millis(1), week).read(text).map(Self::Time)
    }
}

impl Recovery {
    /// How long the drive rests after a torture.
    pub(super) fn torture_rest(&self) -> Nanos {
        self.torture_rest.unwrap_or(self.rest)
    }

    /// The torture's load on the first `span` bytes.
    pub(super) fn load(&self, span: Bytes) -> Load {
        let Self { access, queue_depth, data, .. } = *self;
        let (read_share, pattern) = (Ppm(0), Pattern::Uniform);
        Load { span, access, queue_depth, read_share, data, pattern }
    }

    /// The rounds of a torture until the steady state.
    pub(super) fn rounds(span: Bytes) -> RoundLength {
        let bytes = Bytes(ROUND_SHARE.of(span.0));
        RoundLength { each: LoadLength { time: ROUND_TIME, bytes }, rounds_max: ROUNDS_MAX }
    }

    /// Bytes that one torture writes at `rate` bytes a second, at the most.
    pub(super) fn torture_assumed(&self, span: Bytes, rate: u64) -> u64 {
        let in_time = |time: Nanos| trimbench_core::units::rounded(time.seconds() * rate as f64);
        match self.torture {
            Torture::Share(share) => share.of(span.0),
            Torture::Time(time) => in_time(time),
            Torture::Steady => {
                Self::rounds(span).each.bytes.0.max(in_time(ROUND_TIME)) * u64::from(ROUNDS_MAX)
            }
        }
    }

    /// Passes, and tortures, before each of which the span is filled.
    pub(super) fn passes_and_tortures(&self) -> (u64, u64) {
        if self.compare_data.is_some() { (6, 3) } else { (4, 2) }
    }

    /// The part of the span that passes write and TRIM covers: all of it, or whole writes of a
    /// pass.
    pub(super) fn part_of(&self, span: Bytes) -> Bytes {
        let part = Bytes(self.part.of(span.0));
        if part == span {
            return span;
        }
        Bytes(part.0 - part.0 % self.pass_size.0).max(self.pass_size.min(span))
    }

    /// Bytes that a run on so many bytes writes at that rate, at the most.
    pub(super) fn written(&self, span: Bytes, rate: u64) -> u64 {
        let (passes, tortures) = self.passes_and_tortures();
        let torture = self.torture_assumed(span, rate).saturating_add(span.0);
        let passes = self.part_of(span).0.saturating_mul(passes);
        torture.saturating_mul(tortures).saturating_add(passes)
    }
}
