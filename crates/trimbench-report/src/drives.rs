//! The drives of some records, each with the sessions on it and the advice that they give.

use trimbench_results::advice::{drive_name, drive_of};
use trimbench_results::{Advice, Session, advise};

/// A drive, or a directory that stands for itself.
#[derive(Clone, Debug)]
pub(crate) struct Drive<'a> {
    /// Its name; where several have one, with what was set of it and with the record's name.
    pub(crate) name: String,
    /// Index of its record.
    pub(crate) record: usize,
    /// What was run on it and on filesystems on it, in order.
    pub(crate) sessions: Vec<&'a Session>,
}

impl Drive<'_> {
    /// The card of this drive.
    pub(crate) fn advice(&self) -> Advice {
        advise(&self.sessions)
    }
}

/// The drives of these sessions, each of which comes with the index of its record, in the order in
/// which they come first. `records` has the records' names.
pub(crate) fn drives<'a>(
    sessions: impl IntoIterator<Item = (usize, &'a Session)>,
    records: &[&str],
) -> Vec<Drive<'a>> {
    let mut drives: Vec<Drive<'a>> = Vec::new();
    for (record, session) in sessions {
        let name = drive_of(session);
        let same = |drive: &&mut Drive<'_>| drive.record == record && drive.name == name;
        match drives.iter_mut().find(same) {
            Some(drive) => drive.sessions.push(session),
            None => drives.push(Drive { name, record, sessions: vec![session] }),
        }
    }
    // What was set, and the record, are said where drives have one name without them.
    let short = |drive: &Drive<'_>| {
        drive.sessions.first().map_or(drive.name.clone(), |it| drive_name(it).to_owned())
    };
    let label = |drive: &Drive<'_>| {
        let same = drives.iter().filter(|other| other.name == drive.name).count();
        let alike = drives.iter().filter(|other| short(other) == short(drive)).count();
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
