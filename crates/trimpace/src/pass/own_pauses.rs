//! Requests that lasted because this process did not run, and not because of the device.

use std::collections::VecDeque;

use trimbench_core::{Instant, Nanos, Ppm};
use trimbench_linux::PauseWatch;
use trimbench_policy::pacing::SeenRequest;

use crate::probe::now;

#[cfg(test)]
mod tests;

/// Pauses that are remembered.
const REMEMBERED: usize = 32;

/// The last pauses of this process. They are remembered because the request that spans one may be
/// known some looks later.
#[derive(Debug, Default)]
pub(super) struct OwnPauses {
    /// `None` where there can be no thread for it.
    watch: Option<PauseWatch>,
    last: VecDeque<OwnPause>,
    /// All so far.
    total: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct OwnPause {
    longest: Nanos,
    /// It was over by then.
    noticed: Instant,
}

impl OwnPauses {
    /// From now on.
    pub(super) fn watch() -> Self {
        Self { watch: PauseWatch::start().ok(), ..Self::default() }
    }

    /// Notes whether there was one since the last look.
    pub(super) fn look(&mut self) {
        let Some(watch) = &self.watch else { return };
        let pauses = watch.take();
        self.total += pauses.total;
        let longest = pauses.longest;
        if longest > Nanos::ZERO {
            self.note(OwnPause { longest, noticed: now() });
        }
    }

    fn note(&mut self, pause: OwnPause) {
        self.last.push_back(pause);
        if self.last.len() > REMEMBERED {
            self.last.pop_front();
        }
    }

    /// For how long this process did not run, up to the last look.
    pub(super) fn total(&self) -> Nanos {
        self.total
    }

    /// Whether a pause made up most of this request.
    pub(super) fn explain(&self, sample: SeenRequest) -> bool {
        let most = sample.latency().scaled(Ppm(500_000));
        self.last.iter().any(|it| sample.submitted <= it.noticed && it.longest > most)
    }
}
