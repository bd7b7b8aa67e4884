//! Devices that no test can attach (drives, partitions of them, what stands on them): in a mount
//! namespace of the test's own, where `/sys` and `/dev` are folders that it has filled.

use super::*;
use crate::claim::signatures::Signature;
use crate::testing::{Sys, folder_apart, run_apart};

type Attributes = &'static [(&'static str, &'static str)];

/// Each device: its folder in `/sys/devices`, its minor number, and its attributes. No driver has
/// the major number, which is kept for local use, and no likely machine so many disks.
const MAJOR: u32 = 240;
const DEVICES: &[(&str, u32, Attributes)] = &[
    (
        "sdzy",
        1000,
        &[
            ("size", "2000"),
            ("ro", "0"),
            ("diskseq", "7"),
            ("device/vendor", "ATA     "),
            ("device/model", "Samsung SSD 860"),
            ("device/serial", "S3Z8"),
            ("device/wwid", "naa.5002538e"),
            ("queue/logical_block_size", "512"),
            ("queue/rotational", "0"),
        ],
    ),
    (
        "sdzy/sdzy1",
        1001,
        &[
            ("partition", "1"),
            ("start", "2048"),
            ("size", "100"),
            ("ro", "1"),
            ("holders/dm-90", ""),
            ("holders/dm-91", ""),
        ],
    ),
    (
        "dm-90",
        1002,
        &[
            ("size", "80"),
            ("ro", "0"),
            ("dm/uuid", "CRYPT-LUKS2-0123"),
            ("dm/name", "secret"),
            ("slaves/sdzy1", ""),
            ("slaves/sdzz", ""),
            ("holders/dm-91", ""),
        ],
    ),
    (
        "dm-91",
        1003,
        &[
            ("size", "4096"),
            ("ro", "0"),
            ("dm/uuid", "LVM-4567"),
            ("dm/name", "group-volume"),
            ("slaves/dm-90", ""),
            ("slaves/sdzy1", ""),
            ("queue/logical_block_size", "4096"),
        ],
    ),
    (
        "sdzz",
        1004,
        &[
            ("size", "2048"),
            ("ro", "1"),
            ("device/vendor", "QEMU"),
            ("device/model", "QEMU HARDDISK"),
            ("queue/rotational", "0"),
            ("holders/dm-90", ""),
        ],
    ),
    ("sdzz/sdzz1", 1005, &[("partition", "1"), ("start", "64"), ("size", "64"), ("ro", "0")]),
    ("loop8", 1008, &[("size", "8"), ("ro", "0"), ("loop/backing_file", "/image8")]),
    (
        "loop9",
        1009,
        &[
            ("size", "8"),
            ("ro", "0"),
            ("loop/backing_file", "/image9"),
            ("loop/offset", "4096"),
            ("loop/sizelimit", "0"),
        ],
    ),
    (
        "loop10",
        1010,
        &[
            ("size", "8"),
            ("ro", "0"),
            ("loop/backing_file", "/image10"),
            ("loop/offset", "0"),
            ("loop/sizelimit", "4096"),
        ],
    ),
    ("loop11", 1011, &[("size", "8"), ("ro", "0"), ("loop/backing_file", "/dev/sdzz")]),
];

/// Has the kernel show these folders, and become the test. Images lie on a filesystem that is said
/// to stand on `sdzy1`.
const SCRIPT: &str = "
    mount --bind \"$folder/sys\" /sys
    mount -t tmpfs -o mode=755 none /dev
    mknod /dev/null c 1 3
    while read -r name minor; do mknod \"/dev/$name\" b 240 \"$minor\"; done < \"$folder/nodes\"
    mkdir -p /dev/disk/by-id
    for link in ata-Samsung_S3Z8-part1 wwn-0x5002538e-part1 lvm-pv-uuid-89ab; do
        ln -s ../../sdzy1 \"/dev/disk/by-id/$link\"
    done
    mount -t tmpfs -o mode=755 /dev/sdzy1 \"$folder/place\"";

/// Runs `check` where these are the devices; it is given the folder for images.
fn on_the_machine(test: &str, check: impl FnOnce(&Path)) {
    if let Some(folder) = folder_apart() {
        check(&folder.join("place"));
    } else if requires(test, &[APART]) {
        let folder = folder();
        fill(folder.path());
        run_apart(module_path!(), test, folder.path(), SCRIPT);
    }
}

fn fill(folder: &Path) {
    let sys = Sys::new(folder.join("sys"));
    let place = folder.join("place");
    fs::create_dir(&place).unwrap();
    let mut nodes = Vec::new();
    for (path, minor, attributes) in DEVICES {
        sys.add(path, &format!("{MAJOR}:{minor}"));
        for (attribute, text) in *attributes {
            let text = match *text {
                image if image.starts_with("/image") => format!("{}{image}", place.display()),
                text => text.to_owned(),
            };
            sys.write(&format!("devices/{path}/{attribute}"), &text);
        }
        let name = path.rsplit('/').next().expect("a device has a name");
        // Loop devices may not be asked: what sysfs says of them counts.
        if !name.starts_with("loop") {
            nodes.push(format!("{name} {minor}\n"));
        }
    }
    fs::write(folder.join("nodes"), nodes.concat()).unwrap();
}

/// What is seen of the device that a path leads to. Machines of other tests have disks of the same
/// names, and mounts of them in namespaces of their own.
fn seen_at(path: &Path) -> Inspection {
    let mut seen = all_seen(Inspection::without_signatures(path));
    let elsewhere = |one: &Use| matches!(one, Use::Mounted { process: Some(_), .. });
    seen.uses.list.retain(|one| !elsewhere(one));
    seen
}

fn seen(name: &str) -> Inspection {
    seen_at(&Path::new("/dev").join(name))
}

/// The same of a loop device, by a node that is made for it under another name.
fn seen_loop(name: &str, minor: u32) -> Inspection {
    let node = Path::new("/dev").join(format!("node-of-{name}"));
    let numbers = [MAJOR, minor].map(|number| number.to_string());
    run("mknod", &[node.to_str().unwrap(), "b", &numbers[0], &numbers[1]]);
    seen_at(&node)
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

fn by_id() -> [PathBuf; 2] {
    ["ata-Samsung_S3Z8-part1", "wwn-0x5002538e-part1"]
        .map(|name| Path::new("/dev/disk/by-id").join(name))
}

#[test]
fn a_partition_of_a_drive_is_described_as_sysfs_has_it() {
    on_the_machine("a_partition_of_a_drive_is_described_as_sysfs_has_it", |place| {
        let links = by_id();
        let mut seen = seen_at(&links[0]);
        assert_eq!((&*seen.given, seen.path()), (links[0].as_path(), Path::new("/dev/sdzy1")));
        assert_eq!(seen.device().unwrap().block.name, "sdzy1");
        assert_eq!(seen.device().unwrap().numbers, (MAJOR, 1001));
        assert_eq!((seen.size(), seen.logical_block()), (Bytes(51_200), Some(Bytes(512))));
        assert!(!seen.is_image() && seen.is_physical_ssd());
        assert_eq!(seen.destroy_names(), links);
        assert_eq!(seen.image_filesystem(), None);
        let identity = map(&[
            ("path", "/dev/sdzy1"),
            ("size-bytes", "51200"),
            ("logical-block-bytes", "512"),
            ("kind", "sata"),
            ("device-name", "sdzy1"),
            ("device-number", "240:1001"),
            ("partition-of", "sdzy"),
            ("model", "ATA Samsung SSD 860"),
            ("serial", "S3Z8"),
            ("wwid", "naa.5002538e"),
            ("by-id", "/dev/disk/by-id/ata-Samsung_S3Z8-part1"),
        ]);
        assert_eq!(seen.identity(), identity);
        let device = seen.device().unwrap();
        assert_eq!((device.sequence, device.start), (Some(7), Some(2048)));

        seen.signatures = Ok(vec![Signature {
            device: "sdzy1".to_owned(),
            kind: "ext4".to_owned(),
            offset: "0x438".to_owned(),
            label: None,
        }]);
        let expected = format!(
            "/dev/disk/by-id/ata-Samsung_S3Z8-part1 -> /dev/sdzy1\n\
             |- sdzy1 (240:1001), partition of sdzy, sata, ATA Samsung SSD 860, 50KiB, \
             blocks of 512B, read-only\n\
             |- serial: S3Z8\n\
             |- wwid: naa.5002538e\n\
             |- link: /dev/disk/by-id/ata-Samsung_S3Z8-part1\n\
             |- link: /dev/disk/by-id/wwn-0x5002538e-part1\n\
             |- in use: `sdzy1` is mounted at `{}` (tmpfs)\n\
             |- in use: `dm-90` uses `sdzy1`\n\
             |- in use: `dm-91` uses `sdzy1`\n\
             |- in use: `dm-91` uses `dm-90`\n\
             `- carries: `ext4` at 0x438 of `sdzy1`",
            place.display()
        );
        assert_eq!(seen.to_string(), expected);
        assert_eq!(seen.uses().len(), 4);
    });
}

#[test]
fn all_that_a_stacked_device_stands_on_is_told_once_and_nearest_first() {
    on_the_machine("all_that_a_stacked_device_stands_on_is_told_once_and_nearest_first", |_| {
        let seen = seen("dm-91");
        let below: Vec<String> = seen.below().into_iter().map(|device| device.name).collect();
        assert_eq!(below, ["dm-90", "sdzy1", "sdzz"]);
        let expected = "/dev/dm-91\n\
             |- dm-91 (240:1003), stacked, LVM-4567, 2MiB, blocks of 4KiB\n\
             |- stands on: dm-90 (240:1002), stacked, CRYPT-LUKS2-0123\n\
             |- stands on: sdzy1 (240:1001), partition of sdzy, sata, ATA Samsung SSD 860\n\
             `- stands on: sdzz (240:1004), scsi, QEMU QEMU HARDDISK";
        assert_eq!(seen.to_string(), expected);
        let identity = map(&[
            ("path", "/dev/dm-91"),
            ("size-bytes", "2097152"),
            ("logical-block-bytes", "4096"),
            ("kind", "stacked"),
            ("device-name", "dm-91"),
            ("device-number", "240:1003"),
            ("uuid", "LVM-4567"),
            ("mapper-name", "group-volume"),
        ]);
        assert_eq!(seen.identity(), identity);
        let environment = seen.environment().unwrap();
        let names = ["device-name", "device-name-2", "device-name-3", "device-name-4"];
        assert_eq!(names.map(|key| environment[key].as_str()), ["dm-91", "dm-90", "sdzy1", "sdzz"]);
        assert!(environment.contains_key("kernel") && !environment.contains_key("device-name-1"));
    });
}

#[test]
fn a_physical_ssd_is_told_from_virtual_disks_and_what_stands_on_them() {
    on_the_machine("a_physical_ssd_is_told_from_virtual_disks_and_what_stands_on_them", |_| {
        for (name, expected) in [("sdzy", true), ("sdzy1", true), ("sdzz", false), ("dm-90", false)]
        {
            assert_eq!(seen(name).is_physical_ssd(), expected, "{name}");
        }
    });
}

#[test]
fn a_device_is_read_only_if_it_or_its_disk_is() {
    on_the_machine("a_device_is_read_only_if_it_or_its_disk_is", |_| {
        let read_only = Some(ReadOnly::Device);
        for (name, expected) in
            [("sdzy", None), ("sdzy1", read_only), ("sdzz", read_only), ("sdzz1", read_only)]
        {
            assert_eq!(seen(name).read_only, expected, "{name}");
        }
    });
}

#[test]
fn a_device_holds_the_files_of_filesystems_on_it_and_on_its_partitions() {
    let test = "a_device_holds_the_files_of_filesystems_on_it_and_on_its_partitions";
    on_the_machine(test, |place| {
        let file = image(&place.join("file"), b"", MIB);
        for (name, expected) in [
            ("sdzy", true),
            ("sdzy1", true),
            ("sdzz", false),
            ("sdzz1", false),
            // It stands on the same partition, but the filesystem is not on it.
            ("dm-91", false),
        ] {
            assert_eq!(seen(name).holds(&file).unwrap(), expected, "{name}");
        }
        assert!(!seen("sdzy").holds(Path::new("/dev/sdzy")).unwrap(), "no regular file");
        let image = seen_at(&file);
        assert_eq!(image.image_filesystem().as_deref(), Some("tmpfs"));
        let below = "stands on: sdzy1 (240:1001), partition of sdzy, sata, ATA Samsung SSD 860";
        assert!(image.to_string().ends_with(below), "{image}");
    });
}

#[test]
fn a_loop_device_tells_what_part_of_which_file_it_shows() {
    on_the_machine("a_loop_device_tells_what_part_of_which_file_it_shows", |place| {
        for (name, minor, part) in [
            ("loop8", 1008, ""),
            ("loop9", 1009, " from byte 4096"),
            ("loop10", 1010, " from byte 0"),
        ] {
            let file = image(&place.join(name.replace("loop", "image")), b"", 8192);
            let seen = seen_loop(name, minor);
            let node = seen.path().display();
            let expected = format!(
                "{node}\n\
                 |- {name} (240:{minor}), loop, 4KiB\n\
                 |- shows: {} on tmpfs{part}\n\
                 `- stands on: sdzy1 (240:1001), partition of sdzy, sata, ATA Samsung SSD 860",
                file.display()
            );
            assert_eq!(seen.to_string(), expected);
            assert_eq!(seen.image_filesystem().as_deref(), Some("tmpfs"));
            assert_eq!(seen.destroy_names(), std::slice::from_ref(&file));
            let other = image(&place.join("other"), b"", MIB);
            assert!(seen.holds(&file).unwrap() && !seen.holds(&other).unwrap());
            // The kernel's name of the file leads to another one by now.
            fs::rename(&other, &file).unwrap();
            assert_eq!(seen.destroy_names(), [] as [PathBuf; 0]);
        }
        let over_disk = seen_loop("loop11", 1011);
        let below: Vec<String> = over_disk.below().into_iter().map(|device| device.name).collect();
        assert_eq!(below, ["sdzz"]);
        assert_eq!(over_disk.destroy_names(), [] as [PathBuf; 0]);
    });
}
