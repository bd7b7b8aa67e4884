//! Turns the text of `--target` into a target in a stated condition.
//!
//! A [`TargetSpec`] is the meaning of the text; it opens nothing. [`TargetSpec::open`] makes or
//! opens the target and says how its condition was established. Methods do not know what kind of
//! target they run on.

mod description;
mod device;
mod directory;
mod emulated;
mod error;
mod modelled;
mod opened;
mod options;
mod queue;
mod real;
mod scratch;
mod spec;

pub use description::{Description, Provisioned};
pub use device::{DeviceOutlook, holds_file, inspect_device};
pub use emulated::{
    EmulatedDrive, EmulatedDrives, EmulatedSpec, find_profile, open_drive, profile_keys,
};
pub use error::TargetError;
pub use modelled::pool::{ModelledPools, PoolSpec};
pub use modelled::{ModelledFilesystems, ModelledSpec};
pub use opened::{OpenTarget, Opening, Watch};
pub use options::EMULATED;
pub use real::RealSpec;
pub use scratch::ScratchSpec;
pub use spec::{TargetSpec, target_prefixes};
pub use trimbench_claim::Consent;
pub use trimbench_linux::passthrough::PurgeChoice;
