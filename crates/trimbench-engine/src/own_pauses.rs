//! Notices pauses of this process during a measurement: one rule for all methods.
//!
//! A process that is stopped, suspended with its machine, or kept from the processor by others or
//! by a quota, takes its own pause for the target's latency. What reports the pauses leaves out the
//! short ones of any machine ([`OwnPauses`]). The others spoil a step
//!
//! - if one is [`LONGEST`] or longer: it would be the longest latency, or a stall;
//! - if together they are [`MANY`] or longer, and more than a hundredth of the step. Commands that
//!   arrive at a steady rate fall into pauses in proportion to the time these take, and in a closed
//!   loop a pause delays only the commands under way. So pauses of less than a hundredth of the
//!   time do not decide a 99th percentile, and change a rate by less than a hundredth.
//!
//! A step counts from the end of the step before, so the preparation of its measurement belongs to
//! it. An emulated target has no pauses: its time stands still with this process.

use trimbench_core::{Caveat, Nanos, OwnPauses};
use trimbench_results::{Step, steps};

#[cfg(test)]
mod tests;

steps! {
    /// A step beside which this process did not run.
    #[derive(Clone, Copy, Debug)]
    pub struct OwnPauseStep {
        /// the longest pause of trimbench itself
        measured own_pause_s_max: f64;
        /// all of its pauses together
        measured own_pause_s_sum: f64;
    }
}

/// Pauses from here on are noticed. Two busy programs on two processors, on which the benchmark was
/// the third, caused pauses of up to 10 ms (measured on Linux 6.18, EEVDF).
pub const LONGEST: Nanos = Nanos::from_millis(20);
/// A smaller sum is no matter, however short the step. On the same machine a step of a second had
/// up to 36 ms of pauses beside one busy program or none, and mostly more than 100 ms beside a
/// build.
pub const MANY: Nanos = Nanos::from_millis(50);
/// The time of a step over that of its pauses which spoils it.
const SHARE: u64 = 100;

/// Marks a step that was measured beside such pauses.
pub(crate) fn mark(step: &mut Step, pauses: OwnPauses) {
    let OwnPauses { watched, longest, total } = pauses;
    let many = total >= MANY && total.0 > watched.0 / SHARE;
    if longest >= LONGEST || many {
        let (longest, total) = (longest.seconds(), total.seconds());
        step.store(&OwnPauseStep { own_pause_s_max: longest, own_pause_s_sum: total });
        step.caveat(Caveat::Paused);
    }
}

/// The caveat of a session with these steps.
pub(crate) fn caveat(steps: &[Step]) -> Option<Caveat> {
    let paused = |step: &Step| step.caveats.iter().any(|id| id == Caveat::Paused.id());
    steps.iter().any(paused).then_some(Caveat::Paused)
}
