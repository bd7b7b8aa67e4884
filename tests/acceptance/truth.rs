//! Claims about what figures and advice are worth: baselines that hold, limits that are stated, and
//! advice that the reader can follow.

pub(super) mod advice;
pub(super) mod baselines;
pub(super) mod defaults;
pub(super) mod own_disk;
pub(super) mod quoted;
pub(super) mod seeds;
