//! Turns run records into text for people and tables for programs.
//!
//! [`terminal()`] is the report at the end of a run: targets and measurements, the headline of
//! every session, the picture of the largest deletion, every caveat with its advice, and in full
//! [`Detail`] the other figures with their intervals. [`csv()`] is the same record as long tables,
//! [`markdown()`] a text for an issue, [`junit()`] a file for systems that show results of tests.
//! [`sparkline`] is one line of a curve, for progress displays; [`Grid`] lays out any other table.
//!
//! [`page()`] is the HTML page, with the charts that methods make of their sessions. No method is
//! known here by name: [`MethodViews`] has what a method says of how it is shown.
//!
//! Nothing is computed here that is not in the record, and nothing is printed here: the caller gets
//! strings. Text from records is cleaned of control characters before it is shown.

mod csv;
mod files;
mod grid;
mod junit;
mod labels;
mod markdown;
mod method;
mod page;
mod source;
mod style;
mod svg;
mod terminal;
#[cfg(test)]
mod testing;
mod words;

use trimbench_results::number;

pub use csv::{csv, csv_in_order};
pub use files::{CONTEXT_MARK, FIGURE_MARK, PAGE_MARK, figure_files, header_line};
pub use grid::{Grid, GridColumn};
pub use junit::{JUNIT_MARK, JudgedLimit, junit};
pub use markdown::{MARKDOWN_MARK, markdown};
pub use method::{MethodView, MethodViews};
pub use page::{PageContext, VerdictSection, page};
pub use source::PageSource;
pub use style::Style;
pub use svg::DrawError;
pub use terminal::{Detail, sparkline, terminal, terminal_in_order};
pub use words::effect_words;
