//! Turns run records into text for people and tables for programs.
//!
//! [`terminal()`] is the report at the end of a run: targets and measurements, the headline of
//! every session, the picture of the largest deletion, every caveat with its advice, and in full
//! [`Detail`] the other figures with their intervals. [`csv()`] is the same record as long tables,
//! [`markdown()`] a text for an issue, [`junit()`] a file for systems that show results of tests,
//! [`items()`] lines for programs.
//! [`sparkline`] is one line of a curve, for progress displays; [`Grid`] lays out any other table.
//!
//! [`page()`] is the HTML page, with the charts that methods make of their sessions. No method is
//! known here by name: [`MethodViews`] has what a method says of how it is shown.
//!
//! Nothing is printed here: the caller gets strings. A record may be anybody's. So advice is never
//! read from it but computed by the rules of this version, and its texts are made harmless for
//! where they are shown: hidden characters become escapes, and each format escapes what has a
//! meaning in it.

mod csv;
mod drive_counts;
mod files;
mod grid;
mod items;
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
pub use items::items;
pub use junit::{JUNIT_MARK, junit};
pub use markdown::{MARKDOWN_END, MARKDOWN_MARK, markdown};
pub use method::{MethodView, MethodViews};
pub use page::{PageContext, VerdictSection, page};
pub use source::PageSource;
pub use style::Style;
pub use svg::DrawError;
pub use terminal::{Detail, sparkline, terminal, terminal_in_order};
pub use words::effect_words;
