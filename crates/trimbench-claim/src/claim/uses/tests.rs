//! What `/sys` and `/proc/swaps` tell is made up for some of these tests: they run themselves again
//! in a mount namespace where folders of their own take the place.

use std::process::Command;

use trimbench_core::Errno;

use super::super::tests::{folder, image};
use super::*;
use crate::mounts::{Mount, SeenMount};
use crate::testing::{APART, Sys, folder_apart, requires, run_apart};

/// Runs the test `name` again where the tables that `set_up` writes stand for the kernel's. Within
/// that run it gives their folder.
fn is_within(name: &str, set_up: impl Fn(&Path, &Sys)) -> Option<PathBuf> {
    let within = folder_apart();
    if within.is_none() && requires(name, &[APART]) {
        let (_folder, folder) = folder();
        fs::write(folder.join("swaps"), "").unwrap();
        set_up(&folder, &Sys::new(folder.join("sys")));
        let script = "mount --bind \"$folder/sys\" /sys; \
                      mount --bind \"$folder/swaps\" /proc/swaps";
        run_apart(module_path!(), name, &folder, script);
    }
    within
}

fn add_partition(sys: &Sys, disk: &str, number: u32, numbers: &str) {
    let folder = format!("{disk}/{disk}{number}");
    sys.add(&folder, numbers);
    sys.write(&format!("devices/{folder}/partition"), &number.to_string());
}

fn named(name: &str) -> BlockDevice {
    BlockDevice::from_name(name).unwrap()
}

fn names(mut devices: Vec<BlockDevice>) -> Vec<String> {
    devices.sort_by(|one, other| one.name.cmp(&other.name));
    devices.into_iter().map(|device| device.name).collect()
}

fn attached(name: &str, file: Option<FileId>) -> AttachedLoop {
    AttachedLoop {
        name: name.to_owned(),
        path: PathBuf::from("/image"),
        file,
        offset: 0,
        size_limit: 0,
        below: None,
        unknown: None,
    }
}

fn id(path: &Path) -> FileId {
    path.metadata().map(|data| (data.dev(), data.ino())).unwrap()
}

fn open(writes: bool, is_file: bool) -> Use {
    let (path, command) = (PathBuf::from("/dev/vda"), "udevd".to_owned());
    Use::Open { path, process: 7, command, writes, is_file }
}

#[test]
fn only_reading_a_device_is_no_obstacle() {
    let swap = Use::Swap { path: PathBuf::from("/swap") };
    for (one, expected) in [
        (open(false, false), false),
        (open(true, false), true),
        (open(false, true), true),
        (open(true, true), true),
        (swap, true),
    ] {
        assert_eq!(one.forbids(), expected, "{one}");
    }
}

#[test]
fn each_use_is_told_in_a_sentence() {
    let device = || "vda1".to_owned();
    let mounted = |process| Use::Mounted {
        device: device(),
        at: PathBuf::from("/data"),
        filesystem: "ext4".to_owned(),
        process,
    };
    let member = Use::Member { device: device(), filesystem: "5d6a".to_owned() };
    for (one, expected) in [
        (mounted(None), "`vda1` is mounted at `/data` (ext4)"),
        (
            mounted(Some(7)),
            "`vda1` is mounted at `/data` (ext4) in the mount namespace of process 7",
        ),
        (member, "`vda1` belongs to the mounted btrfs 5d6a"),
        (Use::Swap { path: PathBuf::from("/swap") }, "swap on `/swap`"),
        (Use::Held { device: device(), holder: "dm-0".to_owned() }, "`dm-0` uses `vda1`"),
        (
            Use::Attached { device: device(), by: "loop3".to_owned() },
            "`vda1` is attached to `loop3`",
        ),
        (open(false, false), "`/dev/vda` is open for reading by process 7 (`udevd`)"),
        (open(true, true), "`/dev/vda` is open for writing by process 7 (`udevd`)"),
    ] {
        assert_eq!(one.to_string(), expected);
    }
}

#[test]
fn a_loop_device_that_may_not_be_asked_is_remembered() {
    let known = attached("loop1", Some((1, 2)));
    let unknown = AttachedLoop { unknown: Some(Errno(libc::EACCES)), ..attached("loop2", None) };
    assert_eq!(unseen(std::slice::from_ref(&known)), None);
    let expected = Unseen { path: PathBuf::from("/dev/loop2"), errno: Errno(libc::EACCES) };
    assert_eq!(unseen(&[known, unknown]), Some(expected));
}

#[test]
fn all_loop_devices_over_a_file_count_and_no_others() {
    let all = [
        attached("loop1", Some((1, 2))),
        attached("loop2", Some((1, 3))),
        attached("loop3", None),
        attached("loop4", Some((1, 2))),
    ];
    let by = |name: &str| Use::Attached { device: "/image".to_owned(), by: name.to_owned() };
    assert_eq!(attached_to((1, 2), all.iter()), [by("loop1"), by("loop4")]);
    assert_eq!(attached_to((1, 4), all.iter()), []);
}

#[test]
fn other_paths_to_a_disk_and_what_stands_on_it_show_the_same_bytes() {
    let name = "other_paths_to_a_disk_and_what_stands_on_it_show_the_same_bytes";
    let within = is_within(name, |_, sys| {
        for (disk, minor) in [("sda", 0), ("sdb", 16), ("sdc", 32), ("sdd", 48), ("sde", 64)] {
            sys.add(disk, &format!("8:{minor}"));
        }
        for (disk, minor) in [("sda", 1), ("sdb", 17)] {
            add_partition(sys, disk, 1, &format!("8:{minor}"));
            add_partition(sys, disk, 2, &format!("8:{}", minor + 1));
        }
        // The first two are one disk; the last two have no identity.
        sys.write("devices/sda/wwid", "naa.5000");
        sys.write("devices/sdb/device/wwid", "naa.5000");
        sys.write("devices/sdc/wwid", "naa.6000");
        // An encrypted volume with a partition, on the second path.
        sys.add("dm-0", "252:0");
        add_partition(sys, "dm-0", 1, "252:1");
        sys.write("devices/sdb/sdb1/holders/dm-0", "");
    });
    if within.is_none() {
        return;
    }
    for (name, expected) in [
        ("sda", Some("naa.5000")),
        ("sdb", Some("naa.5000")),
        ("sdc", Some("naa.6000")),
        ("sdd", None),
    ] {
        assert_eq!(wwid(&named(name)).as_deref(), expected, "{name}");
    }
    for (target, expected) in [
        ("sda", &["sda", "sda1", "sda2", "sdb", "sdb1", "sdb2"][..]),
        ("sdb", &["sda", "sda1", "sda2", "sdb", "sdb1", "sdb2"]),
        ("sda1", &["sda", "sda1", "sdb", "sdb1"]),
        ("sdb2", &["sda", "sda2", "sdb", "sdb2"]),
        ("sdc", &["sdc"]),
        ("sdd", &["sdd"]),
    ] {
        assert_eq!(names(same_bytes(&named(target))), expected, "{target}");
    }

    let held = Use::Held { device: "sdb1".to_owned(), holder: "dm-0".to_owned() };
    for (target, expected, uses) in [
        ("sda1", &["dm-0", "dm-01", "sda", "sda1", "sdb", "sdb1"][..], &[held][..]),
        ("sda2", &["sda", "sda2", "sdb", "sdb2"], &[]),
        ("sdd", &["sdd"], &[]),
    ] {
        let mut found = Vec::new();
        let related = related(&named(target), &[], &mut found).unwrap();
        assert_eq!(names(related), expected, "{target}");
        assert_eq!(found, uses, "{target}");
    }
    // A loop device on a disk, and one on something else.
    let above = AttachedLoop { below: Some(named("sdd")), ..attached("dm-0", None) };
    let loops = [attached("loop1", None), above];
    let mut found = Vec::new();
    let related = related(&named("sdd"), &loops, &mut found).unwrap();
    assert_eq!(names(related), ["dm-0", "dm-01", "sdd"]);
    assert_eq!(found, [Use::Attached { device: "sdd".to_owned(), by: "dm-0".to_owned() }]);
}

#[test]
fn mounts_are_found_by_number_by_source_and_by_membership() {
    let name = "mounts_are_found_by_number_by_source_and_by_membership";
    let within = is_within(name, |folder, sys| {
        for (disk, minor) in [("sda", 0), ("sdb", 16), ("sdc", 32)] {
            sys.add(disk, &format!("8:{minor}"));
        }
        for disk in ["sda", "sdb"] {
            sys.write(&format!("fs/btrfs/5d6a/devices/{disk}"), "");
        }
        let node = folder.join("node");
        let made = Command::new("mknod").arg(node).args(["b", "8", "0"]).status();
        assert!(made.unwrap().success());
    });
    let Some(folder) = within else { return };
    let related = ["sda", "sdb", "sdc"].map(named);
    let mounts = |device, source: &Path, process| AllMounts {
        mounts: vec![SeenMount {
            mount: Mount {
                id: 1,
                device,
                root: "/".into(),
                mount_point: PathBuf::from("/data"),
                options: "rw".to_owned(),
                filesystem: "btrfs".to_owned(),
                source: source.into(),
            },
            process,
        }],
        ..AllMounts::default()
    };
    let on = |device: &str, process| Use::Mounted {
        device: device.to_owned(),
        at: PathBuf::from("/data"),
        filesystem: "btrfs".to_owned(),
        process,
    };
    let member =
        |device: &str| Use::Member { device: device.to_owned(), filesystem: "5d6a".to_owned() };
    let (node, none) = (folder.join("node"), Path::new("none"));
    // A filesystem with a number, and one over several disks that names one of them.
    assert_eq!(mounted(&mounts((8, 0), none, None), &related), [on("sda", None), member("sdb")]);
    let second = mounted(&mounts((8, 16), none, Some(7)), &related);
    assert_eq!(second, [on("sdb", Some(7)), member("sda")]);
    assert_eq!(mounted(&mounts((0, 40), &node, None), &related), [on("sda", None), member("sdb")]);
    // Others' mounts; the source of a filesystem that has a number says nothing.
    for (numbers, source) in [((0, 40), none), ((8, 48), none), ((8, 48), node.as_path())] {
        let found = mounted(&mounts(numbers, source, None), &related);
        assert_eq!(found, [member("sda"), member("sdb")], "{numbers:?}");
    }
    assert_eq!(mounted(&mounts((8, 0), none, None), &related[2..]), []);
}

#[test]
fn swap_and_loop_devices_that_the_tables_name_are_uses() {
    let name = "swap_and_loop_devices_that_the_tables_name_are_uses";
    let within = is_within(name, |folder, sys| {
        let path = image(&folder.join("image"));
        image(&folder.join("other"));
        let swaps = format!(
            "Filename\tType\tSize\tUsed\tPriority\n{} file\t8\t0\t-2\n/nowhere file\t8\t0\t-3\n",
            path.display()
        );
        fs::write(folder.join("swaps"), swaps).unwrap();
        for (disk, minor) in [("loop901", 901), ("loop902", 902)] {
            sys.add(disk, &format!("7:{minor}"));
            sys.write(&format!("devices/{disk}/loop/backing_file"), path.to_str().unwrap());
        }
    });
    let Some(folder) = within else { return };
    let (path, other) = (folder.join("image"), folder.join("other"));
    let swap = Use::Swap { path: path.clone() };
    assert_eq!(swapped(&[], Some(id(&path))), (vec![swap.clone()], None));
    assert_eq!(swapped(&[], Some(id(&other))), (Vec::new(), None));
    assert_eq!(swapped(&[], None), (Vec::new(), None));

    let by = |name: &str| Use::Attached { device: path.display().to_string(), by: name.to_owned() };
    let found = of_file(id(&path)).unwrap();
    assert_eq!(found.list, [swap.clone(), by("loop901"), by("loop902")]);
    // Their nodes are missing: nobody can be asked what is really attached.
    assert_eq!(found.unseen.unwrap().path, Path::new("/dev/loop901"));
    assert_eq!(of_file(id(&other)).unwrap().list, []);
    let device = named("loop901");
    let backing = AttachedLoop::of(&device).unwrap();
    let found = of_device(&device, Some(&backing)).unwrap();
    assert_eq!(found.list, [swap, by("loop902")]);
    assert_eq!(found.unseen.unwrap().path, Path::new("/dev/loop901"));
}
