//! The verdict, the layer and the cause, of each recorded system; and that fixing the layer turns
//! the verdict.

use trimbench_doctor::{Diagnosis, LayerKind, Reach, Stop, conclusion, lines};

use crate::tree_file::RecordedTree;

/// A recorded system: its file, the place that is asked about, and the verdict.
type Case = (&'static str, &'static str, &'static str, &'static [(LayerKind, &'static str)]);

const CASES: [Case; 27] = [
    ("sata-plain", "/", "reaches", &[]),
    ("sata-queued-trim-quirk", "/", "reaches", &[]),
    ("nvme-twice", "/", "reaches", &[]),
    ("btrfs-default", "/", "reaches", &[]),
    ("lvm-on-luks", "/home", "reaches", &[]),
    ("thin-pool", "/srv", "reaches", &[]),
    ("md-raid5-safe", "/srv", "reaches", &[]),
    ("luks-without-discards", "/", "does-not", &[(LayerKind::DmCrypt, "crypt-without-discards")]),
    ("usb-bridge-full", "/media/disk", "does-not", &[(LayerKind::Drive, "usb-bridge")]),
    ("uas-without-unmap", "/media/disk", "does-not", &[(LayerKind::Drive, "usb-bridge")]),
    ("nvme-without-dsm", "/", "does-not", &[(LayerKind::Drive, "no-dsm")]),
    ("cloud-ebs", "/", "does-not", &[(LayerKind::Drive, "cloud-without-discards")]),
    ("xen-without-discards", "/", "does-not", &[(LayerKind::Drive, "xen-without-discards")]),
    ("raid-controller", "/", "does-not", &[(LayerKind::Drive, "raid-controller")]),
    ("vdo", "/srv", "does-not", &[(LayerKind::DmVdo, "vdo")]),
    ("md-raid5", "/srv", "does-not", &[(LayerKind::Md, "md-parity-unsafe")]),
    ("md-raid1-mixed", "/srv", "does-not", &[(LayerKind::Drive, "no-ata-trim")]),
    ("usb-bridge-silent", "/media/disk", "cannot-tell", &[(LayerKind::Drive, "hidden")]),
    ("cloud-google-pd", "/", "cannot-tell", &[(LayerKind::Drive, "hidden")]),
    (
        "multipath-san",
        "/srv",
        "cannot-tell",
        &[(LayerKind::Drive, "hidden"), (LayerKind::Drive, "hidden")],
    ),
    ("container-masked", "/", "cannot-tell", &[(LayerKind::Overlay, "unknown")]),
    ("container-masked", "/srv", "cannot-tell", &[(LayerKind::Filesystem, "unknown")]),
    ("other-filesystems", "/net", "cannot-tell", &[(LayerKind::Filesystem, "unknown")]),
    ("other-filesystems", "/tmp", "has-no-drive", &[]),
    ("snaps", "/snap/core20/2599", "has-no-drive", &[]),
    ("loop-image", "/mnt/image", "does-not", &[(LayerKind::Filesystem, "nobody-sends")]),
    ("virtio-blk", "/", "cannot-tell", &[(LayerKind::Drive, "hidden")]),
];

/// The verdict, and the layers and causes that decide it.
fn outcome(found: &Diagnosis) -> (&'static str, Vec<(LayerKind, &str)>) {
    let pairs = |stops: &'_ [Stop]| stops.iter().map(|stop| stop.kind).collect::<Vec<_>>();
    let (verdict, stops): (_, &[Stop]) = match &found.reach {
        Reach::Reaches { .. } => ("reaches", &[]),
        Reach::DoesNot { stops, .. } => ("does-not", stops),
        Reach::CannotTell { unknown } => ("cannot-tell", unknown),
        Reach::HasNoDrive => ("has-no-drive", &[]),
    };
    let causes = stops.iter().map(|stop| stop.cause.as_str());
    (verdict, pairs(stops).into_iter().zip(causes).collect())
}

fn verdict(found: &Diagnosis) -> &'static str {
    outcome(found).0
}

#[test]
fn each_recorded_system_gets_its_verdict_and_the_layer_that_decides() {
    for (name, place, verdict, stops) in CASES {
        let found = RecordedTree::named(name).diagnose(place);
        assert_eq!(outcome(&found), (verdict, stops.to_vec()), "{name} {place}");
    }
}

#[test]
fn what_is_printed_fits_in_ten_lines_and_ends_with_the_conclusion() {
    for (name, place, ..) in CASES {
        let found = RecordedTree::named(name).diagnose(place);
        let brief = lines(&found, None, false);
        assert!(brief.len() <= 10, "{name}: {brief:#?}");
        assert_eq!(brief.last(), Some(&conclusion(&found)), "{name}");
        assert_eq!(lines(&found, None, true).last(), Some(&conclusion(&found)), "{name}");
    }
}

#[test]
fn a_layer_that_is_fixed_lets_trim_through() {
    const SAFE: &str = "/sys/module/raid456/parameters/devices_handle_discard_safely: Y";
    let dm = "/sys/devices/virtual/block/dm-0/queue";
    let most = "2199023255040";
    let fixed = [
        RecordedTree::named("luks-without-discards")
            .with(&format!("{dm}/discard_max_bytes: {most}"))
            .with(&format!("{dm}/discard_max_hw_bytes: {most}"))
            .diagnose("/"),
        RecordedTree::named("md-raid5")
            .with(SAFE)
            .with("/sys/devices/virtual/block/md0/queue/discard_max_bytes: 2147450880")
            .diagnose("/srv"),
    ];
    assert_eq!(fixed.map(|found| verdict(&found)), ["reaches"; 2]);
}

#[test]
fn what_only_root_can_see_is_neither_yes_nor_no() {
    let tree = RecordedTree::named("thin-pool").without("/commands/dmsetup_status");
    // Nobody could look: a file that cannot be read. Root reads everything, so it is a folder.
    let tree = tree.with("/commands/dmsetup_status/");
    let found = tree.diagnose("/srv");
    assert_eq!(outcome(&found), ("cannot-tell", vec![(LayerKind::DmThinPool, "unknown")]));
    let kept = RecordedTree::named("thin-pool").with(
        "/commands/dmsetup_status: vg-pool-tpool: 0 204800 thin-pool 1 12/1024 100/1600 - rw \
         no_discard_passdown queue_if_no_space - 1024",
    );
    let found = kept.diagnose("/srv");
    assert_eq!(outcome(&found), ("does-not", vec![(LayerKind::DmThinPool, "pool-keeps-discards")]));
}

#[test]
fn a_discard_limit_of_zero_that_somebody_set_is_named() {
    let nvme = "/sys/devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/queue/discard_max_bytes";
    let found = RecordedTree::named("nvme-twice").with(&format!("{nvme}: 0")).diagnose("/");
    assert_eq!(outcome(&found), ("does-not", vec![(LayerKind::Drive, "discard-max-zero")]));
}

#[test]
fn counters_that_contradict_the_layers_decide() {
    let discarded = |bytes: u64| format!("1 0 8 1 1 0 8 1 0 2 2 9 0 {} 9 5 1", bytes / 512);
    let nvme = "/sys/devices/pci0000:00/0000:00:1d.0/nvme/nvme0/nvme0n1/nvme0n1p1/stat";
    let counted = |top: u64, bottom: u64| {
        RecordedTree::named("lvm-on-luks")
            .with(&format!("/sys/devices/virtual/block/dm-1/stat: {}", discarded(top)))
            .with(&format!("/sys/devices/virtual/block/dm-0/stat: {}", discarded(top)))
            .with(&format!("{nvme}: {}", discarded(bottom)))
            .diagnose("/home")
    };
    let gib = 1 << 30;
    assert_eq!(verdict(&counted(gib, gib)), "reaches");
    assert_eq!(counted(gib, gib / 2).since_start.ratio, Some(0.5));
    let found = counted(gib, 0);
    assert_eq!(outcome(&found), ("does-not", vec![(LayerKind::DmCrypt, "counted-none-below")]));
    // A little is no evidence.
    assert_eq!(verdict(&counted(1 << 20, 0)), "reaches");
}

#[test]
fn a_thousand_mounts_are_looked_at_at_once() {
    let mut tree = RecordedTree::named("sata-plain");
    for index in 0..1_000 {
        let mount = format!("{index} 1 8:1 / /m/{index} rw - ext4 /dev/sda1 rw,discard");
        tree = tree.with(&format!("/proc/self/mountinfo: {index}{mount}"));
    }
    assert_eq!(tree.doctor().diagnose_all().len(), 1);
}

#[test]
fn a_tree_without_mounts_or_sysfs_is_refused_or_cannot_tell() {
    let tree = RecordedTree::named("sata-plain").without("/sys");
    assert_eq!(verdict(&tree.diagnose("/")), "cannot-tell");
    let empty = tempfile::tempdir().unwrap();
    let tree = trimbench_doctor::SystemTree::recorded(empty.path());
    let error = trimbench_doctor::Doctor::new(tree).unwrap_err();
    assert!(error.to_string().contains("/proc/self/mountinfo"), "{error}");
}

#[test]
fn metrics_have_a_line_for_each_end_and_a_verdict_where_there_is_one() {
    let tree = RecordedTree::named("luks-without-discards");
    let text = trimbench_doctor::prometheus(&[&tree.diagnose("/")]);
    for line in [
        "trimbench_trim_reaches{place=\"/\"} 0",
        "trimbench_discarded_bytes_total{place=\"/\",device=\"dm-0\",end=\"top\"} 0",
        "trimbench_discarded_bytes_total{place=\"/\",device=\"nvme0n1p1\",end=\"bottom\"} 0",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} in {text}");
    }
    let hidden = RecordedTree::named("cloud-google-pd").diagnose("/");
    assert!(!trimbench_doctor::prometheus(&[&hidden]).contains("trimbench_trim_reaches{"));
}
