//! Forecasts by what an earlier run took (`--timed-by`).
//!
//! How long a real target takes is what methods measure: waits for discards, small writes, other
//! load. A short run of the same methods on the same targets has met all of it. The time that its
//! sessions took over what the dry run foretells of them is by how much a forecast is stretched.

use std::path::Path;

use trimbench_core::Nanos;
use trimbench_devices::{Consent, TargetSpec};
use trimbench_results::PlannedSession;

use super::ResolvedSession;
use crate::failure::Failure;
use crate::store::{LoadedRecord, SessionTime, Store};

/// By how much the sessions of an earlier run took longer than foretold.
#[derive(Clone, Debug, Default)]
pub(super) struct TimedBy {
    paced: Vec<Paced>,
    flaws: Vec<String>,
}

#[derive(Clone, Debug)]
struct Paced {
    method: String,
    target: String,
    pace: f64,
}

impl TimedBy {
    /// Of the run in a directory, foretold at `rate` bytes a second.
    pub(super) fn read(directory: &Path, consent: &Consent, rate: u64) -> Result<Self, Failure> {
        let store = Store::open(directory)?;
        let LoadedRecord { record, flaws } = store.load()?;
        let mut paced = Vec::new();
        for SessionTime { index, took_s } in store.session_times() {
            let Some(planned) = record.plan.get(index) else { continue };
            let target = TargetSpec::parse(&planned.target, None)?;
            let session = ResolvedSession::recorded(planned, target)?;
            let foretold = session.rough_demand(consent, rate).map_or(Nanos::ZERO, |it| it.time);
            if foretold > Nanos::ZERO {
                let PlannedSession { method, target, .. } = planned.clone();
                paced.push(Paced { method, target, pace: took_s / foretold.seconds() });
            }
        }
        if paced.is_empty() {
            let name = directory.display();
            let error = anyhow::anyhow!("`{name}` does not say how long a session took");
            let hint = "name a run of this version that has ended, on a directory or a device: \
                        emulated drives have a clock of their own";
            return Err(Failure::usage(error).with_hint(hint));
        }
        Ok(Self { paced, flaws })
    }

    /// What is not believed of that run.
    pub(super) fn flaws(&self) -> &[String] {
        &self.flaws
    }

    /// How many times as long as foretold the same method took on the same target, if it ran there.
    pub(super) fn pace(&self, planned: &PlannedSession) -> Option<f64> {
        let same = |it: &&Paced| it.method == planned.method && it.target == planned.target;
        self.paced.iter().find(same).map(|it| it.pace)
    }
}
