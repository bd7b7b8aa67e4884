//! The answer at the end of a run: a verdict for each drive with the figure that decided and the
//! line to type; one table of methods and drives; what limits its figures; what is missing.
//!
//! Reasons, intervals and all other figures are in the full report, which its last line names.

use trimbench_results::advice::drive_name;
use trimbench_results::{Action, Advice, RunRecord, Session};

use super::notes::Notes;
use super::typed::{PROMPT, lines_of, typed};
use super::{cards, ended, figures, outcome_words};
use crate::grid::{Grid, GridColumn};
use crate::style::{Emphasis, Style};
use trimbench_results::drives::{MeasuredDrive, drives};

mod limits;
mod matrix;
mod missing;

/// Columns below which a verdict has no columns of its own.
const NARROW: usize = 60;

/// A drive with its card.
pub(super) struct Judged<'a> {
    pub(super) drive: MeasuredDrive<'a>,
    pub(super) advice: Advice,
}

/// The drives of a record, with the card of each.
pub(super) fn judged(record: &RunRecord) -> Vec<Judged<'_>> {
    let run = record.sessions.iter().filter(|session| session.left_out.is_none());
    let drives = drives(run.map(|session| (0, session)), &[]);
    drives.into_iter().map(|drive| Judged { advice: drive.advice(), drive }).collect()
}

/// The answer of a run that is kept in `place`, as a shell takes it.
pub(super) fn answer(record: &RunRecord, place: &str, style: Style) -> Vec<String> {
    let drives = judged(record);
    let notes = Notes::of(record);
    let mut parts = vec![verdicts(&drives, style)];
    if let [only] = drives.as_slice() {
        parts.push(cards::reasons(&only.advice, style));
    }
    match measured(record).as_slice() {
        [] => {}
        // One session has room for all its figures.
        [only] => {
            parts.push(figures::figures(only, &notes, style));
            parts.push(notes.list(true, style));
        }
        _ => {
            // No blank line between verdicts and table: all rows of a run of every method stand on
            // the first screen of 24 lines.
            let table = matrix::matrix(record, &drives, &notes, style);
            match parts.as_mut_slice() {
                [verdicts] => verdicts.extend(table),
                _ => parts.push(table),
            }
            parts.push(limits::limits(&drives, &notes, style));
        }
    }
    parts.push(changed(&drives, style));
    parts.push(missing::missing(record, &drives, style));
    parts.push(end(record, place, style));
    parts.retain(|part| !part.is_empty());
    parts.join(&String::new())
}

/// The sessions that have figures.
fn measured(record: &RunRecord) -> Vec<&Session> {
    record.sessions.iter().filter(|session| !session.figures.is_empty()).collect()
}

/// What the user set of emulated drives.
fn changed(drives: &[Judged<'_>], style: Style) -> Vec<String> {
    let line = |Judged { drive, .. }: &Judged<'_>| {
        let of = |it: &&&Session| it.target.identity.contains_key("set-by-the-user");
        let session = drive.sessions.iter().find(of)?;
        let (set, name) = (&session.target.identity["set-by-the-user"], drive_name(session));
        let count = session.target.provenance.map_or(0, |it| it.set);
        Some(style.labelled("", 0, &format!("{name}: {count} set by the user: {set}")))
    };
    drives.iter().filter_map(line).flatten().collect()
}

/// A line for each drive, and below them what to type.
fn verdicts(drives: &[Judged<'_>], style: Style) -> Vec<String> {
    if drives.is_empty() {
        return style.labelled("", 0, "no verdict: nothing was measured");
    }
    let mut grid =
        Grid::new(vec![GridColumn::name(""), GridColumn::name(""), GridColumn::text("")]);
    let mut lines = Vec::new();
    for Judged { drive, advice } in drives {
        let name = style.cut_middle(&drive.name, style.columns() / 3);
        let cells = [name, advice.action.short().to_owned(), advice.deciding.clone()];
        if style.columns() < NARROW {
            lines.extend(style.labelled("", 0, &cells.join(": ")));
        } else {
            grid.row(cells);
        }
    }
    lines.extend(grid.rows(style));
    lines.extend(match drives {
        [only] => typed(&only.advice, &lines_of(&only.advice), style),
        _ => first_lines(drives, style),
    });
    lines
}

/// The first line of each answer, once.
fn first_lines(drives: &[Judged<'_>], style: Style) -> Vec<String> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for Judged { advice, .. } in drives {
        let Some(text) = first_line(advice) else { continue };
        // No line of its own: all rows of a run of every method stand on the first screen.
        let template = advice.template.map_or("", |_| " (template)");
        let line = (format!("{}{template}:", advice.action.short()), text);
        if !shown.contains(&line) {
            shown.push(line);
        }
    }
    let indent = shown.iter().map(|(answer, _)| answer.chars().count() + 2).max().unwrap_or(0);
    shown.iter().flat_map(|(answer, text)| style.labelled(answer, indent, text)).collect()
}

/// The line that says most of what is to be done; `None` where there is nothing to do.
fn first_line(advice: &Advice) -> Option<String> {
    let lines = lines_of(advice);
    let command = lines.iter().find(|line| line.file.is_none());
    let first = lines.first();
    if advice.action == Action::NothingToGain && first.is_some_and(|it| it.file.is_some()) {
        // What is mounted without `discard` is trimmed by the timer.
        return Some("option X-fstrim.notrim in /etc/fstab".to_owned());
    }
    // A rule has to be there before it is loaded.
    let in_file = first.filter(|line| line.system == "all" || command.is_none());
    let in_file = in_file.and_then(|line| Some(format!("in {}: {}", line.file?, line.text)));
    let as_root = || command.map(|line| format!("{PROMPT}{}", line.text));
    in_file.or_else(as_root).or_else(|| advice.already.clone())
}

/// How the run ended, and where the rest is.
fn end(record: &RunRecord, place: &str, style: Style) -> Vec<String> {
    let (finished, out) = ended(record);
    let planned = record.plan.len().max(record.sessions.len()) - out;
    let presets = presets(record);
    let (program, seed) = (&record.program, record.seed);
    let sessions = if planned == 1 { "session" } else { "sessions" };
    let text = format!(
        "{}: {finished} of {planned} {sessions}{presets}, seed {seed}, {} {}, model version {}",
        outcome_words(&record.outcome),
        program.name,
        program.version,
        program.model_version
    );
    let mut lines = style.labelled("", 0, &text);
    if record.outcome != trimbench_results::Outcome::Complete {
        lines = lines.iter().map(|line| style.paint(Emphasis::Warning, line)).collect();
    }
    lines.extend(style.labelled("", 0, &format!("details: `trimbench report {place}`")));
    lines
}

/// The presets of all sessions, behind a comma.
fn presets(record: &RunRecord) -> String {
    let mut presets: Vec<&str> = record.plan.iter().map(|plan| plan.preset.as_str()).collect();
    presets.sort_unstable();
    presets.dedup();
    if presets.is_empty() { String::new() } else { format!(", {} preset", presets.join(" and ")) }
}
