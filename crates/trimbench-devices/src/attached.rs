//! A drive that another process serves for a session, and how late it answers.

use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use trimbench_attach::{DriveInquiry, DriveProcess};
use trimbench_claim::inspect::device_environment;
use trimbench_claim::sysfs::BlockDevice;

/// A drive that is attached, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct AttachedTarget {
    process: DriveProcess,
}

/// Tells how late an attached drive answers.
#[derive(Clone, Debug)]
pub struct AnswerTimes {
    inquiry: DriveInquiry,
}

/// How late it has answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnswerLateness {
    /// The 99th percentile of lateness over that of the model's own time, in percent, of the kind
    /// of request of which it is the largest; `None` if no request has ended.
    pub percent: Option<f64>,
    /// Whether times that were measured meanwhile are not the drive's.
    pub spoils: bool,
}

impl AttachedTarget {
    pub(crate) fn new(process: DriveProcess) -> Self {
        Self { process }
    }

    /// The node of the device.
    pub(crate) fn node(&self) -> &Path {
        self.process.node()
    }

    /// Another copy of the open device, and its node, for filesystems.
    pub(crate) fn shared(&self) -> std::io::Result<(OwnedFd, PathBuf)> {
        Ok((self.device().try_clone_to_owned()?, self.node().to_owned()))
    }

    /// The open device.
    pub(crate) fn device(&self) -> BorrowedFd<'_> {
        self.process.device()
    }

    /// How its process is asked.
    pub(crate) fn inquiry(&self) -> DriveInquiry {
        self.process.inquiry()
    }

    /// How late it answers.
    pub(crate) fn answer_times(&self) -> AnswerTimes {
        AnswerTimes { inquiry: self.process.inquiry() }
    }

    /// The machine and the device.
    pub(crate) fn environment(node: &Path) -> BTreeMap<String, String> {
        let device = BlockDevice::from_node(node);
        device.map(|device| device_environment(&device)).unwrap_or_default()
    }
}

impl AnswerTimes {
    /// Since the last call; `None` if nobody answers for the drive.
    pub fn take(&self) -> Option<AnswerLateness> {
        let since = self.inquiry.statistics_since()?;
        let spoils = !since.invalid_because().is_empty();
        Some(AnswerLateness { percent: since.late_percent(), spoils })
    }
}
