//! What a plan would do, how long that takes and what it needs: the content of a dry run.

use trimbench_core::{Bytes, Nanos};
use trimbench_devices::TargetOutlook;
use trimbench_engine::Demand;

use crate::failure::Failure;
use crate::plan::{DiscardOutlook, Plan, ResolvedSession};
use crate::traces::TraceFiles;

/// What a session would do and need.
#[derive(Debug)]
pub struct SessionForecast<'a> {
    /// The session.
    pub session: &'a ResolvedSession,
    /// What is known of its target; `None` where that cannot be had.
    pub target: Option<TargetOutlook>,
    /// What it takes, with its looks for other load and its waits for discards; `None` if it would
    /// end before it measures.
    pub demand: Option<Demand>,
    /// How many times as long as at the assumed rate that is, by an earlier run; `None` where none
    /// says so.
    pub pace: Option<f64>,
    /// Its waits for discards; `None` where there are none that can be foretold.
    pub discards: Option<DiscardOutlook>,
    /// Why it would not be measured; `None` if it probably would.
    pub obstacle: Option<Obstacle>,
}

/// Why a session would not be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its method does not fit its target.
    LeftOut {
        /// Why.
        reason: String,
    },
    /// Its target or its trace is refused.
    Refused {
        /// Why.
        reason: String,
        /// What to do, if that is known.
        hint: Option<String>,
    },
}

/// What the sessions take together that would be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForecastTotal {
    /// How many they are.
    pub sessions: usize,
    /// What they write at the most.
    pub written: Bytes,
    /// On emulated drives, on their own clocks.
    pub emulated: Nanos,
    /// On real targets.
    pub real: Nanos,
}

impl Plan {
    /// What this session of the plan would do. Devices and traces are looked at.
    pub fn forecast<'a>(&self, session: &'a ResolvedSession) -> SessionForecast<'a> {
        let (target, demand, obstacle) = match session.target.outlook(&self.consent) {
            Err(error) => {
                let reason = error.to_string();
                (None, None, Some(Obstacle::Refused { reason, hint: None }))
            }
            Ok(target) => match self.demand(session, &target) {
                Err(obstacle) => (Some(target), None, Some(obstacle)),
                Ok(demand) => {
                    let refused = |(reason, hint)| Obstacle::Refused { reason, hint: Some(hint) };
                    let obstacle = target.refusal.clone().map(refused);
                    (Some(target), Some(demand), obstacle)
                }
            },
        };
        let discards = demand.and_then(|_| session.discards());
        let pace = self.pace(session);
        SessionForecast { session, target, demand, pace, discards, obstacle }
    }

    fn demand(
        &self,
        session: &ResolvedSession,
        target: &TargetOutlook,
    ) -> Result<Demand, Obstacle> {
        let method = &session.method;
        method.fits(&target.ideal).map_err(|it| Obstacle::LeftOut { reason: it.to_string() })?;
        let (of, rate) = (target.measure(), self.assumed_rate);
        let demand = if session.target.is_filesystem() {
            Ok(method.demand_on_filesystems(of, rate))
        } else {
            method.demand_with_traces(of, rate, &TraceFiles).map_err(Failure::from)
        };
        let demand = demand.and_then(|demand| session.check_trace().map(|()| demand));
        let refused =
            |failure: Failure| Obstacle::Refused { reason: failure.message(), hint: None };
        let demand = session.with_discard_waits(demand.map_err(refused)?);
        let Demand { written, time } = self.paced(session, demand);
        Ok(Demand { written, time: time.saturating_add(self.look_time(session)) })
    }
}

impl ForecastTotal {
    /// Adds a session, if it would be measured.
    pub fn add(&mut self, forecast: &SessionForecast<'_>) {
        let (Some(Demand { written, time }), None) = (forecast.demand, &forecast.obstacle) else {
            return;
        };
        self.sessions += 1;
        self.written = Bytes(self.written.0.saturating_add(written.0));
        let clock = match forecast.session.target.emulated_drive() {
            Some(_) => &mut self.emulated,
            None => &mut self.real,
        };
        *clock = clock.saturating_add(time);
    }
}
