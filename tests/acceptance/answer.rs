//! Claims about what a user meets: the answer first, mistakes that are answered, an honest clock.

pub(super) mod clock;
pub(super) mod first_lines;
pub(super) mod mistakes;
pub(super) mod readme;
