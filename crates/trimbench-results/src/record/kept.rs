//! Steps that were kept before their session ended: a line of JSON for each, appended to a file
//! beside the record.
//!
//! A record is written as a whole. On a real target that would be done after every step, and the
//! blocks that each copy frees may be discarded into the next measurement; a line costs a few
//! kilobytes.
//!
//! A line proves where it comes from: it names its run, and carries digests of the plan and of the
//! target that it was measured with, its number within the session, and a checksum. A line of
//! another run, plan or target, or one that was changed, is not believed. A checksum is no
//! signature: it finds mistakes, mixed-up files and damages, not a forger who computes it anew.

use serde::{Deserialize, Serialize};

use super::histograms::histogram_flaws;
use super::seal::digest;
use super::{RunRecord, Session, Step};

#[cfg(test)]
mod tests;

/// Where a step was measured: what all kept steps of one session have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOrigin {
    /// The run, [`RunRecord::run_id`].
    pub run: String,
    /// Index of the session in the record.
    pub session: usize,
    /// Digest of seed, program, method, options and preset.
    pub plan: String,
    /// Digest of the target's kind, identity and capabilities.
    pub target: String,
}

/// A step that was kept before its session ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptStep {
    /// Where it was measured.
    #[serde(flatten)]
    pub origin: StepOrigin,
    /// Its number among the steps of the session, from 0.
    pub sequence: usize,
    /// The step.
    pub step: Step,
    /// Digest of all else in the line.
    checksum: String,
}

/// A line of kept steps that is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub reason: LineFlaw,
}

/// What is wrong with a line of kept steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFlaw {
    /// It is damaged, was changed, or is no line of this version.
    Damaged,
    /// It was measured in another run.
    OtherRun,
    /// It was measured with other options, another method, seed or version.
    OtherPlan,
    /// It was measured on another target.
    OtherTarget,
    /// The record has another step of the same id.
    Contradicted,
    /// Later steps, or the end of its session, were kept before it.
    OutOfOrder,
}

impl StepOrigin {
    /// Of the session at this index of the record; `None` if there is none, or the record belongs
    /// to no run on real targets.
    pub fn of(record: &RunRecord, session: usize) -> Option<Self> {
        let of = record.sessions.get(session)?;
        let target = (&of.target.kind, &of.target.identity, &of.target.capabilities);
        Some(Self {
            run: record.run_id.clone()?,
            session,
            plan: digest(&(record.seed, &record.program, of.method_version, &of.plan)),
            target: digest(&target),
        })
    }
}

impl KeptStep {
    /// The step at this place of its session.
    pub fn new(origin: StepOrigin, sequence: usize, step: Step) -> Self {
        let mut kept = Self { origin, sequence, step, checksum: String::new() };
        kept.checksum = digest(&kept);
        kept
    }

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

    /// What a line without its end keeps; `None` where it is no such line or was changed: written
    /// again, it must give the same bytes.
    pub fn from_line(line: &[u8]) -> Option<Self> {
        let kept: Self = serde_json::from_slice(line).ok()?;
        let sound = kept.step.validate().is_ok() && histogram_flaws(&kept.step).next().is_none();
        let again = Self::new(kept.origin.clone(), kept.sequence, kept.step.clone());
        let same = sound && again.to_line().strip_suffix(b"\n") == Some(line);
        same.then_some(kept)
    }
}

impl RunRecord {
    /// Adds the steps of these lines to sessions that are not finished and do not have them yet.
    /// Returns the lines that are not believed; those around them count. What follows the last end
    /// of a line was never kept: whoever wrote it was killed meanwhile.
    pub fn add_kept(&mut self, lines: &[u8]) -> Vec<RejectedLine> {
        let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (whole, torn) = lines.split_at(end);
        let origins: Vec<Option<StepOrigin>> =
            (0..self.sessions.len()).map(|index| StepOrigin::of(self, index)).collect();
        let mut rejected = Vec::new();
        let mut count = 0;
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            count += 1;
            if let Err(reason) = self.add_line(&line[..line.len() - 1], &origins) {
                rejected.push(RejectedLine { line: count, reason });
            }
        }
        if !self.may_begin(torn) {
            rejected.push(RejectedLine { line: count + 1, reason: LineFlaw::Damaged });
        }
        rejected
    }

    /// Whether these bytes may be the beginning of a line of this run.
    fn may_begin(&self, torn: &[u8]) -> bool {
        let beginning = format!("{{\"run\":\"{}\",", self.run_id.as_deref().unwrap_or_default());
        let length = torn.len().min(beginning.len());
        torn[..length] == beginning.as_bytes()[..length]
    }

    fn add_line(&mut self, line: &[u8], origins: &[Option<StepOrigin>]) -> Result<(), LineFlaw> {
        let kept = KeptStep::from_line(line).ok_or(LineFlaw::Damaged)?;
        let stated = &kept.origin;
        if self.run_id.as_ref() != Some(&stated.run) {
            return Err(LineFlaw::OtherRun);
        }
        let known = origins.get(stated.session).and_then(Option::as_ref);
        let known = known.ok_or(LineFlaw::OtherPlan)?;
        if known.plan != stated.plan {
            return Err(LineFlaw::OtherPlan);
        }
        if known.target != stated.target {
            return Err(LineFlaw::OtherTarget);
        }
        self.sessions[stated.session].add_step(kept.sequence, kept.step)
    }
}

impl Session {
    /// Adds a step that was kept, unless it is there. Its number is lower than that of a step which
    /// follows it, but need not be its place: a line before it may be damaged.
    fn add_step(&mut self, sequence: usize, step: Step) -> Result<(), LineFlaw> {
        match self.steps.iter().find(|other| other.id == step.id) {
            // The record was written, and the file of lines could not be removed.
            Some(same) if *same == step => Ok(()),
            Some(_) => Err(LineFlaw::Contradicted),
            None if self.finished || sequence < self.steps.len() => Err(LineFlaw::OutOfOrder),
            None => {
                self.steps.push(step);
                Ok(())
            }
        }
    }
}

impl LineFlaw {
    /// In words, after the number of the line.
    pub fn words(self) -> &'static str {
        match self {
            Self::Damaged => "is damaged or was changed",
            Self::OtherRun => "was measured in another run",
            Self::OtherPlan => "was measured with another plan",
            Self::OtherTarget => "was measured on another target",
            Self::Contradicted => "contradicts a step that the record has",
            Self::OutOfOrder => "is out of order",
        }
    }
}
