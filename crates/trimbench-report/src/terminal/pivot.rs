//! Pivot tables: a figure's coordinates are its row and its column. Each table names the axes that
//! it takes.

use trimbench_results::Figure;

use super::notes::Notes;

/// Figures by row and column; rows and columns in the order of their first figures.
pub(super) struct Pivot<'a, R, C> {
    pub(super) rows: Vec<R>,
    pub(super) columns: Vec<C>,
    placed: Vec<(R, C, &'a Figure)>,
}

impl<'a, R: Clone + PartialEq, C: Clone + PartialEq> Pivot<'a, R, C> {
    /// A table of the figures for which `place` returns a row and a column.
    pub(super) fn of(figures: &[&'a Figure], place: impl Fn(&'a Figure) -> Option<(R, C)>) -> Self {
        let (mut rows, mut columns, mut placed) = (Vec::new(), Vec::new(), Vec::new());
        for figure in figures {
            let Some((row, column)) = place(figure) else { continue };
            if !rows.contains(&row) {
                rows.push(row.clone());
            }
            if !columns.contains(&column) {
                columns.push(column.clone());
            }
            placed.push((row, column, *figure));
        }
        Self { rows, columns, placed }
    }

    /// The figures of a row.
    pub(super) fn row(&self, row: &R) -> impl Iterator<Item = &'a Figure> + Clone {
        self.placed.iter().filter(move |(of, ..)| of == row).map(|(.., figure)| *figure)
    }

    /// The first figure in a cell.
    pub(super) fn figure(&self, row: &R, column: &C) -> Option<&'a Figure> {
        let found = self.placed.iter().find(|(r, c, _)| (r, c) == (row, column));
        found.map(|(.., figure)| *figure)
    }

    /// The texts of a row's cells; `-` where there is no figure.
    pub(super) fn cells(
        &self,
        row: &R,
        columns: &[C],
        text: impl Fn(&Figure) -> String,
    ) -> Vec<String> {
        let cell = |column: &C| self.figure(row, column).map_or("-".to_owned(), &text);
        columns.iter().map(cell).collect()
    }

    /// The numbers of the caveats on a row's figures.
    pub(super) fn marks(&self, row: &R, notes: &Notes) -> String {
        notes.marks(self.row(row).flat_map(|figure| &figure.caveats))
    }
}
