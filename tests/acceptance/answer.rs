//! Claims about what a user meets: mistakes that are answered, an honest clock, and one unit and
//! one rounding for each figure.

pub(super) mod clock;
pub(super) mod formats;
pub(super) mod mistakes;
