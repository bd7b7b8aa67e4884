//! What a drive says of itself, read through an open device: nothing is written to it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use trimbench_claim::inspect::{DeviceKind, kind_of, temperature_celsius};
use trimbench_claim::sysfs::{BlockDevice, numbers_of};
use trimbench_log_pages::{DecodedPage, DriveSummary, LogPageError};

use super::error::PassthroughError;

/// The pages of a drive, and which drive it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DriveLogs {
    /// The model that it reports.
    pub model: String,
    /// The serial number that it reports.
    pub serial: String,
    /// Each log that a drive of its kind and vendor may have.
    pub logs: Vec<DriveLog>,
}

/// A log of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveLog {
    /// The id of the page.
    pub page: &'static str,
    /// What it says, or why it was not read.
    pub outcome: Result<DecodedPage, LogNotRead>,
}

/// Why a log was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogNotRead {
    /// The drive, or what is between, refused the command.
    #[error("{reason}")]
    Command {
        /// What refused it, and what to do about it.
        reason: String,
        /// The drive itself answered that it has no such log.
        is_refused_by_drive: bool,
    },
    /// The bytes are another page, or of another version.
    #[error(transparent)]
    Page(#[from] LogPageError),
    /// The drive says beforehand that it has no such log, so it was not asked for.
    #[error("the drive has no such log")]
    Absent,
}

/// Why a drive could not be asked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NoDriveLogs {
    reason: String,
}

/// Which telemetry is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TelemetryCapture {
    /// The one that the drive holds. It may be old, or empty.
    #[default]
    Keep,
    /// A new one. It replaces the one that the drive holds, which somebody may want to send to the
    /// vendor, and takes the drive some time: up to 10 ms as OCP allows, longer on others.
    New,
}

/// Which logs are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogScope {
    /// Those that the drive has for sure: the health page that `NVMe` demands, or the statistics
    /// that an ATA drive announces.
    Standard,
    /// Those as well that drives of its vendor may have. A command for a log that it lacks fails,
    /// and some drives count that among their errors.
    #[default]
    All,
}

/// How logs are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Which.
    pub scope: LogScope,
    /// Which telemetry; read in [`LogScope::All`] only.
    pub telemetry: TelemetryCapture,
}

/// Reads the pages of the drive behind an open device, as [`super::DrivePurger`] opens it: a whole
/// block device, or the character device of an `NVMe` drive, which some kernels want open for
/// writing. A page that cannot be read is no error of the whole.
///
/// # Errors
/// The device is no drive that is known, or may not be spoken to.
pub fn read_drive_logs(
    file: BorrowedFd<'_>,
    options: LogOptions,
) -> Result<DriveLogs, NoDriveLogs> {
    let mut drive = super::open(file).map_err(|error| NoDriveLogs { reason: error.to_string() })?;
    let logs = drive.read_logs(options, pci_device(file).unwrap_or(0));
    let identity = drive.identity();
    Ok(DriveLogs { model: identity.model.clone(), serial: identity.serial.clone(), logs })
}

/// The same of a disk that nobody has opened. Opened for reading, which takes it from nobody.
pub fn read_logs_of(disk: &BlockDevice, options: LogOptions) -> Result<DriveLogs, NoDriveLogs> {
    let refused = |reason: String| NoDriveLogs { reason };
    let node = disk.node();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(&node, flags, Mode::empty())
        .map_err(|errno| refused(format!("open `{}`: {errno}", node.display())))?;
    let status = rustix::fs::fstat(&file).map_err(|errno| refused(errno.to_string()))?;
    if Some(numbers_of(&status)) != disk.numbers() {
        return Err(refused(format!("`{}` is another device", node.display())));
    }
    read_drive_logs(file.as_fd(), options)
}

/// What these drives say of themselves, for the record of a run: `drive-log/PAGE/KEY`, from the
/// second drive on `drive-log-2/PAGE/KEY`. A page that was not read is left out; of a drive that
/// cannot be asked, there is nothing.
pub fn drive_log_facts(drives: &[BlockDevice], options: LogOptions) -> BTreeMap<String, String> {
    let read = drives.iter().map(|drive| read_logs_of(drive, options));
    let facts = read.enumerate().flat_map(|(index, logs)| logs.map(|it| it.facts(index)));
    facts.flatten().collect()
}

/// How hot drives are, and how long heat has slowed them down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveHeat {
    /// Of the hottest, by the sensor that the kernel shows, in degrees Celsius.
    pub celsius: Option<i64>,
    /// Of all `NVMe` drives together, ever, in seconds. Wants root.
    pub throttled_seconds: Option<u64>,
}

impl DriveHeat {
    /// Asks the drives: a file of sysfs and one command each.
    pub fn of(drives: &[BlockDevice]) -> Self {
        let options = LogOptions { scope: LogScope::Standard, ..LogOptions::default() };
        let is_nvme = |drive: &&BlockDevice| kind_of(drive) == DeviceKind::Nvme;
        let throttled = drives
            .iter()
            .filter(is_nvme)
            .filter_map(|drive| read_logs_of(drive, options).ok()?.summary().throttled_seconds);
        Self {
            celsius: drives.iter().filter_map(temperature_celsius).max(),
            throttled_seconds: throttled.reduce(u64::saturating_add),
        }
    }
}

impl DriveLogs {
    /// The pages that were read.
    pub fn pages(&self) -> Vec<DecodedPage> {
        self.logs.iter().filter_map(|log| log.outcome.clone().ok()).collect()
    }

    /// What callers decide by.
    pub fn summary(&self) -> DriveSummary {
        DriveSummary::of(&self.pages())
    }

    /// Each value by its key in a record; `index` counts drives.
    fn facts(&self, index: usize) -> Vec<(String, String)> {
        let drive = if index == 0 { String::new() } else { format!("-{}", index + 1) };
        let pages = self.pages();
        let values = pages.iter().flat_map(|page| {
            let key = |name: &str| format!("drive-log{drive}/{}/{name}", page.page);
            page.values.iter().map(move |value| (key(value.name), value.value.to_string()))
        });
        values.collect()
    }
}

/// A log that was not read is its reason.
impl Serialize for DriveLog {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        match &self.outcome {
            Ok(page) => page.serialize(serializer),
            Err(reason) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("page", self.page)?;
                map.serialize_entry("not_read", &reason.to_string())?;
                map.end()
            }
        }
    }
}

impl LogNotRead {
    pub(super) fn of(error: &PassthroughError) -> Self {
        Self::Command {
            reason: error.to_string(),
            is_refused_by_drive: matches!(
                error,
                PassthroughError::Nvme { .. } | PassthroughError::Ata { .. }
            ),
        }
    }
}

/// The PCI device of the controller behind an open device, by sysfs.
fn pci_device(file: BorrowedFd<'_>) -> Option<u16> {
    let status = rustix::fs::fstat(file).ok()?;
    let (major, minor) = numbers_of(&status);
    let class = match rustix::fs::FileType::from_raw_mode(status.st_mode) {
        rustix::fs::FileType::BlockDevice => "block",
        _ => "char",
    };
    // A namespace's device is its controller; a controller's is its PCI function.
    let paths = ["device/device/device", "device/device"];
    let text = paths.iter().find_map(|path| {
        fs::read_to_string(format!("/sys/dev/{class}/{major}:{minor}/{path}")).ok()
    })?;
    u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}
