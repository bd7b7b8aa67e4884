//! Requests that lasted because this process did not run, and not because of the device.

use trimbench_core::{Instant, Nanos, Ppm};
use trimbench_linux::PauseWatch;
use trimbench_policy::pacing::SeenRequest;

use crate::probe::now;

#[cfg(test)]
mod tests;

/// Pauses of this process: the last is remembered, for the request that spans it may be known a
/// look later.
#[derive(Debug)]
pub(super) struct OwnPauses {
    /// `None` where there can be no thread for it.
    watch: Option<PauseWatch>,
    last: Option<OwnPause>,
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
        Self { watch: PauseWatch::start().ok(), last: None }
    }

    /// Notes whether there was one since the last look.
    pub(super) fn look(&mut self) {
        let Some(watch) = &self.watch else { return };
        let longest = watch.take().longest;
        if longest > Nanos::ZERO {
            self.last = Some(OwnPause { longest, noticed: now() });
        }
    }

    /// Whether a pause made up most of this request.
    pub(super) fn explain(&self, sample: SeenRequest) -> bool {
        self.last.is_some_and(|it| it.explains(sample))
    }
}

impl OwnPause {
    fn explains(self, sample: SeenRequest) -> bool {
        let most = sample.latency().scaled(Ppm(500_000));
        sample.submitted <= self.noticed && self.longest > most
    }
}
