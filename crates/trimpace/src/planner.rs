//! What one call of FITRIM covers, for each filesystem: the ioctl means something else on each.
//!
//! A filesystem is a sequence of [`Region`]s (block groups of ext4, allocation groups of XFS,
//! chunks of btrfs, else the whole), and most filesystems say which free extents a region has now.
//! From these the pass cuts its calls. Progress is never what a call returns: it is what the
//! device counts.

mod btrfs;
mod cover;
mod ext4;
mod whole;
mod xfs;

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::{BlockDevice, devices_of};
use trimbench_core::text::{to_text, visible};
use trimbench_core::{Bytes, Errno, Ppm};
use trimbench_linux::FreeRange;

pub use cover::cover;

#[cfg(test)]
mod tests;

/// The file does not know the ioctl.
const ENOTTY: Errno = Errno(25);

/// A part of a filesystem that calls of FITRIM address by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins, bytes, in the addresses that FITRIM takes.
    pub start: u64,
    /// How long it is. Regions are in order and do not overlap.
    pub length: Bytes,
}

/// Free space without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeExtent {
    /// Where it begins, bytes, in the addresses that FITRIM takes.
    pub start: u64,
    /// How long it is.
    pub length: Bytes,
}

/// How calls of FITRIM may be cut on a filesystem.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts of a filesystem")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutting {
    /// One call may cover several regions that follow each other.
    pub joins_regions: bool,
    /// A call may end between two free extents of a region.
    pub between_extents: bool,
    /// A call may end within a free extent, of which it then trims the part that it covers, if that
    /// part is as long as the minimum.
    pub within_extents: bool,
    /// The call returns before the device has completed its discards.
    pub returns_early: bool,
}

/// What is known of one filesystem. It holds the directory open: no path is looked up again.
pub trait Planner: Debug + Send {
    /// Its parts, in order.
    fn regions(&self) -> &[Region];

    /// How its calls may be cut.
    fn cutting(&self) -> Cutting;

    /// The free extents of a region now that a call would discard, in order; `None` where the
    /// filesystem does not say. An extent that crosses the end of the region is cut there.
    ///
    /// # Errors
    /// `EIO` and others of the ioctl that asks.
    fn free_extents(&self, region: Region) -> Result<Option<Vec<FreeExtent>>, Errno>;

    /// The largest minimum length to give FITRIM here, which answers a larger one (of XFS, a little
    /// larger) with `EINVAL`. `None` where it takes any. [`Self::free_extents`] never applies a
    /// larger one.
    fn largest_minimum(&self) -> Option<Bytes> {
        None
    }

    /// To be called before each call of FITRIM, so that it trims all that is listed.
    fn before_call(&self) {}

    /// Reads anew where the regions are. The file of a probe may have made one.
    ///
    /// # Errors
    /// [`PlannerError`].
    fn renew(&mut self) -> Result<(), PlannerError> {
        Ok(())
    }

    /// What the user should know before the pass begins, in sentences.
    fn hazards(&self) -> Vec<String>;
}

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerError {
    /// The filesystem is on no device that this machine shows.
    #[error("`{mounted}` is no device that is there")]
    NoDevice {
        /// What was mounted.
        mounted: String,
    },
    /// The device's node cannot be read: run as root, and check that `/dev` shows the device.
    #[error("cannot read `{}`: {errno}", node.display())]
    Device {
        /// The node.
        node: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// The node leads to another device: `/dev` is not the one of this kernel.
    #[error("`{}` is not the device of the filesystem", node.display())]
    OtherDevice {
        /// The node.
        node: PathBuf,
    },
    /// The device does not carry the layout that the mount says: the filesystem was mounted from
    /// another device than the one given.
    #[error("`{}` has no valid superblock of ext4", node.display())]
    NoSuperblock {
        /// The node.
        node: PathBuf,
    },
    /// The filesystem does not say how it is laid out: run as root.
    #[error("cannot ask the filesystem for its {what}: {errno}")]
    Layout {
        /// What was asked for.
        what: &'static str,
        /// The reason.
        errno: Errno,
    },
}

/// The planner for the filesystem of `mount`, whose `directory` is open, and which has its data on
/// `device` (of btrfs, on any of its devices).
///
/// Extents shorter than `minimum` are left out of what it lists, as are those that the kernel does
/// not discard because they are shorter than the device's discard granularity.
pub fn planner_for(
    mount: &Mount,
    directory: Arc<OwnedFd>,
    device: &BlockDevice,
    minimum: Bytes,
) -> Result<Box<dyn Planner>, PlannerError> {
    let minimum = minimum.max(granularity(mount, device));
    Ok(match mount.filesystem.as_str() {
        "ext4" | "ext3" | "ext2" => Box::new(ext4::Ext4::open(directory, device, minimum)?),
        "xfs" => Box::new(xfs::Xfs::open(directory, xfs::release(), minimum)?),
        "btrfs" => Box::new(btrfs::Btrfs::open(directory, minimum)?),
        _ => Box::new(whole::Whole::new(mount)),
    })
}

/// Which free ranges a pass leaves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Those below this.
    Below(Bytes),
    /// The smallest, so that the others hold this share of the free space.
    AllButCover(Ppm),
}

/// The planner of a mount whose root `directory` is open, and the least extent that it plans for.
///
/// # Errors
/// See [`PlannerError`].
pub fn plan(
    mount: &Mount,
    directory: &Arc<OwnedFd>,
    leave: Leave,
) -> Result<(Box<dyn Planner>, Bytes), PlannerError> {
    let devices = devices_of(mount);
    let device = devices.first().ok_or_else(|| PlannerError::NoDevice {
        mounted: visible(&to_text(&mount.source)).into_owned(),
    })?;
    let above = |minimum| planner_for(mount, Arc::clone(directory), device, minimum);
    let share = match leave {
        Leave::Below(minimum) => return Ok((above(minimum)?, minimum)),
        Leave::AllButCover(share) => share,
    };
    let planner = above(Bytes(0))?;
    let mut lengths = Vec::new();
    for region in planner.regions() {
        let extents = planner.free_extents(*region);
        let extents =
            extents.map_err(|errno| PlannerError::Layout { what: "free space", errno })?;
        lengths.extend(extents.unwrap_or_default().iter().map(|extent| extent.length));
    }
    let covering = cover(lengths.into_iter(), share);
    let minimum = planner.largest_minimum().map_or(covering, |most| covering.min(most));
    Ok((above(minimum)?, minimum))
}

/// The shortest extent that the kernel discards; of several devices, it goes by the least demanding
/// one that discards at all.
fn granularity(mount: &Mount, device: &BlockDevice) -> Bytes {
    let of = |device: &BlockDevice| device.number("queue/discard_granularity");
    let devices = if mount.filesystem == "btrfs" { devices_of(mount) } else { Vec::new() };
    let least = devices.iter().filter_map(of).filter(|granularity| *granularity > 0).min();
    Bytes(least.or_else(|| of(device)).unwrap_or(0))
}

/// What of these ranges is long enough to be discarded.
fn extents_of(ranges: &[FreeRange], minimum: Bytes) -> Vec<FreeExtent> {
    let long = ranges.iter().filter(|range| range.length >= minimum.0);
    long.map(|range| FreeExtent { start: range.start, length: Bytes(range.length) }).collect()
}

/// Whether the filesystem has no map of its free space, as opposed to failing to read it.
fn has_no_map(errno: Errno) -> bool {
    matches!(errno, Errno::EOPNOTSUPP | ENOTTY | Errno::EINVAL)
}
