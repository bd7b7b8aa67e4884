//! Filesystems made anew: how a method gets them, on modelled and on real devices alike.

use crate::command::FileCommand;
use crate::contract::{Capabilities, Target};
use crate::units::Nanos;

/// When a filesystem discards what deletions free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscardMode {
    /// Never (`nodiscard`).
    Off,
    /// As the filesystem itself does it (`discard`).
    Online,
    /// By a trim policy instead of the filesystem's own way: its name and settings
    /// (`paced,target=5ms`). Modelled filesystems only.
    Policy(String),
}

/// How a filesystem is to be made and mounted. Lazy initialisation is always off: what it writes
/// later would be measured as the method's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesystemWish {
    /// When it discards.
    pub discard: DiscardMode,
    /// Whether mkfs first discards the whole device.
    pub mkfs_discard: bool,
    /// Idle time between mkfs and the mount: what a drive works off after that discard.
    pub settle: Nanos,
    /// Which start state an emulated drive is put into before mkfs, the same number the same state.
    /// `None` leaves the drive as the filesystem before left it, which is all that a real one can.
    pub start_state: Option<u32>,
}

impl Default for FilesystemWish {
    /// As mkfs and `mount -o discard` do it.
    fn default() -> Self {
        Self {
            discard: DiscardMode::Online,
            mkfs_discard: true,
            settle: Nanos::ZERO,
            start_state: None,
        }
    }
}

/// Makes filesystems on one device, one after the other, and mounts them. Dropping it unmounts.
///
/// The clock goes on from one filesystem to the next, and so do the device's counters.
pub trait Provisioner {
    /// A mounted filesystem.
    type Files: Target<Command = FileCommand>;

    /// What filesystems made here can do at best. Their room is known once one is made; until then
    /// it is the device's capacity, or an estimate below it.
    fn capabilities(&self) -> &Capabilities;

    /// Makes a filesystem and mounts it. One that is still mounted is unmounted first.
    fn make(&mut self, wish: &FilesystemWish) -> Result<(), ProvisionError>;

    /// The mounted filesystem.
    ///
    /// # Panics
    /// If none is.
    fn files(&mut self) -> &mut Self::Files;

    /// Unmounts; how long that took. No command may be outstanding.
    fn unmount(&mut self) -> Result<Nanos, ProvisionError>;
}

/// A filesystem that cannot be made, mounted or unmounted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} the filesystem: {reason}")]
pub struct ProvisionError {
    /// `make`, `mount` or `unmount`.
    pub operation: &'static str,
    /// Why.
    pub reason: String,
    /// What to do about it, where that is known.
    pub advice: Option<String>,
}
