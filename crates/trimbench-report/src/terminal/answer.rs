//! The answer at the end of a run: a verdict for each drive with the figure that decided and the
//! line to type; one table of methods and drives; what limits its figures; what is missing.
//!
//! Reasons, intervals and all other figures are in the full report, which its last line names.

use trimbench_core::text::shell_word;
use trimbench_results::advice::{LineToType, MOUNTPOINT, UUID, drive_name};
use trimbench_results::{Advice, RunRecord, Session};

use super::notes::Notes;
use super::{cards, ended, figures, outcome_words};
use crate::grid::{Grid, GridColumn};
use crate::style::{Emphasis, Style};
use trimbench_results::drives::{MeasuredDrive, drives};

mod limits;
mod matrix;
mod missing;

/// What stands for a prompt of root before a line to type.
const PROMPT: &str = "# ";
/// Columns below which a verdict has no columns of its own.
const NARROW: usize = 60;
/// Blanks before lines that belong to the one above.
const INDENT: usize = 2;

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
        [only] => all_lines(only, style),
        _ => first_lines(drives, style),
    });
    lines
}

/// Every line to type for the one drive.
fn all_lines(judged: &Judged<'_>, style: Style) -> Vec<String> {
    let lines = lines_of(judged);
    let commands = lines.iter().filter(|line| line.file.is_none());
    let commands = commands.flat_map(|line| command(&line.text, style));
    let kept = lines.iter().filter_map(|line| Some((line.file?, &line.text)));
    let kept =
        kept.flat_map(|(file, text)| style.labelled("", INDENT, &format!("in {file}: {text}")));
    commands.chain(kept).collect()
}

/// The first line of each answer, once.
fn first_lines(drives: &[Judged<'_>], style: Style) -> Vec<String> {
    let mut shown: Vec<(&str, String)> = Vec::new();
    for judged in drives {
        let answer = judged.advice.action.short();
        let lines = lines_of(judged);
        let command = lines.iter().find(|line| line.file.is_none());
        let text = match (lines.first(), command) {
            (Some(LineToType { file: Some(file), text, .. }), None) => format!("in {file}: {text}"),
            // A rule has to be there before it is loaded.
            (Some(LineToType { file: Some(file), text, system: "all", .. }), _) => {
                format!("in {file}: {text}")
            }
            (_, Some(line)) => format!("{PROMPT}{}", line.text),
            (_, None) => continue,
        };
        if !shown.iter().any(|(other, line)| (*other, line) == (answer, &text)) {
            shown.push((answer, text));
        }
    }
    let indent = shown.iter().map(|(answer, _)| answer.chars().count() + 3).max().unwrap_or(0);
    let label = |answer: &str| format!("{answer}:");
    shown.iter().flat_map(|(answer, text)| style.labelled(&label(answer), indent, text)).collect()
}

/// The lines to type on a drive's filesystem; on a drive without one those for ext4.
fn lines_of(judged: &Judged<'_>) -> Vec<LineToType> {
    let directory = judged.drive.sessions.iter().find(|it| it.target.kind == "directory");
    let identity = |key: &str| directory.and_then(|it| it.target.identity.get(key));
    let system = match identity("filesystem").map(String::as_str) {
        Some("xfs") => "XFS",
        Some("btrfs") => "btrfs",
        Some("zfs") => "ZFS",
        _ => "ext4",
    };
    let mounted = directory.and_then(|it| it.environment_before.get("mount-point"));
    let mounted = mounted.filter(|place| is_typed_as_it_is(place));
    let suits = |line: &&LineToType| line.system == "all" || line.system == system;
    let lines = judged.advice.lines.iter().filter(suits).cloned();
    lines
        .map(|mut line| {
            if let Some(place) = mounted {
                line.text = line.text.replace(MOUNTPOINT, place);
            }
            line
        })
        .collect()
}

/// Whether a path means itself to a shell and in `/etc/fstab`, without quotes. Any other stays out
/// of the lines to type: the two quote differently, and a line is wrapped at blanks.
fn is_typed_as_it_is(path: &str) -> bool {
    path.starts_with('/') && shell_word(path) == path
}

/// A command behind its prompt.
fn command(text: &str, style: Style) -> Vec<String> {
    style.labelled(&format!("{:INDENT$}{}", "", PROMPT.trim_end()), INDENT + PROMPT.len(), text)
}

/// What is the reader's to replace in these lines.
pub(super) fn placeholders(lines: &[LineToType]) -> Option<String> {
    let names = [UUID, MOUNTPOINT, "SERIAL-NUMBER", "DISK", "POOL", "NAME"];
    let used: Vec<&str> = names
        .into_iter()
        .filter(|name| {
            lines.iter().any(|line| line.text.split(|c: char| !in_name(c)).any(|it| it == *name))
        })
        .collect();
    (!used.is_empty()).then(|| format!("yours to replace: {}", used.join(", ")))
}

fn in_name(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter == '-' || letter == '/'
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
