//! A disk that can be made slow or stopped, or to fail where it is read: an emulated drive that
//! takes next to no time, attached with faults that come and go.
//!
//! Its reads, writes and flushes run side by side. Its discards the driver of loop devices sends
//! one after the other, and sends nothing else of the same control group meanwhile.

use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use trimbench_attach::{AttachedDrive, Attachment, LiveFault};
use trimbench_core::fault::FaultPlan;
use trimbench_core::{Bytes, Nanos};
use trimbench_ssd::Profile;

use crate::loops::{Mounted, make_filesystem, queue_of};

/// What takes time of a drive, what may be lost of it, and what a small one must have.
const PROMPT: [(&str, &str); 13] = [
    ("nand.read", "0"),
    ("nand.program", "0"),
    ("nand.erase", "0"),
    ("nand.channel_bytes_per_second", "1000GB"),
    ("host.command", "0"),
    ("host.latency", "0"),
    ("host.link_bytes_per_second", "1000GB"),
    ("trim.command", "0"),
    ("trim.range", "0"),
    ("trim.per_gib_mapped", "0"),
    ("trim.per_gib_unmapped", "0"),
    ("drive.power_loss_protection", "true"),
    ("geometry.superblock", "1MiB"),
];

/// A block device that can be made slow. It is gone when dropped.
#[derive(Debug)]
pub struct SlowDevice {
    drive: AttachedDrive,
}

/// The same with a filesystem. All is gone when dropped.
#[derive(Debug)]
pub struct SlowDisk {
    // The order is that of dropping, after the device was made fast again.
    _mounted: Mounted,
    folder: TempDir,
    device: SlowDevice,
}

impl SlowDevice {
    /// A device of this size. It is as fast as it can be.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(mebibytes: u64) -> Self {
        Self::stopped_by_discards(mebibytes, Duration::ZERO)
    }

    /// The same, which each discard stops for so long, whichever control group sends what.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn stopped_by_discards(mebibytes: u64, span: Duration) -> Self {
        let profile = Profile::built_in("plain-nvme-tlc").expect("it is built in");
        let profile = profile.with_values("a prompt drive", &PROMPT).expect("they are keys");
        let mut config = profile.config;
        config.capacity = Bytes::mib(mebibytes);
        let faults = FaultPlan { freeze_on_discard: Nanos(nanos(span)), ..FaultPlan::default() };
        let drive = AttachedDrive::attach(Attachment { faults, ..Attachment::new(config) });
        Self { drive: drive.expect("root has FUSE and loop devices") }
    }

    /// `/dev/loop0`.
    pub fn node(&self) -> &str {
        self.drive.node().to_str().expect("its name is ASCII")
    }

    /// The name of the disk in `/sys` and `/proc`: `loop0`.
    pub fn name(&self) -> &str {
        self.node().trim_start_matches("/dev/")
    }

    /// An attribute of its queue in sysfs.
    pub fn queue(&self, attribute: &str) -> PathBuf {
        queue_of(self.node(), attribute)
    }

    /// From now on each read, write, discard and flush takes so much longer.
    pub fn delay(&self, delay: Duration) {
        self.plant(&LiveFault::Slow(nanos(delay)));
    }

    /// From now on each discard takes so much longer beyond that.
    pub fn delay_discards(&self, delay: Duration) {
        self.plant(&LiveFault::SlowDiscards(nanos(delay)));
    }

    /// Stops the disk, or resumes it: it then serves the requests that arrived meanwhile.
    pub fn freeze(&self, frozen: bool) {
        self.plant(&LiveFault::Stall { after: 0, span: if frozen { u64::MAX } else { 0 } });
    }

    /// From now on these bytes of the disk cannot be read (EIO), once they were read `good_reads`
    /// times more. What is in the page cache above it stays there.
    pub fn fail(&self, unreadable: Range<u64>, good_reads: u32) {
        let ranges = std::iter::once(unreadable).collect();
        self.plant(&LiveFault::Unreadable { ranges, good_reads });
    }

    /// The disk can be read everywhere again.
    pub fn heal(&self) {
        self.fail(0..0, 0);
    }

    fn plant(&self, fault: &LiveFault) {
        self.drive.engine().plant(fault).expect("no other fault is in the way");
    }
}

impl SlowDisk {
    /// A filesystem of this type and size with these mount options. It is as fast as it can be.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(filesystem: &str, mebibytes: u64, options: &str) -> Self {
        Self::on(SlowDevice::new(mebibytes), filesystem, &[], options)
    }

    /// The same on this device, with further arguments of mkfs.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn on(device: SlowDevice, filesystem: &str, make: &[&str], options: &str) -> Self {
        make_filesystem(device.node(), filesystem, make);
        let folder = tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let mounted = Mounted::new(&["-o", options, device.node()], folder.path());
        Self { _mounted: mounted, folder, device }
    }

    /// Where the filesystem is mounted.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Deref for SlowDisk {
    type Target = SlowDevice;

    fn deref(&self) -> &SlowDevice {
        &self.device
    }
}

impl Drop for SlowDisk {
    /// What is under way must end before the filesystem can be unmounted.
    fn drop(&mut self) {
        self.heal();
        self.delay(Duration::ZERO);
        self.delay_discards(Duration::ZERO);
        self.freeze(false);
    }
}

fn nanos(delay: Duration) -> u64 {
    u64::try_from(delay.as_nanos()).expect("less than centuries")
}
