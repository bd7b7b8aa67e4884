//! Figures of the same kind under different things as tables: `p99-under-paced` stands in the row
//! of `paced` and the column that its title names before `, under`. As many tables as the width
//! asks for.

use trimbench_results::Figure;

use super::headlines::verdict;
use super::notes::Notes;
use crate::grid::{Column, Grid};
use crate::number::quantity;
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

/// Whether the figure stands in one of the tables.
pub(super) fn holds(figure: &Figure) -> bool {
    place(figure).is_some()
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let placed: Vec<(&str, Key, &Figure)> = figures
        .iter()
        .filter_map(|figure| place(figure).map(|(row, column)| (row, column, *figure)))
        .collect();
    let (mut rows, mut columns): (Vec<&str>, Vec<Key>) = (Vec::new(), Vec::new());
    for &(row, column, _) in &placed {
        if !rows.contains(&row) {
            rows.push(row);
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    let grid = |columns: &[Key], remarks: bool| {
        let mut head = vec![Column::text("under")];
        head.extend(columns.iter().map(|(_, title)| Column::number(title)));
        head.extend(remarks.then(|| Column::text("note")));
        let mut grid = Grid::new(head);
        for row in &rows {
            let of_row = || placed.iter().filter(|(of, ..)| of == row);
            let cell = |(key, _): &Key| {
                let found = of_row().find(|(_, (of, _), _)| of == key);
                found.map_or("-".to_owned(), |(.., it)| quantity(it.value, &it.unit))
            };
            let mut cells = vec![(*row).to_owned()];
            cells.extend(columns.iter().map(cell));
            let words = of_row().map(|(.., figure)| verdict(figure));
            let marks = notes.marks(of_row().flat_map(|(.., figure)| &figure.caveats));
            let words: Vec<String> = words.chain([marks]).filter(|text| !text.is_empty()).collect();
            cells.extend(remarks.then(|| words.join("; ")));
            grid.row(cells);
        }
        grid
    };
    let (mut lines, mut rest) = (Vec::new(), &columns[..]);
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
