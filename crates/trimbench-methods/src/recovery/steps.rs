//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{
    PassStep, PhaseLatencyStep, PhaseStep, RateStep, RoundStep, SteadyStep, StepKinds,
};
use trimbench_results::{LatencyHistogram, StepTable as _, steps};

steps! {
    /// A pass, as figures need it: on a device what its phase and on files what its file came to.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct RecoveryPassStep {
        /// bytes over the time from the first command to the end of the last
        measured throughput_mb_per_s: Option<f64>;
        /// bytes programmed over bytes written by the host, where the drive counts its writes
        measured write_amplification_ratio: Option<f64>;
        /// on files: writing the file, making it durable and deleting it
        measured cure_s: Option<f64>;
    }

    /// Writes to a file over the free space.
    #[derive(Clone, Debug)]
    pub(super) struct RecoveryFileStep {
        /// from the first write to the end of the last
        measured elapsed_s: f64;
        /// writes of a torture
        measured command_count: Option<u64>;
        /// bytes written
        measured written_bytes: Bytes;
        /// latencies of the writes
        histogram latency: LatencyHistogram;
    }

    /// The filesystem discards its free space.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct RecoveryFitrimStep {
        /// from the beginning, with a sync before it, to the end of the last discard
        measured elapsed_s: f64;
        /// bytes that the device discarded
        measured discarded_bytes: Bytes;
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    let phase = [PhaseStep::rows(""), PhaseLatencyStep::rows("")].concat();
    let (pass, rate) = (PassStep::rows(""), RateStep::rows(""));
    let round = [Option::<RoundStep>::rows(""), Option::<SteadyStep>::rows("")].concat();
    let file = RecoveryFileStep::rows("");
    let file_pass = [file.clone(), RecoveryPassStep::rows(""), pass.clone()].concat();
    vec![
        ("fill, trim", phase.clone()),
        ("torture", [phase.clone(), rate, round].concat()),
        ("pass", [phase, pass].concat()),
        ("purge (files), trim (files)", RecoveryFitrimStep::rows("")),
        ("torture (files)", file),
        ("pass (files)", file_pass),
    ]
}
