//! Newly made filesystems: how a method gets them, on modelled and real devices alike.

use crate::command::FileCommand;
use crate::contract::{Capabilities, DriveDiscards, MountDiscard, Target};
use crate::drive::Wear;
use crate::units::{Bytes, Nanos};

/// The files of a mounted filesystem.
pub type Files<'a> = dyn Target<Command = FileCommand> + 'a;

/// When a filesystem discards what deletions free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscardMode {
    /// Never (`nodiscard`).
    Off,
    /// As the filesystem itself does it (`discard`).
    Online,
    /// As the system of this name does it (`btrfs-sync`): on its own filesystem, whatever the
    /// target names, mounted with its online discard; without, if the system is a program
    /// (`fstrim-xfs`), which is then the caller's to run. Modelled filesystems only.
    As(&'static str),
    /// By a trim policy: its name and settings (`paced,target=5ms`). One of the names is the
    /// filesystem's own way (`ext4`), with an account of what it did. Modelled filesystems only.
    Policy(String),
}

/// How a filesystem is to be made and mounted. Lazy initialisation is always off: what it writes
/// later would be measured as the method's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilesystemSpec {
    /// When it discards.
    pub discard: DiscardMode,
    /// Whether mkfs first discards the whole device.
    pub mkfs_discard: bool,
    /// Idle time between mkfs and the mount: what a drive works off after that discard.
    pub settle: Nanos,
    /// The longest discard that the host sends (`queue/discard_max_bytes`); `None` for what the
    /// machine has. Modelled filesystems only.
    pub discard_max: Option<Bytes>,
    /// Which start state an emulated drive is put into before mkfs, the same number the same state.
    /// `None` leaves the drive as the filesystem before left it: all that there is for a real one.
    pub start_state: Option<u32>,
}

impl Default for FilesystemSpec {
    /// As mkfs and `mount -o discard` do it.
    fn default() -> Self {
        Self {
            discard: DiscardMode::Online,
            mkfs_discard: true,
            settle: Nanos::ZERO,
            discard_max: None,
            start_state: None,
        }
    }
}

/// What is known of a filesystem and its drive beside what its commands show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// What was written to the drive and in it; only differences mean something.
    pub wear: Wear,
    /// Free space of the filesystem for which the drive still holds data.
    pub untrimmed: Bytes,
    /// Freed since it was made; on btrfs with `discard=async` also what was free beside it.
    pub freed: Bytes,
    /// Of these, the bytes that will not be discarded any more, unless a program trims them.
    pub given_up: Bytes,
    /// What became of the freed space; `None` but under [`DiscardMode::Policy`].
    pub discards: Option<DiscardAccount>,
}

/// What became of the space that a filesystem freed since it was made, and the most that its
/// discards took since the account before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardAccount {
    /// What became of it.
    pub totals: DriveDiscards,
    /// The most that waited.
    pub waiting_max: Bytes,
    /// The most that discards under way withheld from allocation.
    pub withheld_max: Bytes,
    /// The longest that a discard took, from its issue to its end.
    pub longest: Nanos,
}

/// Makes filesystems on one device, one after the other, and mounts them. Dropping it unmounts.
///
/// Instants and counters of two filesystems are not to be compared.
pub trait Provisioner {
    /// What filesystems made here can do at best. Their room is known once one is made; until then
    /// it is the device's capacity, or an estimate below it.
    fn capabilities(&self) -> &Capabilities;

    /// Whether such a filesystem can be made, as far as that is known without making it: a method
    /// that makes several asks before the first.
    fn check(&self, spec: &FilesystemSpec) -> Result<(), ProvisionError>;

    /// Makes a filesystem and mounts it. One that is still mounted is unmounted first.
    fn make(&mut self, spec: &FilesystemSpec) -> Result<(), ProvisionError>;

    /// The mounted filesystem.
    ///
    /// # Panics
    /// If none is.
    fn files(&mut self) -> &mut Files<'_>;

    /// The ways to discard that the mounted filesystem can be switched between.
    ///
    /// # Panics
    /// If none is mounted.
    fn discard_ways(&mut self) -> Vec<MountDiscard> {
        self.files().discard_ways()
    }

    /// Has the mounted filesystem discard in this way from now on, by a remount, or by an unmount
    /// and a mount where it takes that; its files stay. No command may be outstanding.
    ///
    /// # Panics
    /// If none is mounted.
    fn remount(&mut self, way: MountDiscard) -> Result<(), ProvisionError> {
        self.files().switch_discard(way).map_err(|rejected| ProvisionError {
            operation: "remount",
            reason: rejected.to_string(),
            advice: None,
        })
    }

    /// Unmounts; how long that took. No command may be outstanding.
    fn unmount(&mut self) -> Result<Nanos, ProvisionError>;

    /// What is known of the filesystem and its drive, of one that was unmounted as the unmount left
    /// it; `None` where that cannot be known, as of a real one. No command may be outstanding.
    ///
    /// # Panics
    /// If none was made.
    fn account(&mut self) -> Option<Account> {
        None
    }
}

/// A filesystem that cannot be made, mounted or unmounted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} the filesystem: {reason}")]
pub struct ProvisionError {
    /// `make`, `mount`, `remount` or `unmount`.
    pub operation: &'static str,
    /// Why.
    pub reason: String,
    /// What to do about it, where that is known.
    pub advice: Option<String>,
}
