//! The drives of some records, each with the sessions on it and the advice that they give.

use std::collections::BTreeMap;

use crate::advice::{Advice, advise, drive_name, drive_of};
use crate::record::Session;

/// A drive, or a directory that stands for itself.
#[derive(Clone, Debug)]
pub struct MeasuredDrive<'a> {
    /// Its name; where several have one, with what was set of it and with the record's name.
    pub name: String,
    /// Index of its record.
    pub record: usize,
    /// What was run on it and on filesystems on it, in order.
    pub sessions: Vec<&'a Session>,
}

impl MeasuredDrive<'_> {
    /// The card of this drive.
    pub fn advice(&self) -> Advice {
        advise(&self.sessions)
    }
}

/// The drives of these sessions, each of which comes with the index of its record, in the order in
/// which they come first. `records` has the records' names.
pub fn drives<'a>(
    sessions: impl IntoIterator<Item = (usize, &'a Session)>,
    records: &[&str],
) -> Vec<MeasuredDrive<'a>> {
    let mut drives: Vec<MeasuredDrive<'a>> = Vec::new();
    let mut places = BTreeMap::new();
    for (record, session) in sessions {
        let name = drive_of(session);
        let place = *places.entry((record, name.clone())).or_insert(drives.len());
        match drives.get_mut(place) {
            Some(drive) => drive.sessions.push(session),
            None => drives.push(MeasuredDrive { name, record, sessions: vec![session] }),
        }
    }
    // What was set, and the record, are said where drives have one name without them.
    let short = |drive: &MeasuredDrive<'_>| {
        drive.sessions.first().map_or(drive.name.clone(), |it| drive_name(it).to_owned())
    };
    let (mut of_name, mut of_short) = (BTreeMap::new(), BTreeMap::new());
    for drive in &drives {
        *of_name.entry(drive.name.clone()).or_insert(0) += 1;
        *of_short.entry(short(drive)).or_insert(0) += 1;
    }
    let label = |drive: &MeasuredDrive<'_>| {
        let (same, alike) = (of_name[&drive.name], of_short[&short(drive)]);
        let name = if alike > same { drive.name.clone() } else { short(drive) };
        match same {
            1 => name,
            _ => format!("{name}, {}", records.get(drive.record).copied().unwrap_or_default()),
        }
    };
    let labels: Vec<String> = drives.iter().map(label).collect();
    for (drive, label) in drives.iter_mut().zip(labels) {
        drive.name = label;
    }
    drives
}
