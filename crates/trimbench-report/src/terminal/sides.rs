//! Compares the figures of both mount options, with the change caused by `discard`: the form of the
//! tables of \[S0\], a table for each buffering.

use MetricAxis::{Buffering, Side};
use trimbench_results::{Coordinates, Figure, MetricAxis, Verdict};

use super::headlines::{common_level, interval, interval_name, verdict};
use super::joined;
use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// The two tables: the place on their axis, and the title.
const TABLES: [(&str, &str); 2] =
    [("buffered", "BUFFERING ENABLED"), ("unbuffered", "BUFFERING DISABLED")];
/// The columns likewise.
const SIDES: [(&str, &str); 3] =
    [("nodiscard", "NODISCARD"), ("discard", "DISCARD"), ("diff", "DIFF")];
/// The last of them.
const DIFFERENCE: usize = 2;

/// Table, row and column of a figure that stands in one of the tables; `None` for others.
fn place(figure: &Figure) -> Option<(usize, Coordinates, usize)> {
    let index = |axis, places: &[(&str, &str)]| {
        let found = figure.coordinates.key(axis)?;
        places.iter().position(|(key, _)| *key == found)
    };
    let (table, side) = (index(Buffering, &TABLES)?, index(Side, &SIDES)?);
    Some((table, figure.coordinates.without(&[Buffering, Side]), side))
}

/// Whether the figure stands in one of the tables.
pub(super) fn holds(figure: &Figure) -> bool {
    place(figure).is_some()
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let tables = TABLES.iter().enumerate().filter_map(|(index, (_, title))| {
        let of_table = Pivot::of(figures, |figure| {
            place(figure).filter(|(found, ..)| *found == index).map(|(_, row, side)| (row, side))
        });
        (!of_table.rows.is_empty()).then(|| table(title, &of_table, notes, style))
    });
    tables.collect::<Vec<_>>().join(&String::new())
}

fn table(
    title: &str,
    sides: &Pivot<Coordinates, usize>,
    notes: &Notes,
    style: Style,
) -> Vec<String> {
    let difference = |row| sides.figure(row, &DIFFERENCE);
    let level = common_level(sides.rows.iter().filter_map(difference));
    let mut columns = vec![GridColumn::text(title)];
    columns.extend(SIDES.map(|(_, title)| GridColumn::number(title)));
    columns.extend([GridColumn::number(&interval_name(level)), GridColumn::text("note")]);
    let mut grid = Grid::new(columns);
    for row in &sides.rows {
        let mut cells = vec![row.phrase()];
        cells.extend(sides.cells(row, &[0, 1, DIFFERENCE], value));
        let difference = difference(row);
        cells.push(difference.map_or_else(String::new, |it| interval(it, &it.shown(), level)));
        let told = difference.filter(|it| it.verdict != Some(Verdict::Differs));
        let word = told.map(verdict).unwrap_or_default();
        cells.push(joined([word, sides.marks(row, notes)]));
        grid.row(cells);
    }
    grid.render(style)
}

fn value(figure: &Figure) -> String {
    figure.shown().quantity()
}
