//! Claims about what a user meets: the answer first, mistakes that are answered, an honest clock,
//! and one unit and one rounding for each figure.

pub(super) mod clock;
pub(super) mod first_lines;
pub(super) mod formats;
pub(super) mod mistakes;
pub(super) mod readme;
