//! Claims of the second issue: block devices and emulated drives, and nobody's data lost.

mod arrival;
mod discards;
mod drives;
mod endings;
mod integrity;
mod peer;
mod refusals;
mod steady;
mod trace;

use super::Key;

/// The key.
pub(super) const KEY: Key = Key {
    name: "device",
    title: "Real block devices, safely: sweep, idle TRIM, recovery, integrity, steady state.",
    claims: &[
        drives::CLAIM,
        arrival::CLAIM,
        peer::CLAIM,
        refusals::CLAIM,
        discards::CLAIM,
        steady::CLAIM,
        endings::CLAIM,
    ],
};

/// Every method: what a claim says of "each method" is said of these.
const METHODS: [&str; 6] =
    ["delete-stall", "trim-sweep", "idle-trim", "recovery", "steady-state", "trim-integrity"];
