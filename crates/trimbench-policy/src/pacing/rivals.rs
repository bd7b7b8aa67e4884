//! The laws that others follow, to be compared with [`Governor`](super::Governor).

use trimbench_core::{Bytes, Instant, Nanos, Ppm};

use super::{Amount, PaceStep, PacingLaw, SeenRequest, StepExtent, StepLimit, Work, later};

/// A law without feedback.
#[derive(Clone, Debug)]
pub enum Rival {
    /// `fstrim`: all in one call.
    Plain,
    /// All in one call, with discards of at most this length.
    Pieces(Bytes),
    /// Ranges of fixed length and a fixed delay after each, as Talos trims where `chunkSize` and
    /// `chunkDelay` are set.
    Chunks {
        /// The length of a range, of the filesystem.
        chunk: Bytes,
        /// From the end of a step to the next.
        delay: Nanos,
        /// When the last one ended.
        ended: Option<Instant>,
    },
}

/// What [`MeanLaw`] can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanLawOptions {
    /// Length of a step, of the filesystem.
    pub chunk: Bytes,
    /// The slowest and the fastest rate, bytes of the filesystem a second.
    pub rates: [Bytes; 2],
    /// By how much the short mean may exceed the long one, as a share of the long one.
    pub excess: Ppm,
}

impl Default for MeanLawOptions {
    fn default() -> Self {
        Self { chunk: Bytes::mib(64), rates: [Bytes::mib(25), Bytes::gib(4)], excess: Ppm(250_000) }
    }
}

/// A rate between two bounds, halved after each step in which the mean latency of the last second
/// exceeded that of the last minute by a share, else raised by a quarter.
#[derive(Clone, Debug)]
pub struct MeanLaw {
    options: MeanLawOptions,
    rate: Bytes,
    short: Mean,
    long: Mean,
    /// When the last step began and how much it was.
    last: Option<(Instant, Bytes)>,
}

/// A moving mean of latencies, each of which weighs what has passed since the one before.
#[derive(Clone, Copy, Debug)]
struct Mean {
    span: Nanos,
    value: Option<Nanos>,
    at: Instant,
}

impl PacingLaw for Rival {
    fn next(&mut self, now: Instant, _work: Work) -> PaceStep {
        match *self {
            Self::Plain => PaceStep::Step(StepLimit::WHOLE),
            Self::Pieces(piece) => {
                PaceStep::Step(StepLimit { piece: Some(piece), ..StepLimit::WHOLE })
            }
            Self::Chunks { chunk, delay, ended } => {
                let due = ended.map_or(now, |ended| later(ended, delay));
                if due > now {
                    return PaceStep::Until(due);
                }
                PaceStep::Step(StepLimit { extent: StepExtent::Range(chunk), piece: None })
            }
        }
    }

    fn began(&mut self, _now: Instant) {}

    fn ended(&mut self, now: Instant, _done: Amount) {
        if let Self::Chunks { ended, .. } = self {
            *ended = Some(now);
        }
    }

    fn request(&mut self, _seen: SeenRequest) {}

    fn foreground(&mut self, _now: Instant, _requests: u64) {}
}

impl MeanLaw {
    /// Begins with the slowest rate.
    pub fn new(options: MeanLawOptions) -> Self {
        let mean = |span| Mean { span, value: None, at: Instant::START };
        Self {
            rate: options.rates[0],
            short: mean(Nanos::from_secs(1)),
            long: mean(Nanos::from_secs(60)),
            last: None,
            options,
        }
    }
}

impl PacingLaw for MeanLaw {
    fn next(&mut self, now: Instant, _work: Work) -> PaceStep {
        let due = self.last.map_or(now, |(began, bytes)| {
            let span = u128::from(bytes.0) * 1_000_000_000 / u128::from(self.rate.0.max(1));
            later(began, Nanos(u64::try_from(span).unwrap_or(u64::MAX)))
        });
        if due > now {
            return PaceStep::Until(due);
        }
        PaceStep::Step(StepLimit { extent: StepExtent::Range(self.options.chunk), piece: None })
    }

    fn began(&mut self, now: Instant) {
        self.last = Some((now, self.options.chunk));
    }

    fn ended(&mut self, _now: Instant, _done: Amount) {
        let [slowest, fastest] = self.options.rates;
        let is_slow = match (self.short.value, self.long.value) {
            (Some(short), Some(long)) => short > long + long.scaled(self.options.excess),
            _ => false,
        };
        let rate = if is_slow { self.rate.0 / 2 } else { self.rate.0 + self.rate.0 / 4 };
        self.rate = Bytes(rate.clamp(slowest.0, fastest.0));
    }

    fn request(&mut self, seen: SeenRequest) {
        self.short.add(seen.completed, seen.latency());
        self.long.add(seen.completed, seen.latency());
    }

    fn foreground(&mut self, _now: Instant, _requests: u64) {}
}

impl Mean {
    fn add(&mut self, now: Instant, latency: Nanos) {
        let passed = now.since(self.at).min(self.span).0;
        self.at = now;
        self.value = Some(match self.value {
            Some(mean) => {
                let old = u128::from(mean.0) * u128::from(self.span.0 - passed);
                let new = u128::from(latency.0) * u128::from(passed);
                let sum = (old + new) / u128::from(self.span.0);
                Nanos(u64::try_from(sum).unwrap_or(u64::MAX))
            }
            None => latency,
        });
    }
}

#[cfg(test)]
mod tests;
