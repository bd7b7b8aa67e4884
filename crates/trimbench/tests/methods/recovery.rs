//! `recovery` on emulated drives and on filesystems on them: what fragments a drive, what heals it,
//! and what flatters it.

use super::program;

/// It maps every 4 KiB by itself and keeps no coarser units, so that one pass heals it completely,
/// where a real drive is often healed in part.
#[test]
fn trim_and_a_second_pass_restore_the_speed_of_a_fragmented_drive() {
    let run = program().run("recovery", "sim:generic-nvme-tlc", &[]).unwrap();
    let pass = |name| run.throughput(name).unwrap();
    let (fresh, fragmented) = (pass("fresh"), pass("fragmented"));
    assert!(pass("trimmed") / fresh >= 0.98, "{} of {fresh} MB/s", pass("trimmed"));
    assert!(fragmented / fresh <= 0.7, "{fragmented} of {fresh} MB/s");
    // From which on the method says that it has healed.
    assert!(pass("self-healed") / fragmented >= 1.02, "{} MB/s", pass("self-healed"));
}

#[test]
fn compressible_data_flatter_a_drive_that_compresses_and_the_report_says_so() {
    let options = ["compare-data=compressible-10%"];
    let run = program().run("recovery", "sim:generic-sata-compressing", &options).unwrap();
    let (honest, flattered) = (run.throughput("fragmented"), run.throughput("fragmented-compared"));
    let ratio = flattered.unwrap() / honest.unwrap();
    assert!(ratio >= 1.5, "{ratio} times as fast");
    let report = run.output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "compressible data make the drive look better than it is",
        "compressible-data: the data could be compressed",
    ] {
        assert!(report.contains(said), "{report}");
    }
}

/// \[S2\]: without TRIM a filesystem on an aged drive is slow, and one large file that is copied
/// and deleted cures it.
#[test]
fn a_large_file_that_is_copied_and_deleted_cures_a_filesystem_without_trim() {
    for filesystem in ["ext4", "xfs", "btrfs", "f2fs"] {
        let target = format!("{filesystem}:sim:like-m4-256,capacity=2GiB");
        let run = program().run("recovery", &target, &["free-space=90%"]).unwrap();
        let value = |id| run.value(id).unwrap();
        assert!(value("fragmented-of-fresh") <= 0.7, "{filesystem}");
        assert!(value("copied-of-fresh") >= 0.95, "{filesystem}");
        assert!(value("trimmed-of-fresh") >= 0.98, "{filesystem}");
        assert!(value("fstrim-time") <= 0.05 * value("copy-time"), "{filesystem}");
    }
}
