//! The law of a pass: as it is chosen, and as it runs.

use trimbench_core::{Bytes, Instant, Nanos, Ppm};
use trimbench_policy::pacing::{
    Amount, Governor, GovernorAccount, GovernorOptions, MeanLaw, MeanLawOptions, PaceTarget,
    PacingLaw, PassForecast, Rival,
};

/// The share of requests that may be later than the target: it is a 99th percentile.
pub const TOLERANCE: Ppm = Ppm(10_000);
/// The target where none is stated, at least.
const TARGET_MIN: Nanos = Nanos::from_millis(2);

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawChoice {
    /// Ours: a 99th percentile of latency.
    Tail {
        /// It; `None` for four times what 90 % of the first probes keep, and 2 ms at least.
        target: Option<Nanos>,
        /// When to be done.
        deadline: Option<Instant>,
    },
    /// Ours: discards take no more than this share of the time.
    Share {
        /// It.
        share: Ppm,
        /// When to be done.
        deadline: Option<Instant>,
    },
    /// All in one call.
    Plain,
    /// All in one call, with discards of at most this length.
    Pieces(Bytes),
    /// Ranges of fixed length, a fixed delay after each.
    Chunks {
        /// The length.
        chunk: Bytes,
        /// The delay.
        delay: Nanos,
    },
    /// A rate, by the difference of two means of latency.
    Mean {
        /// The length of a range.
        chunk: Bytes,
    },
}

/// A law that runs.
#[derive(Debug)]
pub struct Law {
    kind: Kind,
    /// The latency that it keeps.
    target: Option<Nanos>,
}

#[derive(Debug)]
enum Kind {
    Governor(Box<Governor>),
    Mean(MeanLaw),
    Rival(Rival),
}

impl LawChoice {
    /// Whether it judges by the latency of requests.
    pub fn needs_probe(self) -> bool {
        matches!(self, Self::Tail { .. } | Self::Share { .. } | Self::Mean { .. })
    }

    /// The latency that it is to keep, as far as it was stated.
    pub fn target(self) -> Option<Nanos> {
        match self {
            Self::Tail { target, .. } => target,
            _ => None,
        }
    }

    /// Whether the first probes decide the target.
    pub fn needs_baseline(self) -> bool {
        matches!(self, Self::Tail { target: None, .. })
    }
}

impl Law {
    /// Begins. `usual` is what nine of ten requests keep without discards, where it is known.
    pub fn new(choice: LawChoice, device_piece: Bytes, usual: Option<Nanos>) -> Self {
        let governor = |target, deadline| {
            let options = GovernorOptions { target, deadline, device_piece };
            Kind::Governor(Box::new(Governor::new(options)))
        };
        let by_baseline = || usual.map_or(TARGET_MIN, |usual| usual.times(4)).max(TARGET_MIN);
        let target = match choice {
            LawChoice::Tail { target, .. } => Some(target.unwrap_or_else(by_baseline)),
            _ => None,
        };
        let kind = match choice {
            LawChoice::Tail { deadline, .. } => {
                let target = target.unwrap_or(TARGET_MIN);
                governor(PaceTarget::Latency { target, tolerance: TOLERANCE }, deadline)
            }
            LawChoice::Share { share, deadline } => governor(PaceTarget::Share(share), deadline),
            LawChoice::Plain => Kind::Rival(Rival::Plain),
            LawChoice::Pieces(piece) => Kind::Rival(Rival::Pieces(piece)),
            LawChoice::Chunks { chunk, delay } => {
                Kind::Rival(Rival::Chunks { chunk, delay, ended: None })
            }
            LawChoice::Mean { chunk } => {
                let options = MeanLawOptions { chunk, ..MeanLawOptions::default() };
                Kind::Mean(MeanLaw::new(options))
            }
        };
        Self { kind, target }
    }

    /// The law itself.
    pub fn pacing(&mut self) -> &mut dyn PacingLaw {
        match &mut self.kind {
            Kind::Governor(law) => law.as_mut(),
            Kind::Mean(law) => law,
            Kind::Rival(law) => law,
        }
    }

    /// The latency that it keeps.
    pub fn target(&self) -> Option<Nanos> {
        self.target
    }

    /// What it expects of the rest.
    pub fn forecast(&self, now: Instant, remaining: Amount) -> Option<PassForecast> {
        self.governor()?.forecast(now, remaining)
    }

    /// How long so many free extents are expected to take; nothing if nobody knows.
    pub fn expected(&self, amount: Amount) -> Nanos {
        self.governor().map_or(Nanos::ZERO, |law| law.expected(amount))
    }

    /// What was seen.
    pub fn account(&self) -> Option<GovernorAccount> {
        Some(self.governor()?.account())
    }

    fn governor(&self) -> Option<&Governor> {
        match &self.kind {
            Kind::Governor(law) => Some(law),
            _ => None,
        }
    }
}
