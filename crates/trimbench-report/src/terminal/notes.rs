//! Caveats, each once, numbered in order of appearance.

use std::collections::BTreeSet;

use trimbench_core::Caveat;
use trimbench_results::{Figure, RunRecord, Session};

use super::under;
use crate::style::{Emphasis, Style};

/// Columns of a caveat's number.
const NUMBERS: usize = 4;

/// Every caveat of a record and what it touches.
pub(super) struct Notes {
    entries: Vec<Note>,
    sessions: usize,
}

/// One caveat.
pub(super) struct Note {
    pub(super) id: String,
    /// The sessions that it touches as a whole.
    sessions: BTreeSet<usize>,
    /// What it touches, by session, each with its name.
    places: Vec<(String, String)>,
    /// Whether it touches a session as a whole or a headline, or makes a figure invalid.
    of_headlines: bool,
}

impl Note {
    /// Whether it limits this session or its headline, or makes another figure of it invalid.
    pub(super) fn holds(&self, session: &Session) -> bool {
        let invalid = self.invalidates();
        let figures = session.figures.iter().filter(|figure| {
            invalid || session.headline().is_some_and(|headline| headline.id == figure.id)
        });
        let caveats = figures.flat_map(|figure| &figure.caveats);
        session.caveats.iter().chain(caveats).any(|id| *id == self.id)
    }

    /// Whether what it touches is invalid.
    pub(super) fn invalidates(&self) -> bool {
        Caveat::from_id(&self.id).is_some_and(Caveat::invalidates)
    }
}

impl Notes {
    pub(super) fn of(record: &RunRecord) -> Self {
        let mut notes = Self { entries: Vec::new(), sessions: record.sessions.len() };
        for (index, session) in record.sessions.iter().enumerate() {
            notes.gather(index, session);
        }
        notes
    }

    /// The numbers of these caveats, ascending, each once: `1, 3`.
    pub(super) fn marks<'a>(&self, ids: impl IntoIterator<Item = &'a String>) -> String {
        let numbers: BTreeSet<usize> = ids
            .into_iter()
            .filter_map(|id| self.entries.iter().position(|note| note.id == *id))
            .collect();
        let numbers: Vec<String> = numbers.iter().map(|index| (index + 1).to_string()).collect();
        numbers.join(", ")
    }

    /// Whether every session as a whole has this caveat: it sets none apart.
    pub(super) fn is_of_all(&self, id: &str) -> bool {
        let note = self.entries.iter().find(|note| note.id == id);
        note.is_some_and(|note| note.sessions.len() == self.sessions)
    }

    /// The caveats that limit a session or a headline, or make a figure invalid, in order of
    /// appearance.
    pub(super) fn of_headlines(&self) -> impl Iterator<Item = &Note> {
        self.entries.iter().filter(|note| note.of_headlines)
    }

    /// The list at the report's end; empty without caveats. A short one leaves out what a caveat
    /// touches.
    pub(super) fn list(&self, short: bool, style: Style) -> Vec<String> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![style.heading("Caveats")];
        for (index, note) in self.entries.iter().enumerate() {
            let caveat = Caveat::from_id(&note.id);
            let (meaning, advice) = match caveat {
                Some(caveat) => (caveat.meaning(), caveat.advice()),
                None => ("not known to this version", "read the record with a later version"),
            };
            let invalid = caveat.is_some_and(Caveat::invalidates);
            let word = if invalid { "INVALID, " } else { "" };
            let text = format!("{word}{}: {meaning}", note.id);
            let emphasis = if invalid { Emphasis::Invalid } else { Emphasis::Warning };
            let number = format!("{:>2}", index + 1);
            for line in style.labelled(&number, NUMBERS, &text) {
                lines.push(style.paint(emphasis, &line));
            }
            lines.extend(style.labelled("", NUMBERS, &format!("advice: {advice}")));
            if !short {
                let touched = format!("on: {}", self.places(note));
                lines.extend(style.labelled("", NUMBERS, &touched));
            }
        }
        lines
    }

    fn gather(&mut self, index: usize, session: &Session) {
        for id in &session.caveats {
            let note = self.note(id);
            note.sessions.insert(index);
            note.places.push((name(session), "all figures".to_owned()));
        }
        for id in each_once(session.figures.iter().flat_map(|figure| &figure.caveats)) {
            let places = figures_with(session, id).into_iter().map(|place| (name(session), place));
            self.note(id).places.extend(places);
        }
        for id in each_once(session.steps.iter().flat_map(|step| &step.caveats)) {
            let touched = || session.steps.iter().filter(|step| step.caveats.contains(id));
            let first = touched().next().map_or("", |step| step.id.as_str());
            let place = match touched().count() {
                1 => format!("step {first}"),
                count => format!("{count} steps, the first is {first}"),
            };
            self.note(id).places.push((name(session), place));
        }
        for note in &mut self.entries {
            note.of_headlines |= note.holds(session);
        }
    }

    fn note(&mut self, id: &str) -> &mut Note {
        let index = self.entries.iter().position(|note| note.id == id).unwrap_or_else(|| {
            let (sessions, places) = (BTreeSet::new(), Vec::new());
            let id = id.to_owned();
            self.entries.push(Note { id, sessions, places, of_headlines: false });
            self.entries.len() - 1
        });
        &mut self.entries[index]
    }

    fn places(&self, note: &Note) -> String {
        if note.sessions.len() == self.sessions && self.sessions > 1 {
            return "all sessions".to_owned();
        }
        let sessions = note.places.chunk_by(|one, next| one.0 == next.0);
        let of_session = |places: &[(String, String)]| {
            let touched: Vec<&str> = places.iter().map(|(_, place)| place.as_str()).collect();
            let name = places.first().map_or("", |(name, _)| name.as_str());
            format!("{name}: {}", touched.join("; "))
        };
        sessions.map(of_session).collect::<Vec<_>>().join("; ")
    }
}

fn each_once<'a>(ids: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut once = Vec::new();
    for id in ids {
        if !once.contains(&id) {
            once.push(id);
        }
    }
    once
}

/// The figures with a caveat by their titles; where a whole row of a table has it, the row's name.
fn figures_with(session: &Session, id: &String) -> Vec<String> {
    let has = |figure: &Figure| figure.caveats.contains(id);
    let whole = |row: &str| {
        session.figures.iter().filter(|figure| under::row(figure) == Some(row)).all(has)
    };
    let mut places = Vec::new();
    for figure in session.figures.iter().filter(|figure| has(figure)) {
        let place = match under::row(figure).filter(|row| whole(row)) {
            Some(row) => format!("all figures under {row}"),
            None => figure.title.clone(),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn name(session: &Session) -> String {
    format!("{} on {}", session.plan.method, session.target.name)
}
