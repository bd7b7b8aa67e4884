//! The curves of a session's steps: those of one kind on common axes, a line each.

use std::collections::BTreeMap;

use trimbench_results::{Series, Session};

use crate::grid::GAP;
use crate::number::quantity;
use crate::style::Style;
use crate::terminal::picture::{Extreme, level_strips, time_axis};

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
    kinds.iter().flat_map(|(kind, curves)| strips(kind, curves, style)).collect()
}

/// The curves of one kind, each with its step and its extreme.
fn strips(kind: &str, curves: &[(&str, &Series)], style: Style) -> Vec<String> {
    let shown = &curves[..curves.len().min(LINES_MAX)];
    let (x_unit, y_unit) = (&shown[0].1.x_unit, &shown[0].1.y_unit);
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
    let third = style.columns() / 3;
    let names: Vec<String> =
        shown.iter().map(|(step, _)| style.cut_middle(&style.clean(step), third)).collect();
    let values: Vec<String> = shown.iter().map(|(_, series)| value(series)).collect();
    let length = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max();
    let name_width = length(&names).unwrap_or(0);
    let value_width = length(&values).unwrap_or(0).max(word.len());
    let width = style.columns().saturating_sub(name_width + value_width + 2 * GAP).max(1);
    let series: Vec<&Series> = shown.iter().map(|(_, series)| *series).collect();
    let Some((strips, ends)) = level_strips(&series, width, extreme, style.unicode) else {
        return Vec::new();
    };
    let line = |name: &str, curve: &str, value: &str| {
        let line =
            format!("{name:name_width$}{:GAP$}{curve:width$}{:GAP$}{value:>value_width$}", "", "");
        line.trim_end().chars().take(style.columns()).collect::<String>()
    };
    let more = match curves.len() - shown.len() {
        0 => String::new(),
        more => format!("; {more} more in the record"),
    };
    let kind = style.clean(kind);
    let title = format!("{kind}: the {word} of each column, from 0 on one scale{more}");
    let mut lines = vec![String::new()];
    lines.extend(style.labelled("", 0, &title));
    lines.push(line("", &time_axis(ends, &style.clean(x_unit), width, 0), word));
    lines.extend(
        names
            .iter()
            .zip(&strips)
            .zip(&values)
            .map(|((name, strip), value)| line(name, strip, value)),
    );
    lines
}
