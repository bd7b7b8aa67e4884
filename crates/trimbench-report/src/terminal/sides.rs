//! Figures of both mount options side by side, with what `discard` changes: the form of the tables
//! of \[S0\], a table for each buffering.

use trimbench_results::Figure;

use super::headlines::{common_level, interval, interval_name, verdict};
use super::notes::Notes;
use crate::grid::{Column, Grid};
use crate::number::significant;
use crate::style::Style;

#[cfg(test)]
mod tests;

/// The two tables: how a buffering ends the ids of its figures, and the title.
const TABLES: [(&str, &str); 2] =
    [("-buffered", "BUFFERING ENABLED"), ("-unbuffered", "BUFFERING DISABLED")];
/// How a column ends what is left of an id, and its title; longer endings first.
const SIDES: [(&str, &str); 3] =
    [("-nodiscard", "NODISCARD"), ("-discard", "DISCARD"), ("-diff", "DIFF")];

/// A metric in one table.
struct Row<'a> {
    id: &'a str,
    title: &'a str,
    figures: [Option<&'a Figure>; SIDES.len()],
}

/// Table, row and column of a figure that stands in one of the tables; `None` for others.
fn place(figure: &Figure) -> Option<(usize, &str, usize)> {
    let in_table = |(index, (end, _)): (usize, &(&str, &str))| {
        figure.id.strip_suffix(end).map(|rest| (index, rest))
    };
    let (table, rest) = TABLES.iter().enumerate().find_map(in_table)?;
    let of_side =
        |(index, (end, _)): (usize, &(&str, &str))| rest.strip_suffix(end).map(|row| (row, index));
    let (row, side) = SIDES.iter().enumerate().find_map(of_side)?;
    Some((table, row, side))
}

/// Whether the figure stands in one of the tables.
pub(super) fn is_side(figure: &Figure) -> bool {
    place(figure).is_some()
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, (_, title)) in TABLES.iter().enumerate() {
        let rows = rows(figures, index);
        if rows.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(table(title, &rows, notes, style));
    }
    lines
}

/// The rows of a table, in the order of their first figures.
fn rows<'a>(figures: &[&'a Figure], table: usize) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for figure in figures {
        let Some((_, id, side)) = place(figure).filter(|(found, ..)| *found == table) else {
            continue;
        };
        let at = rows.iter().position(|row| row.id == id).unwrap_or_else(|| {
            let title = figure.title.rsplit_once(", ").map_or(&figure.title[..], |(name, _)| name);
            rows.push(Row { id, title, figures: [None; SIDES.len()] });
            rows.len() - 1
        });
        rows[at].figures[side] = Some(figure);
    }
    rows
}

fn table(title: &str, rows: &[Row], notes: &Notes, style: Style) -> Vec<String> {
    let differences = || rows.iter().filter_map(|row| row.figures[SIDES.len() - 1]);
    let level = common_level(differences());
    let mut columns = vec![Column::text(title)];
    columns.extend(SIDES.map(|(_, title)| Column::number(title)));
    columns.extend([Column::number(&interval_name(level)), Column::text("note")]);
    let mut grid = Grid::new(columns);
    for Row { title, figures, .. } in rows {
        let mut cells = vec![(*title).to_owned()];
        cells.extend(figures.map(|figure| figure.map_or_else(|| "-".to_owned(), value)));
        let difference = figures[SIDES.len() - 1];
        cells.push(
            difference.map_or_else(String::new, |figure| interval(figure, level, significant)),
        );
        let word = difference.map(verdict).filter(|word| word != "differs").unwrap_or_default();
        let marks = notes.marks(figures.iter().flatten().flat_map(|figure| &figure.caveats));
        let remark = [word, marks].into_iter().filter(|text| !text.is_empty());
        cells.push(remark.collect::<Vec<_>>().join("; "));
        grid.row(cells);
    }
    grid.render(style)
}

/// With the two digits of \[S0\].
fn value(figure: &Figure) -> String {
    let percent = if figure.unit == "%" { "%" } else { "" };
    format!("{:.2}{percent}", figure.value)
}
