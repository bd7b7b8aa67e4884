//! Labels that distinguish the sessions of a run in one line.

use trimbench_results::{RunRecord, Session};

/// The target's name; where several sessions of a method share it, with the options that differ, or
/// as the user named it, or with its number in the run.
pub(super) fn label(record: &RunRecord, session: &Session) -> String {
    let name = &session.target.name;
    let alike =
        |other: &&Session| other.plan.method == session.plan.method && other.target.name == *name;
    let others: Vec<&Session> = record.sessions.iter().filter(alike).collect();
    if others.len() < 2 {
        return name.clone();
    }
    let plan = &session.plan;
    let sharing = |same: &dyn Fn(&Session) -> bool| others.iter().filter(|o| same(o)).count();
    if sharing(&|other| other.plan.options == plan.options) == 1 {
        let differs = |key: &str, value: &String| {
            others.iter().any(|other| other.plan.options.get(key) != Some(value))
        };
        let differing = plan.options.iter().filter(|(key, value)| differs(key, value));
        let differing: Vec<String> =
            differing.map(|(key, value)| format!("{key} {value}")).collect();
        return format!("{name} {}", differing.join(", ")).trim_end().to_owned();
    }
    if sharing(&|other| other.plan.target == plan.target) == 1 {
        return plan.target.clone();
    }
    let place = record.sessions.iter().position(|other| std::ptr::eq(other, session));
    format!("{name} #{}", place.map_or(0, |place| place + 1))
}
