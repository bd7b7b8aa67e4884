//! The report in a terminal: readable at 80 columns, without colour, and without Unicode.
//!
//! From the general to the particular: seed, commit and outcome; the headline of every session,
//! sorted; each session with its figures and its picture; every caveat once, with advice. Numbers
//! in tables point to their caveats.

use std::collections::BTreeMap;

use trimbench_results::{Outcome, RunRecord, Session, Step};

use crate::chart::picture;
use crate::number::quantity;
use crate::style::{Emphasis, Style};

mod notes;
mod tables;
#[cfg(test)]
mod tests;

use notes::Notes;

/// Columns of the labels in a session's description.
const LABELS: usize = 12;
/// The series that the picture shows, in steps that deleted something.
const PICTURED: &str = "response-ms-max";

/// The whole report; lines end in line feeds, the last one too.
pub fn terminal(record: &RunRecord, style: Style) -> String {
    let notes = Notes::of(record);
    let mut lines = head(record, style);
    for group in tables::headline_groups(record) {
        lines.push(String::new());
        lines.extend(tables::headlines(&group, &notes, style));
    }
    lines.extend(without_headline(record, style));
    for session in &record.sessions {
        lines.push(String::new());
        lines.extend(describe(session, &notes, style));
    }
    lines.extend(notes.list(style));
    lines.join("\n") + "\n"
}

/// What identifies the run, and how it ended.
fn head(record: &RunRecord, style: Style) -> Vec<String> {
    let program = &record.program;
    let mut lines = Vec::new();
    let identity = format!(
        "seed {}, commit {}, {} {}, model version {}",
        record.seed, program.commit, program.name, program.version, program.model_version
    );
    lines.extend(style.labelled("", 0, &identity));
    let finished = record.sessions.iter().filter(|session| session.finished).count();
    let planned = record.plan.len().max(record.sessions.len());
    let outcome = match &record.outcome {
        Outcome::Running => "not ended: still running, or cut off by a crash".to_owned(),
        Outcome::Complete => "complete".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Failed { message } => format!("failed: {message}"),
    };
    let outcome = format!("{outcome}; {finished} of {planned} sessions finished");
    let emphasis = match record.outcome {
        Outcome::Complete => None,
        _ => Some(Emphasis::Warning),
    };
    for line in style.labelled("", 0, &outcome) {
        lines.push(emphasis.map_or_else(|| line.clone(), |why| style.paint(why, &line)));
    }
    if !record.is_valid() {
        let warning = "INVALID: do not use the figures with caveats marked INVALID below";
        let warning = style.labelled("", 0, warning);
        lines.extend(warning.iter().map(|line| style.paint(Emphasis::Invalid, line)));
    }
    lines
}

/// What was planned and has no main result: not computed, or not begun.
fn without_headline(record: &RunRecord, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |method: &str, target: &str| format!("{method} on {target}");
    for session in record.sessions.iter().filter(|session| session.headline().is_none()) {
        let text = name(&session.plan.method, &session.plan.target);
        lines.extend(style.labelled("no headline", LABELS + 1, &text));
    }
    for plan in record.plan.iter().skip(record.sessions.len()) {
        lines.extend(style.labelled("not begun", LABELS + 1, &name(&plan.method, &plan.target)));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// One session: on what, in which state, its figures, its picture.
fn describe(session: &Session, notes: &Notes, style: Style) -> Vec<String> {
    let plan = &session.plan;
    let title = format!("{} on {} ({})", plan.method, plan.target, plan.preset);
    let mut lines = vec![style.heading(&title)];
    lines.extend(style.labelled("target", LABELS, &target(session)));
    if !session.target.identity.is_empty() {
        let parts: Vec<String> =
            session.target.identity.iter().map(|(key, value)| format!("{key} {value}")).collect();
        lines.extend(style.labelled("identity", LABELS, &parts.join(", ")));
    }
    lines.extend(style.labelled("time", LABELS, clock(session)));
    lines.extend(style.labelled("state", LABELS, &session.state));
    lines.extend(style.labelled("steps", LABELS, &steps(session)));
    if let Some(hash) = &session.trace_hash {
        lines.extend(style.labelled("trace hash", LABELS, hash));
    }
    if !session.caveats.is_empty() {
        lines.extend(style.labelled("caveats", LABELS, &notes.marks(&session.caveats)));
    }
    if !session.finished {
        let text = "not finished: what follows is only as far as it got";
        let text = style.labelled("", 0, text);
        lines.extend(text.iter().map(|line| style.paint(Emphasis::Warning, line)));
    }
    if session.figures.is_empty() {
        lines.extend(style.labelled("", 0, "no figures were computed"));
    } else {
        lines.push(String::new());
        lines.extend(tables::figures(session, notes, style));
    }
    lines.extend(deletion(session, style));
    lines
}

/// Name, kind, and how much is known of an emulated drive.
fn target(session: &Session) -> String {
    let target = &session.target;
    let Some(provenance) = target.provenance else {
        return format!("{} ({})", target.name, target.kind);
    };
    let values = provenance.sourced + provenance.fitted + provenance.assumed;
    format!(
        "{} ({}; {} of {values} values assumed, {} fitted, {} sourced)",
        target.name, target.kind, provenance.assumed, provenance.fitted, provenance.sourced
    )
}

fn clock(session: &Session) -> &str {
    match session.target.clock.as_str() {
        "virtual" => "virtual time",
        "wall" => "wall time",
        other => other,
    }
}

/// How many steps of each kind.
fn steps(session: &Session) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &session.steps {
        *kinds.entry(&step.kind).or_default() += 1;
    }
    if kinds.is_empty() {
        return "none".to_owned();
    }
    kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

/// The picture of the largest deletion, the first of equals.
fn deletion(session: &Session, style: Style) -> Vec<String> {
    let size = |step: &Step| step.parameters.get("size_bytes").copied();
    let pictured = session.steps.iter().filter(|step| {
        step.series.contains_key(PICTURED) && step.parameters.contains_key("deleted_at_s")
    });
    // `max_by` takes the last of equals.
    let order = |step: &Step| size(step).unwrap_or(0.0);
    let Some(step) = pictured.rev().max_by(|a, b| order(a).total_cmp(&order(b))) else {
        return Vec::new();
    };
    let at = step.parameters["deleted_at_s"];
    let what = size(step).map_or(String::new(), |size| quantity(size, "B") + " ");
    let label = format!("{what}deleted at {}", quantity(at, "s"));
    let picture = picture(&step.series[PICTURED], Some((at, &label)), style);
    if picture.is_empty() {
        return Vec::new();
    }
    let title = format!("Response time in step {}: the longest of each column", step.id);
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &title));
    lines.extend(picture);
    lines
}
