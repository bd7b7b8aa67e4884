//! The report in a terminal: readable at 80 columns, without colour, and without Unicode.
//!
//! At the end of a run the [answer](Detail::Answer): a verdict on each drive and one table. In full
//! from the general to the particular: seed, commit and outcome; the card of each drive; the
//! headline of every session, sorted; of each session its figures and its picture; every caveat
//! once, with advice. Numbers in tables point to their caveats.

use std::collections::BTreeMap;

use trimbench_core::Bytes;
use trimbench_results::{
    DeletionStep, DriveOrder, NOT_BEGUN, NOT_FINISHED, Outcome, RunRecord, Session, StepOf,
};

use self::picture::picture;
pub use self::picture::sparkline;
use crate::drive_counts;
use crate::number::quantity;
use crate::style::{Emphasis, Style};
use crate::words::outcome_words;

mod answer;
mod arms;
mod cards;
mod curves;
mod figures;
mod headlines;
mod names;
mod notes;
mod picture;
mod pictures;
mod pivot;
mod sides;
mod strips;

mod surface;
#[cfg(test)]
mod tests;
mod typed;
mod under;

use notes::Notes;

/// Columns of the labels in a session's description.
const LABELS: usize = 12;
/// Exact sizes longer than this are rounded.
const EXACT_MAX: usize = 7;

/// How much of a record the report tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail<'a> {
    /// The verdict on each drive and one table; says how to see the rest.
    Answer {
        /// The directory of the run, as a shell takes it.
        place: &'a str,
    },
    /// Everything that is for the eye.
    Full,
}

/// The report; lines end in line feeds, the last one too.
pub fn terminal(record: &RunRecord, detail: Detail<'_>, style: Style) -> String {
    told(record, detail, style, None)
}

/// The same with the drives in an order, of the record with this index.
pub fn terminal_in_order(
    record: &RunRecord,
    detail: Detail<'_>,
    style: Style,
    (index, order): (usize, &DriveOrder),
) -> String {
    let mut record = record.clone();
    order.sort(&mut record.sessions, |session| (index, session));
    told(&record, detail, style, Some(order))
}

fn told(
    record: &RunRecord,
    detail: Detail<'_>,
    style: Style,
    order: Option<&DriveOrder>,
) -> String {
    let lines = match detail {
        Detail::Answer { place } => answer::answer(record, place, style),
        Detail::Full => full(record, style, order),
    };
    lines.join("\n") + "\n"
}

/// All of a record; its headlines by value, or as the sessions come in this order.
fn full(record: &RunRecord, style: Style, order: Option<&DriveOrder>) -> Vec<String> {
    let notes = Notes::of(record);
    let mut lines = head(record, style);
    if let Some(order) = order {
        lines.extend(style.labelled("", 0, &order.words()));
    }
    lines.extend(cards::cards(&answer::judged(record), style));
    for group in headlines::groups(record, order.is_none()) {
        lines.push(String::new());
        lines.extend(group.table(record, &notes, style));
        if record.sessions.len() > 1 {
            lines.extend(pictures::pictures(record, &group, style));
        }
    }
    lines.extend(unfinished(record, style));
    for session in &record.sessions {
        lines.push(String::new());
        lines.extend(describe(session, &notes, style));
    }
    let notes = notes.list(false, style);
    lines.extend((!notes.is_empty()).then(String::new));
    lines.extend(notes);
    lines
}

/// How many sessions were measured to their end, and how many were left out. A record that was
/// changed may have some that are left out and not finished.
fn ended(record: &RunRecord) -> (usize, usize) {
    let is_out = |session: &&Session| session.left_out.is_some();
    let finished = record.sessions.iter().filter(|it| it.finished && !is_out(it)).count();
    (finished, record.sessions.iter().filter(is_out).count())
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
    let (finished, left_out) = ended(record);
    let planned = record.plan.len().max(record.sessions.len());
    let outcome = outcome_words(&record.outcome);
    let others = match left_out {
        0 => String::new(),
        count => format!(", {count} left out"),
    };
    let outcome = format!("{outcome}; {finished} of {planned} sessions finished{others}");
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

/// What was planned and has no main result, or only that of a part: left out, not computed, not
/// finished, not begun.
fn unfinished(record: &RunRecord, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let name = |method: &str, target: &str| format!("{method} on {target}");
    for session in &record.sessions {
        let text = name(&session.plan.method, &session.plan.target);
        let (what, text) = match (&session.left_out, session.headline(), session.finished) {
            (Some(reason), ..) => ("left out", format!("{text}: {reason}")),
            (None, None, _) => ("no headline", text),
            (None, Some(_), false) => (NOT_FINISHED, text),
            (None, Some(_), true) => continue,
        };
        lines.extend(style.labelled(what, LABELS + 1, &text));
    }
    for plan in record.plan.iter().skip(record.sessions.len()) {
        lines.extend(style.labelled(NOT_BEGUN, LABELS + 1, &name(&plan.method, &plan.target)));
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
    let named = format!("{} ({})", session.target.name, target(session));
    let mut lines = vec![style.heading(&title)];
    lines.extend(style.labelled("target", LABELS, &named));
    if !session.target.identity.is_empty() {
        lines.extend(style.labelled("identity", LABELS, &pairs(&session.target.identity)));
    }
    if !plan.options.is_empty() {
        lines.extend(style.labelled("options", LABELS, &pairs(&plan.options)));
    }
    lines.extend(style.labelled("time", LABELS, clock(session)));
    lines.extend(style.labelled("state", LABELS, &session.state));
    lines.extend(style.labelled("steps", LABELS, &steps(session)));
    for said in drive_counts::words(session) {
        lines.extend(style.labelled("drive", LABELS, &said));
    }
    if let Some(hash) = &session.trace_hash {
        lines.extend(style.labelled("trace hash", LABELS, hash));
    }
    if !session.caveats.is_empty() {
        lines.extend(style.labelled("caveats", LABELS, &notes.marks(&session.caveats)));
    }
    if let Some(reason) = &session.left_out {
        lines.extend(style.labelled("left out", LABELS, reason));
        return lines;
    }
    if !session.finished {
        let text = format!("{NOT_FINISHED}: what follows is only as far as it got");
        let text = style.labelled("", 0, &text);
        lines.extend(text.iter().map(|line| style.paint(Emphasis::Warning, line)));
    }
    if session.figures.is_empty() {
        lines.extend(style.labelled("", 0, "no figures were computed"));
    } else {
        lines.push(String::new());
        lines.extend(figures::figures(session, notes, style));
    }
    match largest_deletion(session) {
        Some(step) => lines.extend(deletion(&step, style)),
        None => lines.extend(curves::curves(session, style)),
    }
    lines
}

/// Kind, and how much is known of an emulated drive.
fn target(session: &Session) -> String {
    let target = &session.target;
    let Some(provenance) = target.provenance else { return target.kind.clone() };
    let (values, set) = (provenance.total(), provenance.set_by_the_user());
    let (assumed, fitted) = (provenance.assumed, provenance.fitted);
    let kind = &target.kind;
    format!(
        "{kind}; of {values} values {assumed} assumed, {fitted} fitted, {} sourced{set}",
        provenance.sourced
    )
}

/// The remarks that are not empty, joined.
fn joined(remarks: impl IntoIterator<Item = String>) -> String {
    let remarks = remarks.into_iter().filter(|remark| !remark.is_empty());
    remarks.collect::<Vec<_>>().join("; ")
}

/// `key value, key value`.
fn pairs(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
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

/// The picture of a deletion.
fn deletion(deletion: &StepOf<'_, DeletionStep>, style: Style) -> Vec<String> {
    let (at, label) = deleted(deletion);
    let curve = deletion.response_max.as_ref();
    let picture = curve.map(|curve| picture(curve, (at, &label), style)).unwrap_or_default();
    if picture.is_empty() {
        return Vec::new();
    }
    let id = &deletion.step.id;
    let title = format!("Response time in step {id}: the longest of each column");
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &title));
    lines.extend(picture);
    lines
}

/// The step of the largest deletion that can be pictured, the first of equals.
fn largest_deletion(session: &Session) -> Option<StepOf<'_, DeletionStep>> {
    let deletions = session.steps.iter().filter_map(StepOf::<DeletionStep>::read);
    let pictured = deletions.filter(|deletion| deletion.response_max.is_some());
    // `max_by_key` takes the last of equals.
    pictured.rev().max_by_key(|deletion| deletion.size_bytes)
}

/// When the step deleted, on its own time axis, and what and when in words.
fn deleted(deletion: &DeletionStep) -> (f64, String) {
    let (size, at) = (size_text(deletion.size_bytes), deletion.deleted_at_s);
    (at, format!("{size} deleted at {}", quantity(at, "s")))
}

/// The exact size if that is short: `1GiB`.
fn size_text(size: Bytes) -> String {
    let exact = size.to_string();
    if exact.len() <= EXACT_MAX { exact } else { quantity(size.0 as f64, "B") }
}
