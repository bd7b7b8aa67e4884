//! Turns run records into text for people and tables for programs.
//!
//! [`terminal()`] is the report at the end of a run: targets and measurements, the headline of
//! every session, the picture of the largest deletion, every caveat with its advice, and in full
//! [`Detail`] the other figures with their intervals. [`csv()`] is the same record as long tables.
//! [`sparkline`] is one line of a curve, for progress displays; [`Grid`] lays out any other table.
//!
//! Nothing is computed here that is not in the record, and nothing is printed here: the caller gets
//! strings. Text from records is cleaned of control characters before it is shown.

mod chart;
mod csv;
mod entries;
mod files;
mod grid;
mod number;
mod page;
mod pictures;
mod style;
mod svg;
mod terminal;
#[cfg(test)]
mod testing;
mod words;

pub use chart::{Axis, Chart, ChartKind, ChartSeries, Mark, Scale};
pub use csv::csv;
pub use files::{CONTEXT_MARK, FIGURE_MARK, PAGE_MARK, figure_files, header_line};
pub use grid::{Grid, GridColumn};
pub use number::{quantity, significant};
pub use page::{PageContext, PageSource, VerdictSection, page};
pub use style::Style;
pub use svg::DrawError;
pub use terminal::{Detail, sparkline, terminal};
pub use words::effect_words;
