//! Compares ways to trim with none: a table for each way, with what it adds and the smallest
//! difference that would have been found.

use MetricAxis::{Arm, Buffering, Side};
use trimbench_results::{Coordinates, Figure, MetricAxis};

use super::headlines::{common_level, interval, interval_name, verdict};
use super::joined;
use super::notes::Notes;
use super::pivot::Pivot;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

#[cfg(test)]
mod tests;

/// The places on the axis of sides, and what their columns are called.
const SIDES: [(&str, &str); 4] = [
    ("nodiscard", "NODISCARD"),
    ("with", "WITH"),
    ("added", "ADDED"),
    ("found-from", "FOUND FROM"),
];
/// Blanks before what is made of a difference, below its row.
const REMARK_INDENT: usize = 4;
/// Those of the differences.
const ADDED: usize = 2;

/// Row and column of a figure in the table of this way; `None` if it does not stand there.
fn place(figure: &Figure, arm: &str) -> Option<(Coordinates, usize)> {
    let coordinates = &figure.coordinates;
    let side = coordinates.key(Side)?;
    let side = SIDES.iter().position(|(key, _)| *key == side)?;
    let is_of_arm = match coordinates.key(Arm) {
        Some(of) => of == arm,
        // What all ways are compared with.
        None => side == 0 && coordinates.key(Buffering).is_none(),
    };
    is_of_arm.then(|| (coordinates.without(&[Arm, Side]), side))
}

/// The ways that these figures speak of, with what they are called.
fn arms<'a>(figures: &[&'a Figure]) -> Vec<(&'a str, &'a str)> {
    let mut arms: Vec<(&str, &str)> = Vec::new();
    for figure in figures {
        let coordinates = &figure.coordinates;
        if let Some(arm) = coordinates.key(Arm).zip(coordinates.words(Arm))
            && !arms.contains(&arm)
        {
            arms.push(arm);
        }
    }
    arms
}

/// Whether the figure stands in one of the tables.
pub(super) fn holds(figure: &Figure) -> bool {
    let arm = figure.coordinates.key(Arm).unwrap_or_default();
    place(figure, arm).is_some()
}

/// The tables of all these figures.
pub(super) fn tables(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let tables = arms(figures).into_iter().map(|(arm, words)| {
        let of_arm = Pivot::of(figures, |figure| place(figure, arm));
        table(words, &of_arm, notes, style)
    });
    tables.collect::<Vec<_>>().join(&String::new())
}

fn table(arm: &str, sides: &Pivot<Coordinates, usize>, notes: &Notes, style: Style) -> Vec<String> {
    let difference = |row| sides.figure(row, &ADDED);
    let level = common_level(sides.rows.iter().filter_map(difference));
    let mut columns = vec![GridColumn::text(arm)];
    columns.extend(SIDES[..=ADDED].iter().map(|(_, title)| GridColumn::number(title)));
    columns.push(GridColumn::number(&interval_name(level)));
    columns.extend(SIDES[ADDED + 1..].iter().map(|(_, title)| GridColumn::number(title)));
    let mut grid = Grid::new(columns);
    let value = |figure: &Figure| figure.shown().quantity();
    for row in &sides.rows {
        let Some(added) = difference(row) else { continue };
        let mut cells = vec![row.phrase()];
        cells.extend(sides.cells(row, &[0, 1, ADDED], value));
        cells.push(interval(added, &added.shown(), level));
        cells.extend(sides.cells(row, &[ADDED + 1], value));
        grid.row(cells);
        let marks = sides.marks(row, notes);
        let note = if marks.is_empty() { marks } else { format!("note {marks}") };
        let remark = joined([verdict(added), note]);
        if !remark.is_empty() {
            grid.span(REMARK_INDENT, remark);
        }
    }
    grid.render(style)
}
