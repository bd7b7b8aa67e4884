//! Turns the text of `--target` into a target in a stated condition.
//!
//! A [`TargetSpec`] is the meaning of the text; it opens nothing. [`TargetSpec::open`] makes or
//! opens the target and says how its condition was established. Methods do not know what kind of
//! target they run on.

mod device;
mod directory;
mod emulated;
mod modelled;
mod opened;
mod real;
mod spec;

pub use device::{DeviceOutlook, holds_file, inspect_device};
pub use emulated::{EmulatedDrive, EmulatedDrives, EmulatedSpec, find_profile, open_drive};
pub use modelled::pool::{ModelledPools, PoolSpec};
pub use modelled::{ModelledFilesystems, ModelledSpec};
pub use opened::{OpenTarget, Opening, Provisioned, Watch};
pub use real::RealSpec;
pub use spec::{TargetError, TargetSpec};
pub use trimbench_linux::Consent;
pub use trimbench_linux::passthrough::PurgeChoice;

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
    /// Caveats on everything measured on it.
    pub caveats: Vec<Caveat>,
}
