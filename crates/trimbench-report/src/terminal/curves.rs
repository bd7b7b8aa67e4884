//! The curves of a session's steps: those of one kind on common axes, a line each.

use std::collections::BTreeMap;

use trimbench_results::{Series, Session};

use super::picture::Extreme;
use super::strips::{Strip, Strips};
use crate::number::quantity;
use crate::style::Style;

#[cfg(test)]
mod tests;

/// Curves of one kind that are shown; the record has them all.
const LINES_MAX: usize = 8;

/// Every kind of curve of the session, in the order of their names.
pub(super) fn curves(session: &Session, style: Style) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<(&str, &Series)>> = BTreeMap::new();
    for step in &session.steps {
        for (kind, series) in &step.series {
            kinds.entry(kind).or_default().push((&step.id, series));
        }
    }
    kinds.iter().flat_map(|(kind, curves)| of_kind(kind, curves, style)).collect()
}

/// The curves of one kind, each with its step and its extreme.
fn of_kind(kind: &str, curves: &[(&str, &Series)], style: Style) -> Vec<String> {
    let shown = &curves[..curves.len().min(LINES_MAX)];
    let y_unit = &shown[0].1.y_unit;
    // A rate is bad where it is low, a time where it is high.
    let rate = y_unit.ends_with("/s") || y_unit == "IOPS";
    let (extreme, word) =
        if rate { (Extreme::Smallest, "lowest") } else { (Extreme::Largest, "highest") };
    let value = |series: &Series| {
        let values = series.y.iter().flatten().copied();
        let found = match extreme {
            Extreme::Smallest => values.min_by(f64::total_cmp),
            Extreme::Largest => values.max_by(f64::total_cmp),
        };
        found.map_or("-".to_owned(), |value| style.clean(&quantity(value, y_unit)))
    };
    let strips = shown.iter().map(|&(step, series)| Strip {
        name: style.cut_middle(step, style.columns() / 3),
        series,
        extreme: value(series),
        mark: None,
    });
    let Some(strips) = Strips::of(strips.collect(), word, style) else { return Vec::new() };
    let more = match curves.len() - shown.len() {
        0 => String::new(),
        more => format!("; {more} more in the record"),
    };
    let title = format!("{kind}: the {word} of each column, from 0 on one scale{more}");
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &title));
    let drawn = strips.columns.by_level(&strips.series(), extreme, style.unicode);
    lines.extend(strips.render(&drawn, style));
    lines
}
