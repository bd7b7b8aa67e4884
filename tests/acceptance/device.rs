//! Claims about block devices and emulated drives: measurements are right, and nobody's data is
//! lost.

pub(super) mod arrival;
pub(super) mod discards;
pub(super) mod drives;
pub(super) mod endings;
mod integrity;
pub(super) mod peer;
pub(super) mod refusals;
pub(super) mod steady;

/// Every method: what a claim says of "each method" is said of these.
const METHODS: [&str; 6] =
    ["delete-stall", "trim-sweep", "idle-trim", "recovery", "steady-state", "trim-integrity"];
