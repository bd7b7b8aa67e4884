//! What is common to all drives: routes, promises, the form of figures.

use std::os::fd::AsFd;

use trimbench_core::{Blocks, Lba, LbaRange};

use super::counters::HealthCounter;
use super::detect::{Facts, Route, of_block_device};
use super::{NoPassthrough, PassthroughDrive, ReportedTrimPromise};
use crate::inspect::DeviceKind;

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
    assert_eq!(PassthroughDrive::open(null.as_fd()).unwrap_err(), NoPassthrough::NotADevice);
    let file = tempfile::tempfile().unwrap();
    assert_eq!(PassthroughDrive::open(file.as_fd()).unwrap_err(), NoPassthrough::NotADevice);
}

fn range(start: u64, length: u64) -> LbaRange {
    LbaRange::new(Lba(start), Blocks(length)).unwrap()
}

fn promise(ranges: u32, range_blocks: u64, command_blocks: Option<u64>) -> ReportedTrimPromise {
    ReportedTrimPromise {
        supported: true,
        ranges_max: ranges,
        range_blocks_max: range_blocks,
        command_blocks_max: command_blocks,
        ..ReportedTrimPromise::NONE
    }
}

#[test]
fn long_ranges_are_cut_without_gap_or_overlap() {
    let pieces = promise(8, 100, None).pieces(&[range(5, 250), range(1000, 100)]);
    assert_eq!(pieces, [range(5, 100), range(105, 100), range(205, 50), range(1000, 100)]);
}

#[test]
fn commands_are_filled_up_to_each_limit() {
    let ranges: Vec<_> = (0..5).map(|index| range(index * 100, 10)).collect();
    let lengths = |promise: ReportedTrimPromise| -> Vec<usize> {
        promise.split(&ranges).iter().map(Vec::len).collect()
    };
    assert_eq!(lengths(promise(2, 100, None)), [2, 2, 1]);
    assert_eq!(lengths(promise(256, 100, Some(30))), [3, 2]);
    // A limit of a command below that of a range cuts ranges, too.
    assert_eq!(lengths(promise(256, 100, Some(5))), [1; 10]);
    assert!(ReportedTrimPromise::NONE.split(&ranges).is_empty());
}

#[test]
fn counters_of_128_bits_do_not_wrap() {
    assert_eq!(
        HealthCounter::scaled(2, 512_000, "x"),
        HealthCounter::Known { value: 1_024_000, source: "x" }
    );
    assert_eq!(HealthCounter::scaled(u128::MAX, 1, "x"), HealthCounter::TooLarge { source: "x" });
    assert_eq!(HealthCounter::scaled(1 << 63, 2, "x"), HealthCounter::TooLarge { source: "x" });
}
