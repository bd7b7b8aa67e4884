//! What tells the sessions of a run apart in one line.

use trimbench_results::{RunRecord, Session};

/// The target's name; where several sessions of a method share it, with the options that differ, or
/// as the user named it, or with its number in the run.
pub(super) fn label(record: &RunRecord, session: &Session) -> String {
    let name = &session.target.name;
    let alike = |other: &&Session| {
        other.plan.method == session.plan.method && other.target.name == *name
    };
    let others: Vec<&Session> = record.sessions.iter().filter(alike).collect();
    if others.len() < 2 {
        return name.clone();
    }
    let options = &session.plan.options;
    let differs = |key: &str, value: &String| {
        others.iter().any(|other| other.plan.options.get(key) != Some(value))
    };
    let differing: Vec<String> = options
        .iter()
        .filter(|(key, value)| differs(key, value))
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    let place = record.sessions.iter().position(|other| std::ptr::eq(other, session));
    let candidates = [
        format!("{name} {}", differing.join(", ")).trim_end().to_owned(),
        session.plan.target.clone(),
    ];
    let unique = |candidate: usize| match candidate {
        0 => others.iter().filter(|other| other.plan.options == *options).count() == 1,
        _ => others.iter().filter(|other| other.plan.target == session.plan.target).count() == 1,
    };
    let chosen = (0..candidates.len()).find(|&candidate| unique(candidate));
    let numbered = || format!("{name} #{}", place.map_or(0, |place| place + 1));
    chosen.map_or_else(numbered, |candidate| candidates[candidate].clone())
}
