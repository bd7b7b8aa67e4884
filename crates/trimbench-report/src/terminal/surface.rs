//! Figures over a plane as a table: a row for each amount that was written before, a column for
//! each that was trimmed.

use MetricAxis::{Trimmed, Written};
use trimbench_core::Caveat;
use trimbench_results::{Figure, MetricAxis};

use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// A percentage, and how it is shown.
type Percent<'a> = (u32, &'a str);

/// How much was written before and how much was trimmed; `None` for a figure that stands on no
/// plane.
fn place(figure: &Figure) -> Option<(Percent<'_>, Percent<'_>)> {
    let percent = |axis| {
        let at = &figure.coordinates;
        Some((at.key(axis)?.parse().ok()?, at.words(axis)?))
    };
    Some((percent(Written)?, percent(Trimmed)?))
}

/// Whether the figure stands on a plane.
pub(super) fn holds(figure: &Figure) -> bool {
    place(figure).is_some()
}

/// The table of figures that all stand on one plane.
pub(super) fn table(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let Some(first) = figures.first() else { return Vec::new() };
    let mut plane = Pivot::of(figures, place);
    plane.rows.sort_unstable();
    plane.columns.sort_unstable();
    let title = first.coordinates.without(&[Trimmed, Written]).phrase();
    let mut head = vec![GridColumn::text(&title)];
    head.extend(plane.columns.iter().map(|(_, trimmed)| GridColumn::number(trimmed)));
    let marked = figures.iter().any(|figure| !figure.caveats.is_empty());
    head.extend(marked.then(|| GridColumn::text("note")));
    let mut grid = Grid::new(head);
    for written in &plane.rows {
        let mut cells = vec![written.1.to_owned()];
        cells.extend(plane.cells(written, &plane.columns, cell));
        cells.push(plane.marks(written, notes));
        grid.row(cells);
    }
    grid.render(style)
}

/// The value, or that it is more than that.
fn cell(figure: &Figure) -> String {
    let value = figure.shown().quantity();
    let open = figure.caveats.iter().any(|id| *id == Caveat::WindowTooShort.id());
    if open { format!("> {value}") } else { value }
}
