//! Run records in; text for people and tables for programs out.
//!
//! [`terminal()`] is the report that closes a run: what was measured on what, the headline of every
//! session, the picture of the largest deletion, every caveat with its advice, and in full
//! [`Detail`] the other figures with their intervals. [`csv()`] is the same record as long tables.
//! [`sparkline`] is one line of a curve, for progress displays; [`Grid`] lays out any other table.
//!
//! Nothing is computed here that is not in the record, and nothing is printed here: the caller gets
//! strings. Text from records is cleaned of control characters before it is shown.

mod chart;
mod csv;
mod grid;
mod number;
#[cfg(test)]
mod samples;
mod style;
mod terminal;

pub use chart::sparkline;
pub use csv::csv;
pub use grid::{Column, Grid};
pub use number::{quantity, significant};
pub use style::Style;
pub use terminal::{Detail, terminal};
