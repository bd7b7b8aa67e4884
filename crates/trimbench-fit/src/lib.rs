//! Finds the values of a profile with which an emulated drive, the *twin*, gives the figures that
//! methods measured on a drive; says how well each value is known, and predicts what was not
//! measured.
//!
//! The twin is a scaling: it has a capacity of a few GiB, whatever the drive has. Its sessions are
//! those of the record; what depends on the capacity is left out, unless the two are the same.
//!
//! [`observed`] has the figures, [`parameter`] the values that are searched for, [`twin`] runs the
//! sessions, [`search`] finds where the best values are and [`surface`] the best ones, [`interval`]
//! says how well they are known, [`choice`] which methods are worth running at all.

pub mod choice;
pub mod error;
pub mod fit;
pub mod interval;
pub mod observed;
pub mod parameter;
pub mod report;
pub mod search;
pub mod twin;
pub mod what_if;

mod linear;
pub mod surface;

#[cfg(test)]
mod tests;

pub use choice::{Candidate, MethodChoice, choose};
pub use error::{FitError, RowFlaw};
pub use fit::{FitOptions, fit};
pub use observed::{FigureName, Observations, Observed, TwinScaling, TwinSession, UnusableSession};
pub use parameter::Parameter;
pub use report::{Fit, FittedFigure, FittedParameter, Use};
pub use twin::{Outside, SessionProblem, Twin, TwinPoint};
pub use what_if::{Endurance, Estimate, FreeSpace, what_if};
