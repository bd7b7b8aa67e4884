//! What a target is, for the record.

use std::collections::BTreeMap;

use trimbench_core::Caveat;
use trimbench_ssd::OriginCounts;

/// What a target is, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Short name.
    pub name: String,
    /// `emulated`, `directory`, `device`, `image` or `filesystem`.
    pub kind: &'static str,
    /// What tells it from others.
    pub identity: BTreeMap<String, String>,
    /// The condition that it was put into, or found in, and how.
    pub state: String,
    /// Where an emulated drive's values come from.
    pub provenance: Option<OriginCounts>,
    /// The one method through which those values were fitted, if that is so.
    pub calibrated_through: Option<String>,
    /// Caveats on everything measured on it.
    pub caveats: Vec<Caveat>,
}

/// A target in a stated condition, and what it is.
#[derive(Debug)]
pub struct Provisioned<T> {
    /// The target.
    pub target: T,
    /// What it is.
    pub description: Description,
}
