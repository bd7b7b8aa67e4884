//! How hot the drives of a real target were after each step: one table for all methods.

use trimbench_results::steps;

steps! {
    /// After a step on a real target, whose drives say it.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct DriveHeatStep {
        /// the temperature of the hottest drive at the end of the step, in degrees Celsius
        measured drive_temperature_celsius: Option<f64>;
        /// for how long heat slowed the drives down since the step before, by their own count
        measured drive_throttled_s: Option<f64>;
    }
}
