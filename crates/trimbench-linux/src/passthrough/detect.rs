//! Detects the protocol of a device: sysfs says it, no command is sent.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::FileType;
use trimbench_claim::inspect::{DeviceKind, kind_of};
use trimbench_claim::sysfs::{BlockDevice, numbers_of};

use super::error::NoPassthrough;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    NvmeNamespace,
    NvmeController,
    Ata,
}

#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) disk: String,
    pub(super) kind: DeviceKind,
    pub(super) vendor: String,
    /// It has the VPD page that only a translation of ATA gives (89h).
    pub(super) has_ata_page: bool,
    pub(super) zoned: bool,
}

/// The kernel name of an open device, and how to reach its drive.
pub(super) fn route(file: BorrowedFd<'_>) -> Result<(String, Route), NoPassthrough> {
    let status = rustix::fs::fstat(file).map_err(|_| NoPassthrough::NotADevice)?;
    let (major, minor) = numbers_of(&status);
    match FileType::from_raw_mode(status.st_mode) {
        FileType::BlockDevice => {
            let device = BlockDevice::from_numbers(major, minor);
            let facts = Facts::of(&device.ok_or(NoPassthrough::NotADevice)?);
            let route = of_block_device(&facts)?;
            Ok((facts.name, route))
        }
        FileType::CharacterDevice => {
            let folder = fs::canonicalize(format!("/sys/dev/char/{major}:{minor}"));
            of_character_device(&folder.map_err(|_| NoPassthrough::NotADevice)?)
        }
        _ => Err(NoPassthrough::NotADevice),
    }
}

impl Facts {
    fn of(device: &BlockDevice) -> Self {
        Self {
            name: device.name.clone(),
            disk: device.disk_name().to_owned(),
            kind: kind_of(device),
            vendor: device.attribute("device/vendor").unwrap_or_default(),
            has_ata_page: device.disk().join("device/vpd_pg89").exists(),
            zoned: device.attribute("queue/zoned").is_some_and(|zoned| zoned != "none"),
        }
    }
}

pub(super) fn of_block_device(facts: &Facts) -> Result<Route, NoPassthrough> {
    let device = facts.name.clone();
    if facts.name != facts.disk {
        return Err(NoPassthrough::Partition { device, disk: facts.disk.clone() });
    }
    if facts.zoned {
        return Err(NoPassthrough::Unsuitable { device, why: "it is zoned" });
    }
    match facts.kind {
        DeviceKind::Nvme => Ok(Route::NvmeNamespace),
        DeviceKind::Sata => Ok(Route::Ata),
        DeviceKind::Scsi if facts.has_ata_page => Ok(Route::Ata),
        DeviceKind::Scsi => {
            Err(NoPassthrough::ScsiWithoutAta { device, vendor: facts.vendor.clone() })
        }
        kind => Err(NoPassthrough::OtherDevice { device, kind: kind.id() }),
    }
}

fn of_character_device(folder: &Path) -> Result<(String, Route), NoPassthrough> {
    let name = |path: &Path| {
        path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned()
    };
    let subsystem = fs::read_link(folder.join("subsystem")).unwrap_or_default();
    match name(&subsystem).as_str() {
        "nvme" => Ok((name(folder), Route::NvmeController)),
        "nvme-generic" => Ok((name(folder), Route::NvmeNamespace)),
        _ => Err(NoPassthrough::NotADevice),
    }
}
