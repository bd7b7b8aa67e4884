//! A line for each session: its largest deletion.

use trimbench_results::{DeletionStep, RunRecord, Session};

use super::headlines::Group;
use super::names::label;
use super::strips::{Strip, Strips};
use super::{deleted, largest_deletion};
use crate::number::quantity;
use crate::style::Style;

/// The largest deletion of every session of the group, on common axes, with its moment marked.
pub(super) fn pictures(record: &RunRecord, group: &Group, style: Style) -> Vec<String> {
    let largest = group.sessions().filter_map(|it| Some((it, largest_deletion(it)?)));
    let largest: Vec<_> = largest.collect();
    let strips = largest.iter().filter_map(|(session, it)| strip(record, session, it, style));
    let Some(strips) = Strips::of(strips.collect(), "longest", style) else { return Vec::new() };
    let (drawn, factor) = strips.columns.by_factor(&strips.series(), style.unicode);
    let scale = format!(
        "Largest deletion: longest response per column; each step up is {factor} times longer"
    );
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &scale));
    lines.extend(strips.render(&drawn, style));
    lines
}

fn strip<'a>(
    record: &RunRecord,
    session: &Session,
    deletion: &'a DeletionStep,
    style: Style,
) -> Option<Strip<'a>> {
    let room = style.columns() / 3;
    let series = deletion.response_max.as_ref()?;
    let longest = series.y.iter().flatten().copied().max_by(f64::total_cmp)?;
    Some(Strip {
        name: style.cut_middle(&label(record, session), room),
        series,
        extreme: style.cut(&quantity(longest, &series.y_unit), room),
        mark: Some(deleted(deletion)),
    })
}
