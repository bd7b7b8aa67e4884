//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{PhaseLatencyStep, PhaseStep, RateStep, RoundStep, SteadyStep, StepKinds};
use trimbench_results::{Series, StepTable as _, steps};

steps! {
    /// A round of any kind, as figures and charts need it.
    #[derive(Clone, Debug)]
    pub(super) struct SteadyRoundStep {
        /// what it accesses
        part share: SteadyShareStep;
        /// what it came to
        part phase: PhaseStep;
        /// of its commands
        part latencies: PhaseLatencyStep;
        /// what was before it, and its IOPS
        part round: RoundStep;
    }

    /// What rounds access.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct SteadyShareStep {
        /// the share of the span that is trimmed and left alone
        set trimmed_percent: u32;
        /// bytes from the start of the device that are accessed
        set used_bytes: Bytes;
    }

    /// The curves of the whole run, a point a round.
    #[derive(Clone, Debug)]
    pub(super) struct SteadyCurvesStep {
        /// IOPS
        part iops: RateStep;
        /// write amplification against time
        series wear_by_time: Option<Series> = "write-amplification-time";
        /// write amplification against what was accessed
        series wear_by_bytes: Option<Series> = "write-amplification-accessed";
    }
}

impl SteadyRoundStep {
    /// Its write amplification, where the drive counts its writes.
    pub(super) fn amplification(&self) -> Option<f64> {
        self.phase.wear.map(|wear| wear.write_amplification_ratio)
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    let settle = [SteadyRoundStep::rows(""), RateStep::rows("")].concat();
    let round = [settle.clone(), SteadyStep::rows("")].concat();
    vec![
        ("precondition, trim", [PhaseStep::rows(""), PhaseLatencyStep::rows("")].concat()),
        ("round, ageing", round),
        ("settle", settle),
        ("summary", SteadyCurvesStep::rows("")),
    ]
}
