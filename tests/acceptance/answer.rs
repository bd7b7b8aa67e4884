//! Claims about what a user meets: mistakes that are answered, and an honest clock.

pub(super) mod clock;
pub(super) mod mistakes;
