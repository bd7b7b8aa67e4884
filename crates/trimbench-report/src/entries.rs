//! The entries of a report: the sessions of one or many records, each with a unique label.

use std::collections::BTreeMap;

use trimbench_results::Session;

use crate::page::PageSource;

#[cfg(test)]
mod tests;

/// A session and how the report calls it.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    /// Index of the record that it is of.
    pub(crate) source: usize,
    /// Index of the session in its record.
    pub(crate) index: usize,
    /// The session.
    pub(crate) session: &'a Session,
    /// What it is of: the target's name, and what tells it from others of its method and name.
    pub(crate) label: String,
}

/// Every session that was run, in the order of records and plans, with labels that are unique among
/// the sessions of one method.
pub(crate) fn entries(sources: &[PageSource]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for (source, from) in sources.iter().enumerate() {
        let sessions = from.record.iter().flat_map(|record| &record.sessions).enumerate();
        let run = sessions.filter(|(_, session)| session.left_out.is_none());
        entries.extend(run.map(|(index, session)| Entry {
            source,
            index,
            session,
            label: session.target.name.clone(),
        }));
    }
    for distinguish in [filesystem, from, named] {
        let taken = counts(&entries);
        for entry in &mut entries {
            if taken[&key(entry)] > 1
                && let Some(more) = distinguish(entry, sources)
            {
                entry.label = format!("{}, {more}", entry.label);
            }
        }
    }
    // What is alike in everything that is known of it is numbered.
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let taken = counts(&entries);
    for entry in &mut entries {
        let key = key(entry);
        let number = seen.entry(key.clone()).or_default();
        *number += 1;
        if taken[&key] > 1 {
            entry.label = format!("{}, no. {number}", entry.label);
        }
    }
    entries
}

fn key(entry: &Entry<'_>) -> (String, String) {
    (entry.session.plan.method.clone(), entry.label.clone())
}

fn counts(entries: &[Entry<'_>]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for entry in entries {
        *counts.entry(key(entry)).or_default() += 1;
    }
    counts
}

/// The filesystem that was made on the drive.
fn filesystem(entry: &Entry<'_>, _: &[PageSource]) -> Option<String> {
    entry.session.target.identity.get("filesystem").map(|name| format!("with {name}"))
}

/// The record that it is of.
fn from(entry: &Entry<'_>, sources: &[PageSource]) -> Option<String> {
    (sources.len() > 1).then(|| sources[entry.source].name.clone())
}

/// The target as the user named it, and how thoroughly it was measured.
fn named(entry: &Entry<'_>, _: &[PageSource]) -> Option<String> {
    let plan = &entry.session.plan;
    (!plan.target.is_empty()).then(|| format!("{} ({})", plan.target, plan.preset))
}
