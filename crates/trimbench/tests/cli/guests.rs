//! `trimbench attach` in a guest, whose kernel has what this machine's may lack.

use std::fs;

use serde_json::Value;
use xtask::{Guest, GuestKind};

/// Of the guest: contents of a drive are in memory.
const MEMORY_MIB: u32 = 1_024;

#[test]
fn f2fs_on_a_drive_that_is_attached_in_a_guest_is_trimmed() {
    let test = "guests::f2fs_on_a_drive_that_is_attached_in_a_guest_is_trimmed";
    if let Some(missing) = GuestKind::Uml.missing() {
        eprintln!("SKIP {test}: {missing}");
        return;
    }
    let program = env!("CARGO_BIN_EXE_trimbench");
    let script = format!(
        "modprobe -a loop fuse f2fs || exit 1
        drive=$({program} attach generic-sata-tlc --capacity 512MiB --detach) || exit 1
        mkfs.f2fs -q -t 0 $drive && mount -o nodiscard $drive /mnt && fstrim /mnt || exit 2
        {program} attach --stats --json $drive >before
        head -c 64M /dev/zero >/mnt/file && sync && rm /mnt/file && sync && fstrim /mnt || exit 3
        umount /mnt && {program} attach --stats --json $drive && {program} attach --stop $drive"
    );
    let exchange = tempfile::tempdir().unwrap();
    let guest = Guest::new(GuestKind::Uml).memory_mib(MEMORY_MIB);
    let output = guest.exchange(exchange.path()).run(&script).unwrap().checked().unwrap();
    let discarded = |statistics: &str| {
        let statistics: Value = serde_json::from_str(statistics).unwrap();
        let kinds = statistics["statistics"]["kinds"].as_array().unwrap();
        let discards = kinds.iter().find(|kind| kind["kind"] == "discard");
        discards.map_or(0, |it| it["bytes"].as_u64().unwrap())
    };
    let before = discarded(&fs::read_to_string(exchange.path().join("before")).unwrap());
    // All that was never written, and then the file.
    assert!(before > 256 << 20, "{before}");
    assert!(discarded(&output.stdout) - before >= 64 << 20, "{before}: {}", output.stdout);
}
