//! A line or two about each session in the summary of a run: its largest deletion, its target.

use trimbench_results::{RunRecord, Session};

use super::headlines::Group;
use super::names::label;
use super::strips::{Strip, Strips};
use super::{PICTURED, deleted, largest_deletion};
use crate::grid::GAP;
use crate::number::quantity;
use crate::style::Style;

/// The largest deletion of every session of the group, on common axes, with its moment marked.
pub(super) fn pictures(record: &RunRecord, group: &Group, style: Style) -> Vec<String> {
    let strips = group.sessions().filter_map(|session| strip(record, session, style)).collect();
    let Some(strips) = Strips::of(strips, "longest", style) else { return Vec::new() };
    let (drawn, factor) = strips.columns.by_factor(&strips.series(), style.unicode);
    let scale = format!(
        "Largest deletion: longest response per column; each step up is {factor} times longer"
    );
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &scale));
    lines.extend(strips.render(&drawn, style));
    lines
}

/// One line for each target, and the state once if all were in the same.
pub(super) fn targets(record: &RunRecord, style: Style) -> Vec<String> {
    let mut sessions: Vec<&Session> = Vec::new();
    for session in &record.sessions {
        let same = |known: &&Session| {
            known.plan.target == session.plan.target
                && label(record, known) == label(record, session)
        };
        if !sessions.iter().any(same) {
            sessions.push(session);
        }
    }
    let [first, ..] = sessions.as_slice() else { return Vec::new() };
    let common = sessions.iter().all(|session| session.state == first.state);
    let name = |session: &Session| style.cut_middle(&label(record, session), style.columns() / 3);
    let names: Vec<String> = sessions.iter().copied().map(name).collect();
    let indent = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + GAP;
    let mut lines = vec![String::new(), style.heading("Targets")];
    for (session, name) in sessions.iter().zip(&names) {
        let mut parts = vec![kind(session)];
        if !common {
            parts.push(session.state.clone());
        }
        let identity = &session.target.identity;
        // What a drive is in words says more than hashes and serial numbers.
        let summary = identity.get("summary").cloned().into_iter();
        let others = identity.iter().filter(|(key, value)| {
            *key != "summary" && !session.target.name.contains(value.as_str())
        });
        parts.extend(summary.chain(others.map(|(key, value)| format!("{key} {value}"))));
        let room = style.columns().saturating_sub(indent);
        let text = style.cut(&parts.join("; "), room);
        lines.push(format!("{name:indent$}{text}").trim_end().to_owned());
    }
    if common {
        lines.extend(style.labelled("", 0, &format!("State of all: {}", first.state)));
    }
    lines
}

/// The kind, and how much of an emulated drive is not known from sources.
fn kind(session: &Session) -> String {
    let kind = &session.target.kind;
    let Some(provenance) = session.target.provenance else { return kind.clone() };
    let (values, set) = (provenance.total(), provenance.set_by_the_user());
    let fitted = match provenance.fitted {
        0 => String::new(),
        fitted => format!(", {fitted} fitted"),
    };
    format!("{kind}, {} of {values} values assumed{fitted}{set}", provenance.assumed)
}

fn strip<'a>(record: &RunRecord, session: &'a Session, style: Style) -> Option<Strip<'a>> {
    let room = style.columns() / 3;
    let step = largest_deletion(session)?;
    let series = &step.series[PICTURED];
    let longest = series.y.iter().flatten().copied().max_by(f64::total_cmp)?;
    Some(Strip {
        name: style.cut_middle(&label(record, session), room),
        series,
        extreme: style.cut(&quantity(longest, &series.y_unit), room),
        mark: Some(deleted(step)),
    })
}
