//! Methods for whole devices on a loop device: each completes, and its discards reach the device
//! and the image below.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use tempfile::tempdir;
use tests::Need::{Loop, Root, Tracing};
use tests::machine::beside;
use tests::program::Run;
use tests::tracepoints::{Kind, Recorded, Trace};
use tests::{LoopDevice, requires};
use trimbench_core::exit;
use trimbench_core::units::{index, rounded};
use trimbench_results::Step;

use super::program;

/// Every method, with options that leave the procedure as it is and its samples fewer. The one
/// before the last fills the device last, and so leaves it full.
const RUNS: [(&str, &[&str]); 6] = [
    (
        "delete-stall",
        &[
            "sizes=16MiB,32MiB,64MiB",
            "span=32MiB",
            // A rate that a virtual machine keeps: discards count here, and not latencies.
            "rate=100",
            "repetitions=1",
            "patience=0s",
            "window=1s",
            "rest=0s",
            "lead=100ms",
        ],
    ),
    (
        "trim-sweep",
        &[
            "sizes=4KiB,64KiB,1MiB",
            "reference=1MiB",
            "commands=40",
            "row-bytes-max=40MiB",
            "rest=0s",
            "load-time=200ms",
            "load-span=32MiB",
        ],
    ),
    ("trim-integrity", &["region=8MiB", "guard=64KiB"]),
    ("steady-state", &["precondition=100%", "round-share=5%"]),
    ("recovery", &["torture=10%", "rest=0s"]),
    ("idle-trim", &["repetitions=1", "rest=0s"]),
];
/// Of the sweep whose discards are counted at the device.
const SWEEP: [&str; 7] = [
    "sizes=4KiB,64KiB,1MiB,8MiB",
    "reference=8MiB",
    "row-bytes-max=256MiB",
    "commands=100",
    "rest=0s",
    "load-time=200ms",
    "load-span=64MiB",
];
/// A sector of the kernel, whatever the device's logical block is.
const SECTOR: f64 = 512.0;

/// A run to any end, with its record in a folder that is removed.
fn run_on(device: &LoopDevice, method: &str, options: &[&str]) -> Run {
    let folder = tempdir().unwrap();
    let place = folder.path().join("run");
    let mut command = program().run_command(method, (device.node(), options), &place);
    let output = program().call(command.arg("--destroy").arg(device.image())).unwrap();
    Run::read(output, &place).unwrap()
}

/// The share of an image that is allocated.
fn allocated(device: &LoopDevice) -> f64 {
    // What the device was told to free is freed once the filesystem's log says so.
    let synced = Command::new("sync").arg("--file-system").arg(device.image()).status().unwrap();
    assert!(synced.success());
    let image = std::fs::metadata(device.image()).unwrap();
    image.blocks() as f64 * SECTOR / image.len() as f64
}

#[test]
fn every_method_completes_and_its_discards_free_space_of_the_image() {
    const TEST: &str =
        "loop_device::every_method_completes_and_its_discards_free_space_of_the_image";
    if !requires(TEST, &[Root, Loop]) {
        return;
    }
    let _machine = beside();
    let device = LoopDevice::new(512);
    for (method, options) in RUNS {
        let Run { output, session } = run_on(&device, method, options);
        // Load of others makes a run invalid, and there may be some.
        assert!(matches!(output.status, Some(0 | 4)), "{method}: {}", output.complaint());
        assert!(session.finished && session.headline().is_some(), "{method}: {}", output.stdout);
        if method == "recovery" {
            assert!(allocated(&device) >= 0.98, "all of it was written");
            assert!(session.figure("trimmed-of-fresh").is_none(), "TRIM is the only purge");
            let words = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = "not measurable against fresh: purged by TRIM";
            assert!(words.contains(why), "{words}");
        }
    }
    assert!(allocated(&device) <= 0.01, "`idle-trim` ends with a TRIM of everything");
}

/// The sectors of each discard that the device must have completed for a row: of those that prepare
/// it, then of its own, which the kernel neither merges nor cuts.
fn expected(row: &Step) -> Vec<u64> {
    let sectors = |bytes: f64| rounded(bytes / SECTOR);
    let issued = row.metrics["commands_issued"];
    let own = sectors(row.metrics["discarded_bytes_issued"] / issued);
    let mut all = Vec::new();
    if row.kind.starts_with("trimmed") {
        let planned = index(rounded(row.parameters["commands_planned"]));
        all = vec![sectors(row.parameters["size_bytes"]); planned];
    }
    all.resize(all.len() + index(rounded(issued)), own);
    all
}

#[test]
fn each_discard_of_the_sweep_is_one_discard_at_the_device() {
    const TEST: &str = "loop_device::each_discard_of_the_sweep_is_one_discard_at_the_device";
    if !requires(TEST, &[Root, Loop, Tracing]) {
        return;
    }
    let _machine = beside();
    let device = LoopDevice::new(2048);
    let trace = Trace::of(device.node(), Recorded::Discards).unwrap();
    let Run { output, session } = run_on(&device, "trim-sweep", &SWEEP);
    let (events, lost) = trace.recorded().unwrap();
    drop(trace);
    assert_eq!(lost, 0, "the trace is whole");
    let code = if session.is_valid() { exit::DONE } else { exit::INVALID };
    output.expect_status(code).unwrap();
    let of_kind = |kind| events.iter().filter(move |event| event.kind == kind);
    let completed: Vec<u64> = of_kind(Kind::Complete).map(|event| event.sectors).collect();
    assert_eq!(completed.len(), of_kind(Kind::Issue).count());
    assert!(events.iter().all(|event| event.error == 0), "no discard failed");

    // The load alone sends no discards.
    let rows: Vec<&Step> =
        session.steps.iter().filter(|row| !["purge", "load-alone"].contains(&&*row.id)).collect();
    assert!(rows.iter().any(|row| row.kind.ends_with("-unaligned")));
    let total: usize = rows.iter().map(|row| expected(row).len()).sum();
    // What comes before the first row is the purge.
    let mut rest = &completed[completed.len().checked_sub(total).unwrap()..];
    for row in rows {
        let own = expected(row);
        let (of_row, behind) = rest.split_at(own.len());
        rest = behind;
        assert!(of_row == own, "{}: {of_row:?}, not {own:?}", row.id);
        let [completed, issued] =
            ["commands_completed", "commands_issued"].map(|key| rounded(row.metrics[key]));
        assert_eq!(completed, issued, "{}", row.id);
    }
}
