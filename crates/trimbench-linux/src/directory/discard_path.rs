//! Whether discards of a filesystem's freed space reach a device that can act on them.

use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::{Bytes, MountDiscard, Support};

use crate::drain::mount_discard;

/// The way that a discard takes, from the mount to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryDiscardPath {
    /// What the filesystem is mounted to do.
    pub mount: MountDiscard,
    /// The largest single discard (`discard_max_bytes`); 0 if a device takes none. The smallest of
    /// all devices of the filesystem.
    pub max: Bytes,
    /// Discards are acted on in multiples of this (`discard_granularity`). The largest of all
    /// devices.
    pub granularity: Bytes,
    /// Whether there is a block device at all.
    pub has_device: bool,
}

/// Why no discards come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiscardObstacle {
    /// As tmpfs.
    #[error("the filesystem has no block device to discard on")]
    NoDevice,
    /// The device or a layer between takes none; or an administrator set the limit to 0.
    #[error("the device takes no discards (its `queue/discard_max_bytes` is 0)")]
    DeviceTakesNone,
    /// The mount option is missing; FITRIM would work.
    #[error("the filesystem is not mounted with `-o discard`")]
    NotMountedWithDiscard,
}

impl DirectoryDiscardPath {
    pub(super) fn of(mount: &Mount) -> Self {
        let devices = devices_of(mount);
        let number = |device: &BlockDevice, name: &str| device.number(name).unwrap_or(0);
        let max = devices.iter().map(|device| number(device, "queue/discard_max_bytes")).min();
        let grain = devices.iter().map(|device| number(device, "queue/discard_granularity")).max();
        Self {
            mount: mount_discard(mount),
            max: Bytes(max.unwrap_or(0)),
            granularity: Bytes(grain.unwrap_or(0)),
            has_device: !devices.is_empty(),
        }
    }

    /// What keeps discards of deleted files from the device; `None` if nothing does.
    pub fn obstacle(&self) -> Option<DiscardObstacle> {
        if !self.has_device {
            Some(DiscardObstacle::NoDevice)
        } else if self.max.0 == 0 {
            Some(DiscardObstacle::DeviceTakesNone)
        } else if self.mount == MountDiscard::Off {
            Some(DiscardObstacle::NotMountedWithDiscard)
        } else {
            None
        }
    }

    pub(super) fn support(&self) -> Support {
        if self.obstacle().is_some() { Support::None } else { Support::Native }
    }
}
