//! `replay`: a trace with and without its TRIMs.
//!
//! The same commands are issued to the same drive, filled before, once with the trace's TRIMs and
//! once without, as fast as possible or at the trace's own times. Writes a second are counted in
//! windows of the trace. The procedure, its parameters and what it cannot show are in
//! `docs/methods/replay.md`. Source: \[S4\].

mod analysis;
mod charts;
mod feed;
mod fit;
mod meter;
mod metrics;
mod options;
mod pass;
mod session;
mod steps;
mod survey;
mod synthesis;
#[cfg(test)]
mod tests;

pub use analysis::analyse;
pub use options::{Pace, Replay, ReplayedTrims, Scaling};
pub use steps::{
    ReplayDiscardStep, ReplayFeedStep, ReplayKindStep, ReplayLatenessStep, ReplayMeterStep,
    ReplayPassStep, ReplaySurveyStep, ReplayWindowsStep,
};

use trimbench_core::rng::Rng;
use trimbench_core::settings::FromSettings as _;
use trimbench_core::{BlockSize, Bytes, Capabilities, Nanos, Opened, Support};
use trimbench_results::{Metric, Step};
use trimbench_trace::Traces;
use trimbench_trace::generate::{Master, SPACE_MIN};

use survey::Survey;
use trimbench_engine::{
    Demand, Findings, Method, MethodDefinition, MethodError, MethodInfo, MethodSession, Misfit,
    TwinUse, read_method, settings,
};

impl MethodDefinition for Replay {
    const INFO: MethodInfo = MethodInfo {
        id: "replay",
        version: 1,
        summary: "a trace with and without its TRIMs, in windows of 100,000 commands",
        options: Self::rows,
        resumes: true,
        named_limits: &[],
        read: read_method::<Self>,
        page: include_str!("../../../docs/methods/replay.md"),
        steps: steps::tables,
        live: steps::live,
        emulation_s_per_gb: 0.0083,
        twin: TwinUse::SameCapacity,
        charts: charts::charts,
    };
}

impl Method for Replay {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(self)
    }

    fn space(&self) -> Bytes {
        SPACE_MIN
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        match self.span {
            settings::Span::All => None,
            settings::Span::First(bytes) => Some(bytes.max(SPACE_MIN)),
        }
    }

    /// Of a trace of the user's nothing is known here: as if it were the generated one, whose own
    /// times are not known before it is made.
    fn demand(&self, capacity: Bytes, rate: u64) -> Demand {
        let room = self.span.on(capacity, BlockSize::SECTOR);
        self.demand_of(room, (Master::written(self.generated(room)), Nanos::ZERO), rate)
    }

    fn demand_with_traces(
        &self,
        capacity: Bytes,
        rate: u64,
        traces: &dyn Traces,
    ) -> Result<Demand, MethodError> {
        let Some(name) = &self.trace else { return Ok(self.demand(capacity, rate)) };
        let room = self.span.on(capacity, BlockSize::SECTOR);
        let survey = Survey::of(&mut *traces.open(name)?, room)?;
        survey.check(self, room)?;
        Ok(self.demand_of(room, (survey.written(self.scaling), survey.last), rate))
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), Misfit> {
        settings::fits(capabilities, SPACE_MIN, &[])?;
        let trims = self.trims.iter().any(|trims| *trims != ReplayedTrims::Stripped);
        if trims && capabilities.discard == Support::None {
            let reason = "the device takes no TRIM; replay without with `--set passes=stripped`";
            return Err(reason.into());
        }
        Ok(())
    }

    fn run(&self, on: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        match on {
            Opened::Drives(drives) => session::on_drives(self, drives, session),
            on => on.on_device(|device| session::on_device(self, device, session)),
        }
    }

    fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    fn drives_at_once(&self) -> usize {
        2
    }

    fn analyse(&self, steps: &mut Vec<Step>, _: &Rng) -> Findings {
        analyse(steps)
    }
}

impl Replay {
    /// What passes take that each fill the room and then write so much of a trace, which lasts so
    /// long by its stamps.
    fn demand_of(&self, room: Bytes, (written, lasts): (Bytes, Nanos), rate: u64) -> Demand {
        let span = |bytes: Bytes| Nanos::from_seconds(bytes.0 as f64 / rate as f64);
        let passes = self.passes();
        let times = passes.iter().map(|pass| {
            let replayed = match pass.pace {
                Pace::Depth(_) => span(written),
                Pace::Stamps(scale) => span(written).max(lasts.scaled(scale)),
            };
            (span(room) + self.rest).saturating_add(replayed)
        });
        let time = times.fold(Nanos::ZERO, Nanos::saturating_add);
        let each = room.0.saturating_add(written.0);
        Demand { written: Bytes(each.saturating_mul(passes.len() as u64)), time }
    }
}
