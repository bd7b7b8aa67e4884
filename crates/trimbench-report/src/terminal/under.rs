//! Figures of the same kind under different conditions as tables: `p99-under-paced` is in the row
//! of `paced` and the column that its title names before `, under`. There are as many tables as the
//! width requires.

use trimbench_results::Figure;

use super::headlines::verdict;
use super::joined;
use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// What separates column and row in an id, and in a title.
const IN_ID: &str = "-under-";
const IN_TITLE: &str = ", under ";

/// A column: its key in ids, and its title.
type Key<'a> = (&'a str, &'a str);

/// Row and column of a figure; `None` for one that stands in none of these tables.
fn place(figure: &Figure) -> Option<(&str, Key<'_>)> {
    let (key, row) = figure.id.split_once(IN_ID)?;
    let (title, _) = figure.title.split_once(IN_TITLE)?;
    Some((row, (key, title)))
}

/// The figure's row in these tables.
pub(super) fn row(figure: &Figure) -> Option<&str> {
    place(figure).map(|(row, _)| row)
}

/// Whether the figure stands in one of the tables.
pub(super) fn holds(figure: &Figure) -> bool {
    place(figure).is_some()
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let pivot = Pivot::of(figures, place);
    let grid = |columns: &[Key], remarks: bool| {
        let mut head = vec![GridColumn::text("under")];
        head.extend(columns.iter().map(|(_, title)| GridColumn::number(title)));
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
