//! Figures over a plane as a table: `settling-trimmed-50-written-100` is in the column of 50 %
//! trimmed and the row of 100 % written before.

use trimbench_core::Caveat;
use trimbench_results::Figure;

use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// How much was written before and how much was trimmed, in percent; `None` for a figure that
/// stands on no plane.
fn place(figure: &Figure) -> Option<(u32, u32)> {
    let (_, places) = figure.id.split_once("-trimmed-")?;
    let (trimmed, written) = places.split_once("-written-")?;
    Some((written.parse().ok()?, trimmed.parse().ok()?))
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
    let title = first.title.split(',').next().unwrap_or_default();
    let mut head = vec![GridColumn::text(title)];
    let trimmed = plane.columns.iter();
    head.extend(trimmed.map(|trimmed| GridColumn::number(&format!("{trimmed} % trimmed"))));
    let marked = figures.iter().any(|figure| !figure.caveats.is_empty());
    head.extend(marked.then(|| GridColumn::text("note")));
    let mut grid = Grid::new(head);
    for written in &plane.rows {
        let mut cells = vec![format!("{written} % written before")];
        cells.extend(plane.cells(*written, &plane.columns, cell));
        cells.push(plane.marks(*written, notes));
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
