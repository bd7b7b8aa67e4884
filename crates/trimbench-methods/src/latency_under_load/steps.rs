//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{PhaseStep, StepKinds};
use trimbench_results::{LatencyHistogram, PercentilesStep, StepTable as _, steps};

use super::watch::Class;

steps! {
    /// What the drive sustains of the mix.
    #[derive(Clone, Copy, Debug)]
    pub struct SustainedStep {
        /// rounds of the preconditioning with the mix itself
        set rounds: u64;
        /// accesses a second, the mean of the last five rounds
        measured iops: f64;
    }

    /// A rate, without its histograms: there are many rates, and each histogram takes memory.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct OfferedRateStep {
        /// reads and writes a second that were offered
        set offered_per_s: f64;
        /// reads among them
        set offered_reads_per_s: f64;
        /// TRIMs a second beside them
        set trims_per_s: u64;
        /// bytes of a TRIM
        set trim_bytes: Option<Bytes>;
        /// 1 if the drive kept up with it
        measured kept_up: bool;
        /// reads and writes that ended a second; with the warm-up where the drive did not keep up
        measured achieved_per_s: Option<f64>;
        /// with the warm-up
        part served: PhaseStep;
        /// the longest latency of a TRIM, exact
        measured trim_latency_ns_max: Option<u64>;
        /// where it kept up
        part read: Option<ResponseStep> = "read";
        /// where it kept up
        part write: Option<ResponseStep> = "write";
        /// where it kept up
        part trim: Option<ResponseStep> = "trim";
    }

    /// The reads, the writes or the TRIMs of a rate.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct ResponseStep {
        /// how many arrived in the time that counts
        measured count: u64 = "_count";
        /// the mean response time, within 0.05 %
        measured mean: f64 = "_response_s_mean";
        /// the longest response time, exact
        measured max: f64 = "_response_s_max";
        /// of the response times
        part percentiles: PercentilesStep = "_response_s_";
        /// where both halves of the time have a p99
        part growth: Option<GrowthStep> = "_response_s_p99_";
    }

    /// The histograms of a rate that the drive kept up with.
    #[derive(Clone, Debug)]
    pub struct ResponseTimesStep {
        /// response times of the reads
        histogram read: Option<LatencyHistogram> = "read-response-time";
        /// response times of the writes
        histogram write: Option<LatencyHistogram> = "write-response-time";
        /// response times of the TRIMs
        histogram trim: Option<LatencyHistogram> = "trim-response-time";
    }

    /// The p99 of both halves of what counts.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct GrowthStep {
        /// p99 of the first half of the time that counts
        measured first_half: f64;
        /// p99 of the second half
        measured second_half: f64;
        /// 1 if that of the second half is more, beyond what the parts of each half differ by
        measured grows: bool;
    }
}

impl OfferedRateStep {
    /// What is known of a class; nothing if there was none of it, or the drive did not keep up.
    pub(super) fn responses(&self, class: Class) -> Option<&ResponseStep> {
        match class {
            Class::Read => self.read.as_ref(),
            Class::Write => self.write.as_ref(),
            Class::Trim => self.trim.as_ref(),
        }
    }

    /// Of its reads and of its writes, where there were any.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &ResponseStep> {
        self.read.iter().chain(&self.write)
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![
        ("purge", Vec::new()),
        ("sustained", SustainedStep::rows("")),
        ("rate, confirm", [OfferedRateStep::rows(""), ResponseTimesStep::rows("")].concat()),
    ]
}
