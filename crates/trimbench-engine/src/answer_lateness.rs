//! How late an attached drive answered during each step: one table for all methods.

use trimbench_results::steps;

steps! {
    /// A step on an emulated drive behind a loop device, which answers in the machine's time.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct AnswerLatenessStep {
        /// how much later than its model says the drive answered, at the 99th percentile, over the
        /// model's own 99th percentile; of the kind of request of which it is the most
        measured answers_late_percent: Option<f64>;
    }
}
