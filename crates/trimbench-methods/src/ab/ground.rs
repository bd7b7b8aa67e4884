//! The filesystem that is switched between ways to discard, and its files.

use trimbench_core::{Files, MountDiscard, ProvisionError, Provisioner, Rejected};

use trimbench_engine::MethodError;

/// Where the method works.
pub(super) enum Ground<'a> {
    /// The user's filesystem.
    Directory(&'a mut Files<'a>),
    /// One that was made, and is mounted.
    Made(&'a mut dyn Provisioner),
}

impl Ground<'_> {
    pub(super) fn files(&mut self) -> &mut Files<'_> {
        match self {
            Self::Directory(files) => *files,
            Self::Made(provisioner) => provisioner.files(),
        }
    }

    /// The ways that it can be switched between.
    ///
    /// # Errors
    /// `Unfit` if there are none, and why.
    pub(super) fn ways(&mut self) -> Result<Vec<MountDiscard>, MethodError> {
        let ways = match self {
            Self::Directory(files) => files.discard_ways(),
            Self::Made(provisioner) => provisioner.discard_ways(),
        };
        if !ways.is_empty() {
            return Ok(ways);
        }
        // It says why not, and changes nothing.
        let reason = match self.files().switch_discard(MountDiscard::Off) {
            Err(Rejected::NotSwitched { reason }) => reason,
            Err(rejected) => rejected.to_string(),
            Ok(()) => "it has one way to discard only".to_owned(),
        };
        Err(MethodError::Unfit { reason: trimbench_engine::Misfit(reason) })
    }

    /// Has the filesystem discard in this way from now on.
    pub(super) fn switch(&mut self, way: MountDiscard) -> Result<(), MethodError> {
        match self {
            Self::Directory(files) => files.switch_discard(way).map_err(|rejected| {
                let reason = match rejected {
                    Rejected::NotSwitched { reason } => reason,
                    rejected => rejected.to_string(),
                };
                ProvisionError { operation: "remount", reason, advice: None }.into()
            }),
            Self::Made(provisioner) => Ok(provisioner.remount(way)?),
        }
    }
}
