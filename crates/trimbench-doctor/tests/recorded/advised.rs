//! What is said to change: it works where it is typed, and breaks nothing that nobody can see.

use trimbench_doctor::{Diagnosis, Reach};

use crate::tree_file::RecordedTree;

/// What decides, as one text, and the lines to type, each behind its file or `#`.
fn advice(found: &Diagnosis) -> (String, Vec<String>) {
    let stops = match &found.reach {
        Reach::DoesNot { stops, .. } => stops.as_slice(),
        Reach::CannotTell { unknown } => unknown.as_slice(),
        Reach::Reaches { .. } | Reach::HasNoDrive => &[],
    };
    let why: Vec<&str> = stops.iter().map(|stop| stop.why.as_str()).collect();
    let lines = stops.iter().flat_map(|stop| &stop.lines);
    let lines = lines.map(|line| match line.file {
        Some(file) => format!("{file}: {}", line.text),
        None => format!("# {}", line.text),
    });
    (why.join("; "), lines.collect())
}

fn typed(tree: &RecordedTree, place: &str) -> Vec<String> {
    advice(&tree.diagnose(place)).1
}

const VDA: &str = "/sys/devices/pci0000:00/0000:00:02.3/0000:04:00.0/virtio2/block/vda/queue";

/// The guest does not know the format of its image: to name one could destroy what is in it.
#[test]
fn a_host_is_told_what_to_add_and_not_what_it_has_already() {
    let without = || {
        let tree = RecordedTree::named("virtio-blk");
        tree.with(&format!("{VDA}/discard_max_bytes: 0"))
            .with(&format!("{VDA}/discard_max_hw_bytes: 0"))
    };
    for tree in [RecordedTree::named("virtio-blk"), without()] {
        let lines = typed(&tree, "/");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("add `discard='unmap'`"), "{lines:?}");
        assert!(!lines[0].contains("type="), "{lines:?}");
    }
    let xen = typed(&RecordedTree::named("xen-without-discards"), "/");
    assert!(xen[0].contains("add `discard` to"), "{xen:?}");
    // Whose machine is in a cloud has no definition to change.
    for vendor in ["Hetzner", "Google Compute Engine", "OracleCloud.com"] {
        let cloud = format!("/sys/class/dmi/id/sys_vendor: {vendor}");
        for tree in [RecordedTree::named("virtio-blk").with(&cloud), without().with(&cloud)] {
            let (why, lines) = advice(&tree.diagnose("/"));
            assert!(why.contains("cloud") && lines.is_empty(), "{vendor}: {why} {lines:?}");
        }
    }
    let (why, lines) = advice(&RecordedTree::named("cloud-google-pd").diagnose("/"));
    assert!(why.contains("cloud") && lines.is_empty(), "{why} {lines:?}");
}

const TIMER: &str = "# systemctl enable --now fstrim.timer";
const BACKING: &str = "/sys/devices/virtual/block/loop0/loop/backing_file";

/// After an unmount the loop device is gone, and with it the UUID.
#[test]
fn a_filesystem_in_a_file_is_listed_by_that_file() {
    let image = || RecordedTree::named("loop-image");
    let line = |spec: &str, options: &str| {
        format!("/etc/fstab: {spec} /mnt/image ext4 {options},nofail 0 0")
    };
    assert_eq!(typed(&image(), "/mnt/image"), [TIMER.to_owned(), line("/srv/data.img", "loop")]);
    for file in ["/srv/my data.img", "/srv/data.img (deleted)"] {
        let tree = image().with(&format!("{BACKING}: {file}"));
        let spec = line("/IMAGE-FILE", "loop");
        assert_eq!(typed(&tree, "/mnt/image"), [TIMER.to_owned(), spec], "{file}");
    }
    let part = image().with("/sys/devices/virtual/block/loop0/loop/offset: 1048576");
    let spec = line("/srv/data.img", "loop,offset=1048576");
    assert_eq!(typed(&part, "/mnt/image"), [TIMER.to_owned(), spec]);
    // A partition in the file, 1 MiB behind its start.
    let partition = "/sys/devices/virtual/block/loop0/loop0p1";
    let part = image()
        .with(&format!("{partition}/partition: 1"))
        .with(&format!("{partition}/start: 2048"))
        .with(&format!("{partition}/size: 16384"))
        .with("/sys/class/block/loop0p1 -> ../../devices/virtual/block/loop0/loop0p1")
        .with("/sys/dev/block/259:7 -> ../../devices/virtual/block/loop0/loop0p1")
        .with_mounts("60 22 259:7 / /mnt/image rw - ext4 /dev/loop0p1 rw");
    let spec = line("/srv/data.img", "loop,offset=1048576,sizelimit=8388608");
    assert_eq!(typed(&part, "/mnt/image"), [TIMER.to_owned(), spec]);
    // Its own line stays as it is.
    let listed = image().with("/etc/fstab: /srv/data.img /mnt/image ext4 loop,X-fstrim.notrim");
    let line = "/etc/fstab: /srv/data.img /mnt/image ext4 loop 0 0".to_owned();
    assert_eq!(typed(&listed, "/mnt/image"), [TIMER.to_owned(), line]);
}

#[test]
fn an_empty_fstab_lists_nothing_and_needs_no_line_for_the_timer() {
    let sata = || {
        let tree = RecordedTree::named("sata-queued-trim-quirk").without("/usr/lib/systemd");
        tree.without("/etc/systemd").with_mounts("22 1 8:1 / /srv rw - ext4 /dev/sda1 rw")
    };
    let remount = "# mount -o remount,discard /srv".to_owned();
    let line = "/etc/fstab: UUID=FILESYSTEM-UUID /srv ext4 defaults,nofail,discard 0 2".to_owned();
    for content in ["", "# nothing here"] {
        let tree = sata().with_fstab(content);
        assert_eq!(typed(&tree, "/srv"), [line.clone(), remount.clone()], "{content:?}");
    }
    // With one line of its own it would list that one only.
    for content in ["", "# nothing here"] {
        let off = RecordedTree::named("sata-plain").with_fstab(content);
        let off = off.with_mounts("22 1 8:1 / /srv rw - ext4 /dev/sda1 rw");
        assert_eq!(typed(&off, "/srv"), [TIMER], "{content:?}");
    }
}

/// A remount with `discard` changes nothing of it, and the timer leaves it out.
#[test]
fn what_is_mounted_read_only_is_trimmed_by_hand_or_not_at_all() {
    let mounted = |kind: &str, options: &str| {
        let mount = format!("22 1 8:1 / /srv ro - {kind} /dev/sda1 {options}");
        let found = RecordedTree::named("sata-plain").with_mounts(&mount).diagnose("/srv");
        let (why, lines) = advice(&found);
        assert!(why.contains("read-only"), "{kind}: {why}");
        let note = found.traps.iter().find(|trap| trap.id == "read-only").unwrap();
        (lines, note.text.contains("by hand trims it"))
    };
    let by_hand = vec!["# fstrim --verbose /srv".to_owned()];
    for (kind, options) in [("ext4", "ro"), ("xfs", "ro"), ("btrfs", "ro,rescue=usebackuproot")] {
        assert_eq!(mounted(kind, options), (by_hand.clone(), true), "{kind}");
    }
    // There it fails with EROFS, or nobody has looked.
    for (kind, options) in [
        ("ext4", "ro,norecovery"),
        ("ext4", "ro,noload"),
        ("xfs", "ro,norecovery"),
        ("btrfs", "ro,nologreplay"),
        ("btrfs", "ro,rescue=usebackuproot:nologreplay"),
        ("f2fs", "ro"),
        ("nilfs2", "ro"),
    ] {
        assert_eq!(mounted(kind, options), (Vec::new(), false), "{kind} {options}");
    }
}

/// What `doctor` without a path looks at.
fn all(tree: &RecordedTree) -> Vec<String> {
    tree.doctor().diagnose_all().into_iter().map(|found| found.place).collect()
}

#[test]
fn images_that_are_only_read_have_nothing_to_trim() {
    let snaps = RecordedTree::named("snaps");
    assert_eq!(all(&snaps), ["/"]);
    let found = snaps.diagnose("/snap/core20/2599");
    assert_eq!(found.reach, Reach::HasNoDrive);
    let why = found.nothing_to_trim().unwrap();
    assert_eq!(why, "it is a read-only squashfs, which never frees blocks");
    assert!(found.traps.is_empty(), "{:?}", found.traps);
    for (kind, mode, is_image) in [
        ("erofs", "ro", true),
        ("iso9660", "ro", true),
        ("cramfs", "ro", true),
        ("romfs", "ro", true),
        ("udf", "ro", true),
        ("udf", "rw", false),
        ("ext4", "ro", false),
    ] {
        let mount = format!("60 22 7:0 / /mnt {mode} - {kind} /dev/loop0 {mode}");
        let found = RecordedTree::named("snaps").with_mounts(&mount).diagnose("/mnt");
        assert_eq!(found.reach == Reach::HasNoDrive, is_image, "{kind} {mode}");
        assert_eq!(found.nothing_to_trim().is_some(), is_image, "{kind} {mode}");
    }
}

#[test]
fn the_folder_of_all_devices_is_none_of_them() {
    let tree = RecordedTree::named("sata-plain")
        .with("/proc/self/mountinfo: 25 22 0:6 / /dev rw - devtmpfs udev rw");
    for place in ["/dev", "/dev/", "/dev/mapper"] {
        let found = tree.diagnose(place);
        assert_eq!(found.reach, Reach::HasNoDrive, "{place}: {found:?}");
    }
    for name in ["", ".", ".."] {
        assert!(tree.doctor().diagnose_device(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_relative_upper_directory_is_not_said_to_be_hidden() {
    let mount = "50 1 0:48 / / rw - overlay overlay rw,lowerdir=l,upperdir=u/diff,workdir=w";
    let tree = RecordedTree::named("container-masked").with_mounts(mount);
    let (why, _) = advice(&tree.diagnose("/"));
    assert!(why.contains("relative upper directory (`u/diff`)"), "{why}");
    assert!(!why.contains("container"), "{why}");
    let (why, _) = advice(&RecordedTree::named("container-masked").diagnose("/"));
    assert!(why.contains("as in a container"), "{why}");
}
