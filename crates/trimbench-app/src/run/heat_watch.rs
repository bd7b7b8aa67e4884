//! How hot the drives were after each step, and whether heat slowed them down during it.

use trimbench_core::Caveat;
use trimbench_engine::DriveHeatStep;
use trimbench_linux::passthrough::DriveHeat;
use trimbench_results::Step;

/// Asks the drives of a target after each of its steps.
pub(super) struct HeatWatch {
    read: Box<dyn Fn() -> DriveHeat>,
    /// The drives' count at the end of the step before, in seconds.
    throttled_seconds: Option<u64>,
}

impl HeatWatch {
    /// Begins with the drives as they are now.
    pub(super) fn new(read: Box<dyn Fn() -> DriveHeat>) -> Self {
        let throttled_seconds = read().throttled_seconds;
        Self { read, throttled_seconds }
    }

    /// Puts down what the drives say at the end of a step.
    pub(super) fn mark(&mut self, step: &mut Step) {
        let DriveHeat { celsius, throttled_seconds } = (self.read)();
        let before = std::mem::replace(&mut self.throttled_seconds, throttled_seconds);
        // A count that falls is that of another drive, or was reset.
        let grown = throttled_seconds.and_then(|now| now.checked_sub(before?));
        #[expect(clippy::cast_precision_loss, reason = "degrees and seconds are small")]
        step.store(&DriveHeatStep {
            drive_temperature_celsius: celsius.map(|it| it as f64),
            drive_throttled_s: grown.map(|it| it as f64),
        });
        if grown.is_some_and(|seconds| seconds > 0) {
            step.caveat(Caveat::Throttled);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn a_step_has_the_seconds_that_were_throttled_during_it_and_is_marked() {
        let now = Rc::new(Cell::new((Some(41), Some(100))));
        let shown = Rc::clone(&now);
        let mut watch = HeatWatch::new(Box::new(move || {
            let (celsius, throttled_seconds) = shown.get();
            DriveHeat { celsius, throttled_seconds }
        }));
        let mut after = |heat: (Option<i64>, Option<u64>)| {
            now.set(heat);
            let mut step = Step::new("fill-0", "fill");
            watch.mark(&mut step);
            (step.read::<DriveHeatStep>().unwrap(), step.caveats)
        };
        let heat = |celsius, throttled| DriveHeatStep {
            drive_temperature_celsius: celsius,
            drive_throttled_s: throttled,
        };
        assert_eq!(after((Some(55), Some(100))), (heat(Some(55.0), Some(0.0)), vec![]));
        let marked = vec!["throttled".to_owned()];
        assert_eq!(after((Some(83), Some(107))), (heat(Some(83.0), Some(7.0)), marked));
        // The count is gone, comes back, and is reset: none of that is time throttled.
        assert_eq!(after((None, None)), (heat(None, None), vec![]));
        assert_eq!(after((None, Some(300))), (heat(None, None), vec![]));
        assert_eq!(after((None, Some(2))), (heat(None, None), vec![]));
    }
}
