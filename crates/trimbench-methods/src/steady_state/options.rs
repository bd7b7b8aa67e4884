//! The method's parameters.

use trimbench_core::settings::{SettingError, Values, default_to, mapped, presets, within};
use trimbench_core::{Bytes, Data, Nanos, Ppm, settings};

use trimbench_engine::settings::{access_size, data_kind, pattern, percents, span_or_all};
use trimbench_engine::{Load, LoadLength, Pattern, RoundLength, Span};

const DAY: Nanos = Nanos::from_secs(24 * 3_600);
const TENFOLD: Ppm = Ppm(10_000_000);

settings! {
    /// The method with its parameters.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SteadyState(values) {
        /// the first bytes of the device ({}), or `all`
        pub span: Span = "span", presets("16GiB", "all", "all"), span_or_all();
        /// sequential writes before the rounds, as a share of the span, {}
        pub precondition: Ppm = "precondition", default_to("200%"), within(Ppm(0), TENFOLD);
        /// bytes of each access, {}, a multiple of 4KiB
        pub access: Bytes = "access", default_to("4KiB"), access_size(Bytes::mib(1));
        /// accesses outstanding, {}
        pub queue_depth: u32 = "queue-depth", default_to("32"), within(1, 1_024);
        /// share of reads in the load; the rest are writes
        pub read_share: Ppm = "read-share", default_to("0"), within(Ppm(0), Ppm::ONE);
        /// `random`, or `compressible-25%`: a compressing drive stores a quarter; whole percent
        pub data: Data = "data", default_to("random"), data_kind();
        /// which places are accessed how often: `uniform`; `zipf-0.6`, by Zipf's law with this
        /// exponent, scattered; `hot-20%-80%`: the first 20 % of the span get 80 % of the accesses;
        /// `hot-20%-80%-scattered`: 20 % of the places, everywhere; `zones-1GiB-8`: zones of this
        /// size are written whole, in order, 8 side by side, the next one drawn from all others;
        /// `zones-1GiB-8-trimmed`: each is discarded before it is written anew
        pub pattern: Pattern = "pattern", default_to("uniform"), pattern();
        /// minimum time of a round, {}
        pub round_time: Nanos = "round-time", presets("0", "1min", "1min"),
            within(Nanos::ZERO, DAY);
        /// minimum accesses of a round, as a share of what is in use of the span, {}
        pub round_share: Ppm = "round-share", presets("10%", "10%", "0"), within(Ppm(0), TENFOLD);
        /// rounds after which the method gives up, {}
        pub rounds_max: u32 = "rounds-max", default_to("25"), within(5, 1_000);
        /// rounds of one drive write each after the steady state, {}, until the write amplification
        /// changes by at most 1 % from one to the next; 0: none
        pub settle_rounds: u32 = "settle-rounds", presets("5", "5", "0"), within(0, 100);
        /// shares of the span to trim and leave alone, one after the other, whole percent, {}; 0 is
        /// always the first, as the reference for the others
        pub trimmed_shares: Vec<Ppm> = "trimmed-shares", presets("0,25%", "0,10%,25%,50%", "0"),
            mapped(percents(Ppm(0), Ppm(900_000)), with_zero);
        /// rounds beyond the steady state without any TRIM, {}
        pub ageing_rounds: u32 = "ageing-rounds", default_to("0"), within(0, 100_000);
        /// idle time after preconditioning and after each TRIM, {}; drives do garbage collection
        /// meanwhile
        pub rest: Nanos = "rest", default_to("0"), within(Nanos::ZERO, DAY);
    }
    check SteadyState::check;
}

fn with_zero(mut shares: Vec<Ppm>) -> Vec<Ppm> {
    if shares.first() != Some(&Ppm(0)) {
        shares.insert(0, Ppm(0));
    }
    shares
}

impl SteadyState {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        if self.round_time == Nanos::ZERO && self.round_share == Ppm(0) {
            let problem = "a round without `round-time` needs a share above 0";
            return Err(values.wrong("round-share", problem));
        }
        if self.settle_rounds == 1 {
            let problem = "one has none before it to compare with: give 0, or 2 at least";
            return Err(values.wrong("settle-rounds", problem));
        }
        if let Pattern::Zones(_) = self.pattern
            && self.read_share != Ppm(0)
        {
            return Err(values.wrong("read-share", "zones are written, not read: give 0"));
        }
        Ok(())
    }

    /// The load on the first `span` bytes.
    pub(super) fn load(&self, span: Bytes) -> Load {
        let Self { access, queue_depth, read_share, data, pattern, .. } = *self;
        Load { span, access, queue_depth, read_share, data, pattern }
    }

    pub(super) fn round(&self, span: Bytes) -> RoundLength {
        let bytes = Bytes(self.round_share.of(span.0));
        let each = LoadLength { time: self.round_time, bytes };
        RoundLength { each, rounds_max: self.rounds_max }
    }

    /// Bytes that a round accesses at `rate` bytes a second.
    pub(super) fn round_assumed(&self, span: Bytes, rate: u64) -> u64 {
        let timed = self.round_time.seconds() * rate as f64;
        self.round(span).each.bytes.0.max(trimbench_core::units::rounded(timed))
    }

    /// A round that writes as much as is in use of the span, beside its reads; `None` for a load
    /// that only reads.
    pub(super) fn drive_write(&self, span: Bytes) -> Option<LoadLength> {
        let written = u64::from(Ppm::ONE.0.saturating_sub(self.read_share.0));
        let accessed = u128::from(span.0) * u128::from(Ppm::ONE.0) / u128::from(written.max(1));
        let bytes = Bytes(u64::try_from(accessed).unwrap_or(u64::MAX));
        (written > 0).then_some(LoadLength { time: Nanos::ZERO, bytes })
    }

    pub(super) fn rounds_total(&self) -> u64 {
        u64::from(self.rounds_max) * self.trimmed_shares.len() as u64
            + u64::from(self.ageing_rounds)
    }
}
