//! What is read of a deletion and of discards whatever the method; a method whose steps have these
//! values stores these tables.

use trimbench_core::Bytes;

use crate::record::Series;

crate::steps! {
    /// A deletion beside a load, as reports draw it.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct DeletionStep {
        /// bytes that are deleted; 0 for a placebo
        set size_bytes: Bytes;
        /// from the start of the load, where the curves begin, to the deletion
        set deleted_at_s: f64;
        /// longest response time of the load's accesses that were to start in each slice
        series response_max: Option<Series> = "response-ms-max";
    }

    /// What the device discarded of one deletion.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DeletionDiscardsStep {
        /// bytes discarded when the window closed
        measured discarded_bytes_window: Option<Bytes>;
        /// bytes discarded when the trial ended
        measured discarded_bytes_total: Option<Bytes>;
    }

    /// What the device discarded in a step.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DeviceDiscardsStep {
        /// bytes discarded
        measured discarded_bytes: Option<Bytes>;
        /// discards completed
        measured discard_count: Option<u64>;
    }
}
