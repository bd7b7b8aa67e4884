//! Turns the text of `--target` into a target in a stated condition.
//!
//! A [`TargetSpec`] is the meaning of the text; it opens nothing. [`TargetKind::outlook`] says what
//! is known of it so far, [`TargetKind::open`] makes or opens the target and says how its condition
//! was established. Methods do not know what kind of target they run on; nor do plans.

mod attached;
mod description;
mod error;
mod kinds;
mod opened;
mod options;
mod outlook;
mod queue;
mod spec;

pub use attached::{AnswerLateness, AnswerTimes};
pub use description::{Description, Provisioned};
pub use error::TargetError;
pub use kinds::emulated::{
    EmulatedDrive, EmulatedDrives, EmulatedSpec, find_profile, open_drive, profile_keys,
};
pub use kinds::modelled::{ModelledFilesystems, ModelledSpec};
pub use kinds::scratch::ScratchSpec;
pub use kinds::{KINDS, TargetKind, TargetKindInfo, target_prefixes};
pub use opened::{OpenTarget, Opening, Watch};
pub use options::EMULATED;
pub use outlook::TargetOutlook;
pub use spec::TargetSpec;
pub use trimbench_claim::Consent;
pub use trimbench_linux::passthrough::PurgeChoice;
