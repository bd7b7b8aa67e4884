use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use rustix::fs::Mode;
use trimbench_claim::{LoopStatus, opening};

use super::*;

/// Block devices of this machine, held without being opened.
fn held() -> Vec<HeldDevice> {
    let entries = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let hold = |node: PathBuf| {
        let file = rustix::fs::open(&node, opening::HOLD, Mode::empty()).ok()?;
        HeldDevice::new(file, node).ok()
    };
    entries.filter_map(|entry| hold(Path::new("/dev").join(entry.file_name()))).collect()
}

#[test]
fn superblocks_of_every_kind_are_known_by_magic_and_uuid() {
    let uuid: Uuid = *b"0123456789abcdef";
    // Magic number and UUID, each where the kernel's header has it.
    let all = [
        (FilesystemKind::Ext4, (1080, &[0x53, 0xEF][..]), 1128),
        (FilesystemKind::Xfs, (0, b"XFSB"), 32),
        (FilesystemKind::Btrfs, (65_600, b"_BHRfS_M"), 65_568),
        (FilesystemKind::F2fs, (1024, &[0x10, 0x20, 0xF5, 0xF2]), 1132),
    ];
    for (kind, (magic_at, magic), uuid_at) in all {
        let file = tempfile::tempfile().expect("a folder for temporary files");
        file.set_len(1 << 20).expect("a sparse file");
        assert_eq!(carried(file.as_fd(), kind), Ok(None));
        file.write_all_at(&uuid, uuid_at).expect("there is room");
        assert_eq!(carried(file.as_fd(), kind), Ok(None), "{kind:?}: no magic number");
        file.write_all_at(magic, magic_at).expect("there is room");
        assert_eq!(carried(file.as_fd(), kind), Ok(Some(uuid)), "{kind:?}");
        for other in FilesystemKind::ALL.into_iter().filter(|other| *other != kind) {
            assert_eq!(carried(file.as_fd(), other), Ok(None), "{kind:?} is no {other:?}");
        }
    }
    let null = File::open("/dev/null").expect("it is there");
    assert!(carried(null.as_fd(), FilesystemKind::Ext4) != Ok(Some(uuid)));
}

#[test]
fn a_device_is_itself_by_its_number_its_sequence_and_what_it_stands_on() {
    for mut device in held() {
        let (node, identity) = (device.node.clone(), device.identity);
        assert_eq!(device.check(), Ok(()), "{}", node.display());
        let (major, minor) = identity.numbers;
        let backing = LoopStatus { file: (0, 0), offset: 1, size_limit: 0 };
        for other in [
            DeviceIdentity { numbers: (major, minor + 1), ..identity },
            DeviceIdentity { sequence: Some(u64::MAX), ..identity },
            DeviceIdentity { backing: Some(backing), ..identity },
        ] {
            device.identity = other;
            let error = device.check().expect_err("it is another");
            assert!(error.reason.contains("has taken its place"), "{error}");
        }
        device.identity = identity;
        for other in ["/dev/null", "/", "/dev/nothing"] {
            device.node = PathBuf::from(other);
            assert!(device.check().is_err(), "{other} does not lead to it");
        }
    }
}

#[test]
fn a_mount_is_of_this_device_and_of_this_kind_or_refused() {
    let null = || rustix::fs::open("/dev/null", opening::HOLD, Mode::empty()).unwrap();
    let on = |numbers| {
        let identity = DeviceIdentity { numbers, sequence: None, backing: None };
        HeldDevice { file: null(), node: PathBuf::from("/dev/null"), identity }
    };
    for kind in FilesystemKind::ALL {
        assert!(on((0, 0)).check_mounted(kind, Path::new("/proc")).is_err());
    }
    // What the machine has mounted for good.
    for place in ["/", "/boot", "/home", "/var/tmp"].map(Path::new) {
        let Ok(found) = mount_of(place) else { continue };
        let [device] = &devices_of(&found)[..] else { continue };
        let Some((major, minor)) = device.numbers() else { continue };
        for kind in FilesystemKind::ALL {
            let same = on((major, minor)).check_mounted(kind, place);
            assert_eq!(same.is_ok(), found.filesystem == kind.id(), "{found:?}");
            let error = on((major, minor + 1)).check_mounted(kind, place).unwrap_err();
            assert!(error.reason.contains("something else was mounted"), "{error}");
        }
    }
}
