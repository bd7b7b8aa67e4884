//! Figures over a plane as a table: `settling-trimmed-50-written-100` stands in the column of 50 %
//! trimmed and the row of 100 % written before.

use trimbench_core::Caveat;
use trimbench_results::Figure;

use super::notes::Notes;
use crate::grid::{Column, Grid};
use crate::number::quantity;
use crate::style::Style;

#[cfg(test)]
mod tests;

/// Where a figure stands, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    trimmed: u32,
    written: u32,
}

impl Place {
    /// What the id says; `None` for a figure that stands on no plane.
    fn parse(id: &str) -> Option<Self> {
        let (_, places) = id.split_once("-trimmed-")?;
        let (trimmed, written) = places.split_once("-written-")?;
        Some(Self { trimmed: trimmed.parse().ok()?, written: written.parse().ok()? })
    }
}

/// Whether the figure stands on a plane.
pub(super) fn holds(figure: &Figure) -> bool {
    Place::parse(&figure.id).is_some()
}

/// The table of figures that all stand on one plane.
pub(super) fn surface(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let placed: Vec<(Place, &Figure)> =
        figures.iter().filter_map(|figure| Some((Place::parse(&figure.id)?, *figure))).collect();
    let Some((_, first)) = placed.first() else { return Vec::new() };
    let every = |of: fn(&Place) -> u32| {
        let mut values: Vec<u32> = placed.iter().map(|(place, _)| of(place)).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (columns, rows) = (every(|place| place.trimmed), every(|place| place.written));
    let title = first.title.split(',').next().unwrap_or_default();
    let mut head = vec![Column::text(title)];
    head.extend(columns.iter().map(|trimmed| Column::number(&format!("{trimmed} % trimmed"))));
    let marked = placed.iter().any(|(_, figure)| !figure.caveats.is_empty());
    head.extend(marked.then(|| Column::text("note")));
    let mut grid = Grid::new(head);
    for written in rows {
        let of_row = || placed.iter().filter(move |(place, _)| place.written == written);
        let cell = |trimmed: &u32| {
            let found = of_row().find(|(place, _)| place.trimmed == *trimmed);
            found.map_or("-".to_owned(), |(_, figure)| cell(figure))
        };
        let mut cells = vec![format!("{written} % written before")];
        cells.extend(columns.iter().map(cell));
        cells.push(notes.marks(of_row().flat_map(|(_, figure)| &figure.caveats)));
        grid.row(cells);
    }
    grid.render(style)
}

/// The value, or that it is more than that.
fn cell(figure: &Figure) -> String {
    let value = quantity(figure.value, &figure.unit);
    let open = figure.caveats.iter().any(|id| *id == Caveat::WindowTooShort.id());
    if open { format!("> {value}") } else { value }
}
