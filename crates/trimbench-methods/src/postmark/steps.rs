//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{Step, StepTable as _, steps};

steps! {
    /// A repetition.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PostmarkStep {
        /// what was done, and how fast
        part phases: PostmarkPhasesStep;
        /// sync after the end
        measured sync_s: f64;
        /// from the end of the sync to the last discard that was seen; 0 if there was none
        measured drain_s: f64;
        /// bytes that the device wrote, until its discards were over
        measured device_written_bytes: Bytes;
        /// bytes that the device discarded
        measured discarded_bytes: Bytes;
        /// discards that the device completed
        measured discard_commands: u64;
        /// on newly made filesystems
        part made: Option<PostmarkMadeStep>;
    }

    /// The three phases. A rate is there if its phase took time.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PostmarkPhasesStep {
        /// files created
        measured created_count: u64;
        /// files created in transactions
        measured created_in_transactions_count: u64;
        /// files read
        measured read_count: u64;
        /// appends that wrote
        measured appended_count: u64;
        /// appends left out, as the file had its largest size
        measured append_skipped_count: u64;
        /// files deleted in transactions
        measured deleted_in_transactions_count: u64;
        /// files deleted after the transactions
        measured deleted_alone_count: u64;
        /// transactions done; fewer than asked for if no file was left
        measured transactions_count: u64;
        /// bytes read
        measured read_bytes: Bytes;
        /// bytes written
        measured written_bytes: Bytes;
        /// bytes of the files deleted after the transactions
        measured deleted_alone_bytes: Bytes;
        /// time of all three phases
        measured total_s: f64;
        /// time of the creation
        measured creation_s: f64;
        /// time of the transactions
        measured transactions_s: f64;
        /// time of the deletion
        measured deletion_s: f64;
        /// `transactions_count` over `transactions_s`
        measured transactions_per_s: Option<f64>;
        /// `created_count` over `total_s`
        measured created_per_s: Option<f64>;
        /// files created before the transactions over `creation_s`
        measured creation_alone_per_s: Option<f64>;
        /// `created_in_transactions_count` over `transactions_s`
        measured creation_mixed_per_s: Option<f64>;
        /// `read_count` over `transactions_s`
        measured read_per_s: Option<f64>;
        /// `appended_count` over `transactions_s`
        measured append_per_s: Option<f64>;
        /// all deleted files over `total_s`
        measured deleted_per_s: Option<f64>;
        /// `deleted_alone_count` over `deletion_s`
        measured deletion_alone_per_s: Option<f64>;
        /// `deleted_in_transactions_count` over `transactions_s`
        measured deletion_mixed_per_s: Option<f64>;
        /// `read_bytes` over `total_s`
        measured read_bytes_per_s: Option<f64>;
        /// `written_bytes` over `total_s`
        measured written_bytes_per_s: Option<f64>;
        /// `deletion_s` over `deleted_alone_bytes`, in GB of 10^9 bytes
        measured deletion_s_per_gb: Option<f64>;
    }

    /// A repetition on a newly made filesystem.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct PostmarkMadeStep {
        /// number of the repetition, from 1
        set repetition: u64;
        /// seed of PostMark's generator
        set seed: u64;
        /// number of the emulated drive's start state; in virtual time, if repetitions vary
        set start_state: Option<u64>;
        /// time of the unmount
        measured unmount_s: f64;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let Ok(run) = step.read::<PostmarkStep>() else { return LiveFigures::default() };
    LiveFigures {
        throughput: run.phases.transactions_per_s.map(|rate| (rate, "1/s")),
        latency: None,
        headline: Some(("PostMark", run.phases.total_s, "s")),
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    let kinds = "repetition, nodiscard-buffered, discard-buffered, nodiscard-unbuffered, \
                 discard-unbuffered";
    vec![(kinds, PostmarkStep::rows(""))]
}
