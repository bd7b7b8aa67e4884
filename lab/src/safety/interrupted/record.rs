//! Requirements on a record after a kill or a power cut: complete, of this run, and at least as new
//! as what the run had acknowledged as saved.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use trimbench_results::{Outcome, RunRecord, Session, Step};

#[cfg(test)]
mod tests;

/// How far a run has come: sessions that are finished, and steps of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::safety) struct Progress {
    sessions: usize,
    steps: usize,
}

impl Progress {
    /// Of a run that is complete.
    pub(in crate::safety) const END: Self = Self { sessions: usize::MAX, steps: 0 };

    fn of(record: &RunRecord) -> Self {
        if record.outcome == Outcome::Complete {
            return Self::END;
        }
        let sessions = record.sessions.iter().take_while(|session| session.finished).count();
        let steps = record.sessions.get(sessions).map_or(0, |session| session.steps.len());
        Self { sessions, steps }
    }
}

/// What the program promises to have kept when it goes on to the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::safety) enum Promise {
    /// Every step before: of real targets.
    Steps,
    /// Every session before: of emulated targets, whose sessions are kept as a whole at their end.
    Sessions,
}

/// What a run has acknowledged by the events that it prints, each of which it prints before it
/// keeps what the event tells of.
#[derive(Clone, Copy, Debug)]
pub(in crate::safety) struct Acknowledged {
    promise: Promise,
    /// The session of the last event, and its steps so far.
    session: usize,
    steps: usize,
}

impl Acknowledged {
    /// Nothing so far.
    pub(in crate::safety) fn nothing(promise: Promise) -> Self {
        Self { promise, session: 0, steps: 0 }
    }

    /// What a line of `--output-format ndjson` says to be kept; `None` if it is no step and not the
    /// end.
    pub(in crate::safety) fn by(&mut self, line: &str) -> Option<Progress> {
        let event: Value = serde_json::from_str(line).ok()?;
        match event["event"].as_str()? {
            "end" if event["end"]["status"] == "complete" => Some(Progress::END),
            "step" => {
                let session = usize::try_from(event["session"].as_u64()?).ok()?;
                let before = if session == self.session { self.steps } else { 0 };
                (self.session, self.steps) = (session, before + 1);
                let steps = if self.promise == Promise::Steps { before } else { 0 };
                Some(Progress { sessions: session, steps })
            }
            _ => None,
        }
    }

    /// What all whole lines say.
    pub(in crate::safety) fn by_all(promise: Promise, printed: &str) -> Progress {
        let mut acknowledged = Self::nothing(promise);
        let whole = printed.rsplit_once('\n').map_or("", |(lines, _)| lines);
        whole.lines().filter_map(|line| acknowledged.by(line)).max().unwrap_or_default()
    }
}

/// The record of a run, if it is one of the run that `reference` is of, from its beginning to at
/// least `least`; otherwise what is wrong.
///
/// `is_same` says whether the reference has the same numbers: the end of the same run, or a run of
/// the same emulated drive.
pub(in crate::safety) fn check(
    (found, kept_steps): (&[u8], &[u8]),
    (reference, is_same): (&RunRecord, bool),
    least: Progress,
) -> Result<RunRecord, String> {
    let mut record = RunRecord::from_json(found).map_err(|error| format!("unreadable: {error}"))?;
    if let Some(rejected) = record.add_kept(kept_steps).first() {
        let line = rejected.line;
        return Err(format!("line {line} of the kept steps {}", rejected.reason.words()));
    }
    let of_plan = |record: &RunRecord| {
        let sessions = record.plan.iter().map(|planned| (&planned.method, &planned.options));
        let sessions: Vec<_> =
            sessions.map(|(method, set)| (method.clone(), set.clone())).collect();
        (record.program.clone(), record.seed, sessions)
    };
    let is_part = record.sessions.len() <= reference.sessions.len()
        && record
            .sessions
            .iter()
            .zip(&reference.sessions)
            .all(|(one, of)| is_part(one, of, is_same));
    if of_plan(&record) != of_plan(reference) || !is_part {
        return Err("it is the record of another run".to_owned());
    }
    let has = Progress::of(&record);
    if has < least {
        return Err(format!("it is older than what was kept: {has:?} of {least:?}"));
    }
    Ok(record)
}

/// Whether a session is `whole` or a part of it. Steps are sorted only when a session is finished.
fn is_part(session: &Session, whole: &Session, is_same: bool) -> bool {
    let is_of = |step: &Step, other: &Step| {
        if is_same { is_beginning(step, other) } else { step.id == other.id }
    };
    let has = |step: &Step| whole.steps.iter().any(|other| is_of(step, other));
    (!is_same || !session.finished || session == whole) && session.steps.iter().all(has)
}

/// Whether `whole` is a step with, at the most, what is added when the session is finished: figures
/// that compare it with others.
fn is_beginning(step: &Step, whole: &Step) -> bool {
    fn within<T: PartialEq>(part: &BTreeMap<String, T>, of: &BTreeMap<String, T>) -> bool {
        part.iter().all(|(key, value)| of.get(key) == Some(value))
    }
    (&step.id, &step.kind, &step.parameters) == (&whole.id, &whole.kind, &whole.parameters)
        && within(&step.metrics, &whole.metrics)
        && within(&step.histograms, &whole.histograms)
        && within(&step.series, &whole.series)
}

/// What is wrong with the record of a run that was gone on with: it is complete, has all that
/// `reference` has, and what was kept was not measured again.
pub(in crate::safety) fn check_resumed(
    whole: &RunRecord,
    kept: Option<&RunRecord>,
    reference: &RunRecord,
) -> Result<(), String> {
    if whole.outcome != Outcome::Complete || !whole.sessions.iter().all(|it| it.finished) {
        return Err(format!("the resumed run is not complete: {:?}", whole.outcome));
    }
    let ids = |record: &RunRecord| -> Vec<Vec<String>> {
        let ids = |session: &Session| {
            let mut ids: Vec<_> = session.steps.iter().map(|step| step.id.clone()).collect();
            ids.sort();
            ids
        };
        record.sessions.iter().map(ids).collect()
    };
    if ids(whole) != ids(reference) {
        return Err("the resumed run has other steps than one that was not interrupted".to_owned());
    }
    for (before, after) in
        kept.into_iter().flat_map(|kept| kept.sessions.iter().zip(&whole.sessions))
    {
        let has = |step: &Step| after.steps.iter().any(|other| is_beginning(step, other));
        if !before.steps.iter().all(has) {
            return Err("a step that was kept was measured again".to_owned());
        }
    }
    Ok(())
}

/// Names in a folder, sorted.
pub(in crate::safety) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "lost+found").collect();
    names.sort();
    names
}
