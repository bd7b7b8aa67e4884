//! Labels: what the report calls each session of its records.

use std::collections::BTreeMap;

use trimbench_results::LabelledSession;

use crate::source::PageSource;

#[cfg(test)]
mod tests;

/// Every session that was run, in the order of records and plans, with labels that are unique among
/// the sessions of one method.
pub(crate) fn labelled(sources: &[PageSource]) -> Vec<LabelledSession<'_>> {
    let mut labelled: Vec<LabelledSession<'_>> = Vec::new();
    for (source, from) in sources.iter().enumerate() {
        let sessions = from.record.iter().flat_map(|record| &record.sessions).enumerate();
        let run = sessions.filter(|(_, session)| session.left_out.is_none());
        labelled.extend(run.map(|(index, session)| LabelledSession {
            source,
            index,
            session,
            label: session.target.name.clone(),
        }));
    }
    for distinguish in [filesystem, from, named] {
        let taken = counts(&labelled);
        for session in &mut labelled {
            if taken[&key(session)] > 1
                && let Some(more) = distinguish(session, sources)
            {
                session.label = format!("{}, {more}", session.label);
            }
        }
    }
    // What is alike in everything that is known of it is numbered.
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let taken = counts(&labelled);
    for session in &mut labelled {
        let key = key(session);
        let number = seen.entry(key.clone()).or_default();
        *number += 1;
        if taken[&key] > 1 {
            session.label = format!("{}, no. {number}", session.label);
        }
    }
    labelled
}

fn key(session: &LabelledSession<'_>) -> (String, String) {
    (session.plan.method.clone(), session.label.clone())
}

fn counts(labelled: &[LabelledSession<'_>]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for session in labelled {
        *counts.entry(key(session)).or_default() += 1;
    }
    counts
}

/// The filesystem that was made on the drive.
fn filesystem(session: &LabelledSession<'_>, _: &[PageSource]) -> Option<String> {
    session.target.identity.get("filesystem").map(|name| format!("with {name}"))
}

/// The record that it is of.
fn from(session: &LabelledSession<'_>, sources: &[PageSource]) -> Option<String> {
    (sources.len() > 1).then(|| sources[session.source].name.clone())
}

/// The target as the user named it, and how thoroughly it was measured.
fn named(session: &LabelledSession<'_>, _: &[PageSource]) -> Option<String> {
    let plan = &session.plan;
    (!plan.target.is_empty()).then(|| format!("{} ({})", plan.target, plan.preset))
}
