//! What limits the figures of a run: every caveat once, in a line or two, with where it holds.

use std::collections::BTreeSet;

use trimbench_core::Caveat;

use super::super::notes::{Note, Notes};
use super::Judged;
use super::matrix::MARK;
use crate::style::{Emphasis, Style};

/// Columns of the mark.
const MARKS: usize = 2;

/// The caveats, those first that make a figure invalid.
pub(super) fn limits(drives: &[Judged<'_>], notes: &Notes, style: Style) -> Vec<String> {
    let (first, rest): (Vec<&Note>, Vec<&Note>) =
        notes.of_headlines().partition(|note| note.invalidates());
    let line = |note: &Note| {
        let caveat = Caveat::from_id(&note.id);
        let meaning = caveat.map_or("not known to this version", Caveat::meaning);
        let mark = if notes.is_of_all(&note.id) { "" } else { MARK };
        let place = place(note, drives);
        match caveat.filter(|caveat| caveat.invalidates()) {
            Some(caveat) => {
                let text =
                    format!("INVALID, {}: {meaning} ({place}); {}", note.id, caveat.advice());
                let lines = style.labelled(mark, MARKS, &text);
                lines.iter().map(|line| style.paint(Emphasis::Invalid, line)).collect()
            }
            None => style.labelled(mark, MARKS, &format!("{}: {meaning} ({place})", note.id)),
        }
    };
    first.into_iter().chain(rest).flat_map(line).collect()
}

/// Methods with a caveat and without it.
type Sides<'a> = (BTreeSet<&'a str>, BTreeSet<&'a str>);

/// The methods of a drive, by whether a caveat holds of them, behind its name.
fn sides<'a>(note: &Note, judged: &Judged<'a>) -> (String, Sides<'a>) {
    let (mut with, mut without) = (BTreeSet::new(), BTreeSet::new());
    for &session in &judged.drive.sessions {
        let held = if note.holds(session) { &mut with } else { &mut without };
        held.insert(session.plan.method.as_str());
    }
    (judged.drive.name.clone(), (with, without))
}

/// Where a caveat holds: `vendor2`, `settle on vendor2`, `delete-storm on every drive`.
fn place(note: &Note, drives: &[Judged<'_>]) -> String {
    let all: Vec<(String, Sides<'_>)> = drives.iter().map(|it| sides(note, it)).collect();
    let touched: Vec<&(String, Sides<'_>)> =
        all.iter().filter(|(_, (with, _))| !with.is_empty()).collect();
    let listed = |set: &BTreeSet<&str>| set.iter().copied().collect::<Vec<_>>().join(", ");
    let everywhere = touched.len() == all.len() && all.len() > 1;
    if let (true, Some((_, (with, without)))) = (everywhere, touched.first())
        && touched.iter().all(|(_, (other, _))| other == with)
    {
        return if without.is_empty() {
            "everywhere".to_owned()
        } else {
            format!("{} on every drive", listed(with))
        };
    }
    let of_drive = |(name, (with, without)): &&(String, Sides<'_>)| match without.len() {
        0 => name.clone(),
        few if few * 2 < with.len() => format!("{name}, but not {}", listed(without)),
        _ => format!("{} on {name}", listed(with)),
    };
    touched.iter().map(of_drive).collect::<Vec<_>>().join("; ")
}
