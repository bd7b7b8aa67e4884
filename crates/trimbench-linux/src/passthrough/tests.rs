//! What is common to all drives: routes.

pub(super) mod script;

use std::os::fd::AsFd;

use trimbench_claim::inspect::DeviceKind;

use super::detect::{Facts, Route, of_block_device};
use super::error::NoPassthrough;
use super::open;

fn facts(kind: DeviceKind) -> Facts {
    Facts {
        name: "sda".into(),
        disk: "sda".into(),
        kind,
        vendor: "QEMU".into(),
        has_ata_page: false,
        zoned: false,
    }
}

#[test]
fn only_known_drives_are_spoken_to() {
    assert_eq!(of_block_device(&facts(DeviceKind::Nvme)), Ok(Route::NvmeNamespace));
    assert_eq!(of_block_device(&facts(DeviceKind::Sata)), Ok(Route::Ata));
    let bridge = Facts { has_ata_page: true, ..facts(DeviceKind::Scsi) };
    assert_eq!(of_block_device(&bridge), Ok(Route::Ata));
    let error = of_block_device(&facts(DeviceKind::Scsi)).unwrap_err();
    assert!(matches!(error, NoPassthrough::ScsiWithoutAta { .. }), "{error}");
    for kind in [DeviceKind::Loop, DeviceKind::Virtio, DeviceKind::Stacked, DeviceKind::Other] {
        let error = of_block_device(&facts(kind)).unwrap_err();
        assert!(matches!(error, NoPassthrough::OtherDevice { .. }), "{error}");
    }
}

#[test]
fn a_partition_does_not_stand_for_its_drive() {
    let partition = Facts { name: "sda1".into(), ..facts(DeviceKind::Sata) };
    let error = of_block_device(&partition).unwrap_err();
    assert!(matches!(error, NoPassthrough::Partition { .. }), "{error}");
}

#[test]
fn zoned_drives_are_refused() {
    let zoned = Facts { zoned: true, ..facts(DeviceKind::Nvme) };
    let error = of_block_device(&zoned).unwrap_err();
    assert!(matches!(error, NoPassthrough::Unsuitable { .. }), "{error}");
}

#[test]
fn files_and_other_devices_are_no_drives() {
    let null = std::fs::File::open("/dev/null").unwrap();
    assert_eq!(open(null.as_fd()).unwrap_err(), NoPassthrough::NotADevice);
    let file = tempfile::tempfile().unwrap();
    assert_eq!(open(file.as_fd()).unwrap_err(), NoPassthrough::NotADevice);
}
