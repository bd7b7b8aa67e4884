//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{Series, Step, StepTable as _, steps};

steps! {
    /// A point of the plane.
    #[derive(Clone, Debug)]
    pub struct SettlePointStep {
        /// the range R of the TRIM, in percent of the span
        set trimmed_percent: u32;
        /// what was written before it, W, in percent of the span
        set written_percent: u32;
        /// bytes that the TRIM discards, from the start of the device
        set range_bytes: Bytes;
        /// bytes that were written before it, from the start of the device
        set written_bytes: Bytes;
        /// the TRIM, first submission to last completion
        measured trim_s: f64;
        /// after the TRIM
        part pace: SettlePaceStep;
    }

    /// The point of the largest TRIM again, with a load that began after an idle time.
    #[derive(Clone, Debug)]
    pub struct SettleIdleStep {
        /// how long the drive was idle after the TRIM
        set idle_s: f64;
        /// after that
        part pace: SettlePaceStep;
    }

    /// The curves of a load.
    #[derive(Clone, Debug)]
    pub struct SettlePaceStep {
        /// time over which throughput is counted
        set slice_s: f64;
        /// throughput against the time after the load began
        series trimmed: Option<Series> = "throughput-time";
        /// the same of the twin, whose TRIM was worked off when its load began
        series twin: Option<Series> = "throughput-time-twin";
        /// the same of a second twin: what differs between these two is not the TRIM's
        series placebo: Option<Series> = "throughput-time-placebo";
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    LiveFigures {
        latency: step.read::<SettlePointStep>().ok().map(|it| (it.trim_s, "s")),
        ..LiveFigures::default()
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![
        ("purge", Vec::new()),
        ("point", SettlePointStep::rows("")),
        ("idle", SettleIdleStep::rows("")),
    ]
}
