//! The method's parameters.

use trimbench_core::{Bytes, Data, Nanos, Ppm};

use super::ID;
use crate::method::ASSUMED_RATE;
use crate::options::{OptionError, OptionInfo, Parameters, Values, option};
use crate::rounds::{Load, RoundLength};
use crate::settings::{self, Span};

/// Bytes and queue depth of preconditioning writes. Source: \[PTS\], 128 KiB.
pub(super) const SEQUENTIAL: (Bytes, u32) = (Bytes(128 << 10), 32);

/// All options with their values in the presets quick, standard, published.
const OPTIONS: &[OptionInfo] = &[
    option("span", ["16GiB", "all", "all"], "the first bytes of the device, or `all`"),
    option(
        "precondition",
        ["200%", "200%", "200%"],
        "sequential writes before the rounds, as a share of the span, 0 to 1000%",
    ),
    option("access", ["4KiB", "4KiB", "4KiB"], "bytes of each access, 4KiB to 1MiB"),
    option("queue-depth", ["32", "32", "32"], "accesses outstanding, 1 to 1024"),
    option("read-share", ["0", "0", "0"], "share of reads in the load; the rest are writes"),
    option(
        "data",
        ["random", "random", "random"],
        "`random`, or `compressible-25%`: a compressing drive stores a quarter",
    ),
    option("round-time", ["0", "1min", "1min"], "a round lasts at least so long, 0 to 24h"),
    option(
        "round-share",
        ["10%", "10%", "0"],
        "and accesses at least this share of the span, 0 to 1000%",
    ),
    option("rounds-max", ["25", "25", "25"], "when to give up, 5 to 1000"),
    option(
        "trimmed-shares",
        ["0,25%", "0,10%,25%,50%", "0"],
        "shares of the span that are trimmed and left alone, one after the other, 0 to 90%",
    ),
    option(
        "ageing-rounds",
        ["0", "0", "0"],
        "rounds beyond the steady state without any TRIM, 0 to 100000",
    ),
    option(
        "rest",
        ["0", "0", "0"],
        "idle time after preconditioning and after each TRIM, 0 to 24h; drives collect meanwhile",
    ),
];

/// The method with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteadyState {
    /// What part of the device is used.
    pub span: Span,
    /// Sequential writes before the rounds, as a share of the span.
    pub precondition: Ppm,
    /// Bytes of each access.
    pub access: Bytes,
    /// Accesses outstanding.
    pub queue_depth: u32,
    /// Share of reads in the load.
    pub read_share: Ppm,
    /// What writes carry.
    pub data: Data,
    /// The least time of a round.
    pub round_time: Nanos,
    /// The least share of the span that a round accesses.
    pub round_share: Ppm,
    /// When to give up.
    pub rounds_max: u32,
    /// Shares of the span that are trimmed, ascending, 0 first.
    pub trimmed_shares: Vec<Ppm>,
    /// Rounds beyond the steady state.
    pub ageing_rounds: u32,
    /// Idle time after preconditioning and after each TRIM.
    pub rest: Nanos,
    pub(super) values: Values,
}

impl Parameters for SteadyState {
    const ID: &'static str = ID;
    const OPTIONS: &'static [OptionInfo] = OPTIONS;

    fn read(values: Values) -> Result<Self, OptionError> {
        let day = Nanos::from_secs(24 * 3_600);
        let tenfold = Ppm(10_000_000);
        let (round_time, round_share) = (
            values.span("round-time", Nanos::ZERO, day)?,
            values.quantity("round-share", Ppm(0), tenfold)?,
        );
        if round_time == Nanos::ZERO && round_share == Ppm(0) {
            let problem = "a round without `round-time` needs a share above 0".to_owned();
            return Err(OptionError::Value { key: "round-share", problem });
        }
        Ok(Self {
            span: Span::read(&values)?,
            precondition: values.quantity("precondition", Ppm(0), tenfold)?,
            access: settings::access(&values, "access", Bytes::mib(1))?,
            queue_depth: values.quantity("queue-depth", 1, 1_024)?,
            read_share: values.share("read-share")?,
            data: settings::data(&values, "data")?,
            round_time,
            round_share,
            rounds_max: values.quantity("rounds-max", 5, 1_000)?,
            trimmed_shares: shares(&values)?,
            ageing_rounds: values.quantity("ageing-rounds", 0, 100_000)?,
            rest: values.span("rest", Nanos::ZERO, day)?,
            values,
        })
    }
}

impl SteadyState {
    /// The load on the first `span` bytes.
    pub(super) fn load(&self, span: Bytes) -> Load {
        let Self { access, queue_depth, read_share, data, .. } = *self;
        Load { span, access, queue_depth, read_share, data }
    }

    /// How long a round is on so many bytes.
    pub(super) fn round(&self, span: Bytes) -> RoundLength {
        let bytes = Bytes(self.round_share.of(span.0));
        RoundLength { time: self.round_time, bytes, rounds_max: self.rounds_max }
    }

    /// Bytes that a round is assumed to access.
    pub(super) fn round_assumed(&self, span: Bytes) -> u64 {
        let timed = self.round_time.seconds() * ASSUMED_RATE as f64;
        self.round(span).bytes.0.max(trimbench_core::units::rounded(timed))
    }

    /// Rounds at the most.
    pub(super) fn rounds_total(&self) -> u64 {
        u64::from(self.rounds_max) * self.trimmed_shares.len() as u64
            + u64::from(self.ageing_rounds)
    }
}

/// The trimmed shares, ascending, with 0 as the first: what the others are compared with.
fn shares(values: &Values) -> Result<Vec<Ppm>, OptionError> {
    let mut shares = settings::percents(values, "trimmed-shares", (Ppm(0), Ppm(900_000)))?;
    if shares.first() != Some(&Ppm(0)) {
        shares.insert(0, Ppm(0));
    }
    Ok(shares)
}
