//! Each trap is found in the system that has it, and not in that system without its cause.

use trimbench_doctor::Diagnosis;

use crate::tree_file::RecordedTree;

fn has(found: &Diagnosis, id: &str) -> bool {
    found.traps.iter().any(|trap| trap.id == id)
}

/// The trap is there, and gone once the system is changed.
fn check(id: &str, place: &str, with: &RecordedTree, without: &RecordedTree) {
    let (with, without) = (with.diagnose(place), without.diagnose(place));
    assert!(has(&with, id), "{id}: {:#?}", with.traps);
    assert!(!has(&without, id), "{id}: {:#?}", without.traps);
}

fn tree(name: &str) -> RecordedTree {
    RecordedTree::named(name)
}

/// Another set of mounts.
fn mounted(name: &str, line: &str) -> RecordedTree {
    tree(name).without("/proc/self/mountinfo").with(&format!("/proc/self/mountinfo: {line}"))
}

const SDA1: &str = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw";
const KERNEL: &str = "/proc/sys/kernel/osrelease";

#[test]
fn a_drive_whose_queued_trim_loses_data() {
    let trim = "/sys/devices/pci0000:00/0000:00:17.0/ata1/link1/dev1.0/ata_device/dev1.0/trim";
    let name = "sata-queued-trim-quirk";
    check("queued-trim-quirk", "/", &tree(name), &tree(name).with(&format!("{trim}: queued")));
    let unqueued = tree(name).with(&format!("{trim}: unqueued"));
    check("unqueued-trim", "/", &unqueued, &tree(name));
}

#[test]
fn a_filesystem_that_is_trimmed_twice() {
    let timer = "/etc/systemd/system/timers.target.wants/fstrim.timer";
    check("trimmed-twice", "/", &tree("nvme-twice"), &tree("nvme-twice").without(timer));
}

#[test]
fn swap_that_discards_on_the_same_drive() {
    let name = "nvme-twice";
    let off =
        tree(name).without("/etc/fstab").with("/etc/fstab: UUID=1234-abcd / ext4 discard 0 1");
    check("swap-discards", "/", &tree(name), &off);
}

#[test]
fn xfs_whose_log_holds_discards_back_and_whose_fstrim_skips() {
    let name = "multipath-san";
    let off = "30 1 253:0 / /srv rw - xfs /dev/mapper/mpatha rw";
    check("xfs-log-holds-discards", "/srv", &tree(name), &mounted(name, off));
    let older = tree(name).with(&format!("{KERNEL}: 6.9.1"));
    check("xfs-skips-small-extents", "/srv", &tree(name), &older);
}

#[test]
fn ext4_that_discards_inside_rm() {
    let name = "sata-plain";
    let writeback = mounted(name, &format!("{SDA1},data=writeback,discard"));
    check("discards-inside-rm", "/", &writeback, &tree(name));
    let without_journal = tree(name).with("/sys/fs/ext4/sda1/lifetime_write_kbytes: 1");
    let with_journal = tree(name).with("/sys/fs/ext4/sda1/journal_task: 77");
    check("discards-inside-rm", "/", &without_journal, &with_journal);
}

#[test]
fn ext4_that_discards_free_neighbours_again() {
    let name = "sata-plain";
    let older = tree(name).with(&format!("{KERNEL}: 6.6.10"));
    check("ext4-trims-neighbours", "/", &tree(name), &older);
}

#[test]
fn ext4_whose_fstrim_has_a_least_length() {
    let file = "/etc/systemd/system/fstrim.service.d/local.conf";
    for option in ["--minimum 1M", "--minimum=1M", "-m 1M", "-m1M"] {
        let line = format!("{file}: ExecStart=/sbin/fstrim --all {option} --quiet");
        check("ext4-minlen", "/", &tree("sata-plain").with(&line), &tree("sata-plain"));
    }
}

#[test]
fn btrfs_that_discards_unasked_and_has_much_unallocated() {
    let name = "btrfs-default";
    let asked = tree(name)
        .with("/etc/fstab: UUID=11111111-2222-3333-4444-555555555555 / btrfs discard=async 0 0");
    check("btrfs-async-by-default", "/", &tree(name), &asked);
    let folder = "/sys/fs/btrfs/11111111-2222-3333-4444-555555555555/allocation/data/disk_total";
    let full = tree(name).with(&format!("{folder}: 998000000000"));
    check("btrfs-unallocated", "/", &tree(name), &full);
}

#[test]
fn mounts_that_the_timer_leaves_out() {
    let name = "sata-queued-trim-quirk";
    check("read-only", "/", &mounted(name, &SDA1.replace("rw", "ro")), &tree(name));
    let notrim = tree(name)
        .without("/etc/fstab")
        .with("/etc/fstab: UUID=1234-abcd / ext4 defaults,X-fstrim.notrim 0 1");
    check("notrim", "/", &notrim, &tree(name));
}

#[test]
fn arrays_with_unequal_or_untrusted_members() {
    let drive = "/sys/devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0";
    let equal = tree("md-raid1-mixed")
        .with(&format!("{drive}/block/sdb/queue/discard_max_bytes: 2147450880"));
    check("mixed-members", "/srv", &tree("md-raid1-mixed"), &equal);
    let mut zeros = tree("md-raid5-safe");
    for index in 0..3 {
        let place = format!("ata{}/host{index}/target{index}:0:0/{index}:0:0:0", index + 1);
        let place = format!("/sys/devices/pci0000:00/0000:00:17.0/{place}/vpd_pgb2");
        zeros = zeros.with(&format!("{place}: %00%b2%00%04%00%24%00%00"));
    }
    check("parity-without-zeros", "/srv", &tree("md-raid5-safe"), &zeros);
}

#[test]
fn pools_whose_chunks_are_larger_than_what_deletions_free() {
    let mut fine = tree("thin-pool");
    for index in [2, 3] {
        let queue = format!("/sys/devices/virtual/block/dm-{index}/queue/discard_granularity");
        fine = fine.with(&format!("{queue}: 65536"));
    }
    check("thin-chunk", "/srv", &tree("thin-pool"), &fine);
    let name = "lvm-on-luks";
    let queue = "/sys/devices/virtual/block/dm-0/queue/discard_granularity";
    check(
        "coarse-granularity",
        "/home",
        &tree(name).with(&format!("{queue}: 1048576")),
        &tree(name),
    );
}

#[test]
fn queues_that_throttle_split_or_misalign() {
    let queue = "/sys/devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/queue";
    let name = "lvm-on-luks";
    let wbt = tree(name).with(&format!("{queue}/wbt_lat_usec: 2000"));
    check("throttled-discards", "/home", &wbt, &tree(name));
    let small = tree(name).with(&format!("{queue}/discard_max_bytes: 1048576"));
    check("smaller-discard-max", "/home", &small, &tree(name));
    let off = tree(name)
        .with(&format!("{queue}/discard_granularity: 1048576"))
        .with(&format!("{}/discard_alignment: 512", queue.trim_end_matches("/queue")));
    check("misaligned", "/home", &off, &tree(name));
}

#[test]
fn usb_without_a_queue() {
    let driver = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/scsi_host/host6";
    let name = "usb-bridge-silent";
    let uas = tree(name).with(&format!("{driver}/proc_name: uas"));
    check("usb-without-queue", "/media/disk", &tree(name), &uas);
}
