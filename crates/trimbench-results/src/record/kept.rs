//! Steps that were kept before their session ended: a line of JSON for each, appended to a file
//! beside the record.
//!
//! A record is written as a whole. On a real target that would be done after every step, and the
//! blocks that each copy frees may be discarded into the next measurement; a line costs a few
//! kilobytes. The lines count for sessions that are not finished, and once.

use serde::{Deserialize, Serialize};

use super::histograms::histogram_flaws;
use super::{RunRecord, Step};

#[cfg(test)]
mod tests;

/// A step that was kept before its session ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptStep {
    /// Index of the session in the record.
    pub session: usize,
    /// The step.
    pub step: Step,
}

impl KeptStep {
    /// The line that keeps it, with its end.
    ///
    /// # Panics
    /// If a number of the step is NaN or infinite: that is the caller's bug.
    pub fn to_line(&self) -> Vec<u8> {
        assert!(self.step.validate().is_ok(), "a step to be kept has finite numbers only");
        let mut line = serde_json::to_vec(self)
            .expect("finite numbers under text keys always have a JSON form");
        line.push(b'\n');
        line
    }

    /// What a line keeps; `None` where it is no such line, or its numbers are not sound.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        let kept: Self = serde_json::from_slice(line).ok()?;
        let sound = kept.step.validate().is_ok() && histogram_flaws(&kept.step).next().is_none();
        sound.then_some(kept)
    }
}

impl RunRecord {
    /// Adds the steps of these lines to sessions that are not finished and do not have them yet.
    /// The number of the first line (from 1) that cannot be understood, if there is one: it and
    /// those after it are left out. What follows the last end of a line was never kept: whoever
    /// wrote it was killed meanwhile.
    pub fn add_kept(&mut self, lines: &[u8]) -> Option<usize> {
        let whole =
            lines.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &lines[..end]);
        if whole.is_empty() {
            return None;
        }
        for (index, line) in whole.split(|byte| *byte == b'\n').enumerate() {
            let Some(kept) = KeptStep::from_line(line) else { return Some(index + 1) };
            let session = self.sessions.get_mut(kept.session).filter(|session| !session.finished);
            let Some(session) = session else { continue };
            if session.steps.iter().all(|step| step.id != kept.step.id) {
                session.steps.push(kept.step);
            }
        }
        None
    }
}
