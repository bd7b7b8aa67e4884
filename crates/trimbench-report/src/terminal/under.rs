//! Figures of the same kind under different policies or systems as tables: a row for each of these,
//! a column for each kind. There are as many tables as the width requires.

use trimbench_results::{Coordinates, Figure, MetricAxis};

use super::headlines::verdict;
use super::joined;
use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// The axes whose places are rows.
const ROWS: [MetricAxis; 2] = [MetricAxis::Policy, MetricAxis::System];

/// The figure's row in these tables; `None` for one that stands in none.
pub(super) fn row(figure: &Figure) -> Option<&str> {
    ROWS.iter().find_map(|axis| figure.coordinates.words(*axis))
}

/// Row and column.
fn place(figure: &Figure) -> Option<(&str, Coordinates)> {
    Some((row(figure)?, figure.coordinates.without(&ROWS)))
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let pivot = Pivot::of(figures, place);
    let grid = |columns: &[Coordinates], remarks: bool| {
        let mut head = vec![GridColumn::text("under")];
        head.extend(columns.iter().map(|column| GridColumn::number(&column.phrase())));
        head.extend(remarks.then(|| GridColumn::text("note")));
        let mut grid = Grid::new(head);
        for row in &pivot.rows {
            let mut cells = vec![(*row).to_owned()];
            cells.extend(pivot.cells(row, columns, |it| it.shown().quantity()));
            let remark = || joined(pivot.row(row).map(verdict).chain([pivot.marks(row, notes)]));
            cells.extend(remarks.then(remark));
            grid.row(cells);
        }
        grid
    };
    let (mut lines, mut rest) = (Vec::new(), &pivot.columns[..]);
    while !rest.is_empty() {
        let remarks = lines.is_empty();
        let fits =
            |count: &usize| grid(&rest[..*count], remarks).natural_width() <= style.columns();
        let count = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
        if !remarks {
            lines.push(String::new());
        }
        lines.extend(grid(&rest[..count], remarks).render(style));
        rest = &rest[count..];
    }
    lines
}
