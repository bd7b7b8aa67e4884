//! Words for the values of a record or a comparison.

use trimbench_results::{Effect, Outcome};

/// What became of a figure, in a word or two.
pub fn effect_words(effect: Effect) -> &'static str {
    match effect {
        Effect::Worse => "worse",
        Effect::NotToldApart => "not told apart",
        Effect::Changed => "changed",
        Effect::NotComparable => "not comparable",
        Effect::Same => "the same",
        Effect::Better => "better",
    }
}

/// How a run ended.
pub(crate) fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Running => "not ended: still running, or cut off by a crash".to_owned(),
        Outcome::Complete => "complete".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Failed { message } => format!("failed: {message}"),
    }
}
