//! Whether an attached drive answered in time during each step.
//!
//! Such a drive ends a request at the instant of its model, and its process answers some time after
//! that. What a program then measures is the model's time and this lateness. Beyond a limit the
//! step is invalid: it measured the machine. A step that only prepares others, and measures nothing
//! itself, cannot be.

use trimbench_core::Caveat;
use trimbench_devices::AnswerLateness;
use trimbench_engine::AnswerLatenessStep;
use trimbench_results::Step;

/// Puts down how late the answers were during a step; `None` if the drive's process does not say.
pub(super) fn mark(step: &mut Step, lateness: Option<AnswerLateness>) {
    let measures =
        !(step.metrics.is_empty() && step.histograms.is_empty() && step.series.is_empty());
    let percent = lateness.and_then(|lateness| lateness.percent);
    step.store(&AnswerLatenessStep { answers_late_percent: percent });
    if measures && lateness.is_none_or(|lateness| lateness.spoils) {
        step.caveat(Caveat::LateAnswers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_with_late_answers_or_with_unknown_ones_is_marked() {
        let marked_of = |metrics: &[(&str, f64)], lateness| {
            let mut step = Step::new("fill-0", "fill");
            step.metrics.extend(metrics.iter().map(|(key, value)| ((*key).to_owned(), *value)));
            mark(&mut step, lateness);
            (step.read::<AnswerLatenessStep>().unwrap().answers_late_percent, step.caveats)
        };
        let marked = |lateness| marked_of(&[("took_s", 1.0)], lateness);
        let late = vec!["late-answers".to_owned()];
        let lateness = |percent, spoils| Some(AnswerLateness { percent, spoils });
        assert_eq!(marked(lateness(Some(1.5), false)), (Some(1.5), vec![]));
        assert_eq!(marked(lateness(Some(7.5), true)), (Some(7.5), late.clone()));
        assert_eq!(marked(lateness(None, false)), (None, vec![]), "it was asked nothing");
        assert_eq!(marked(None), (None, late), "nobody knows");
        let purged = marked_of(&[], lateness(Some(70.0), true));
        assert_eq!(purged, (Some(70.0), vec![]), "a purge measures nothing");
    }
}
