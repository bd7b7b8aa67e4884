//! `trimbench_doctor::watch` on real disks with planted stalls.

use tests::stalled::{STALLED_NEEDS, StallPlant};
use tests::{machine, requires};
use trimbench_core::{Interrupt, Nanos};
use trimbench_doctor::watch::{
    WatchError, WatchOptions, WatchReport, WatchSource, WatchVerdict, watch,
};

const SPAN: Nanos = Nanos::from_secs(8);

/// The report on a planted stall that is named rightly; `None` if it was skipped.
fn named(test: &str, plant: StallPlant) -> Option<WatchReport> {
    if !requires(test, &STALLED_NEEDS) {
        return None;
    }
    let _beside = machine::beside();
    // On a busy machine other stalls may hide the planted one; then a watch must not name another.
    let mut watches = (1..=3).map(|seed| plant.watched(seed, SPAN, false));
    let report = watches.find(|report| {
        assert!(plant.is_not_contradicted(report), "{}", report.conclusion);
        plant.is_named(report)
    });
    let report = report.expect("one watch of three names it");
    let lines = report.to_lines();
    assert!(lines.len() <= 10 && lines.last() == Some(&report.conclusion), "{lines:?}");
    assert_eq!(report.source, WatchSource::Tracepoints);
    assert_eq!(report.events_count_lost, 0);
    let json = serde_json::to_string(&report).expect("its keys are texts");
    assert_eq!(serde_json::from_str::<WatchReport>(&json).ok().as_ref(), Some(&report));
    Some(report)
}

#[test]
fn stalls_by_discards_of_20_ms_are_named_trim() {
    let test = "stalls_by_discards_of_20_ms_are_named_trim";
    let Some(report) = named(test, StallPlant::SlowDiscards) else { return };
    let issuer = &report.findings.discards.issuers[0].thread.name;
    assert!(issuer.starts_with("kworker"), "ext4 discards in a worker: {issuer}");
    assert!(report.findings.discards.latency_ns_mean >= 20_000_000, "{report:#?}");
}

#[test]
fn a_slow_disk_without_discards_is_not_named_trim() {
    let test = "a_slow_disk_without_discards_is_not_named_trim";
    let Some(report) = named(test, StallPlant::SlowDisk) else { return };
    assert_eq!(report.findings.discards.count, 0);
}

#[test]
fn a_frozen_filesystem_is_named_above_the_device() {
    let test = "a_frozen_filesystem_is_named_above_the_device";
    let Some(report) = named(test, StallPlant::FrozenFilesystem) else { return };
    let waits = report.findings.waits_above.unwrap();
    assert!(waits.wait_ns_max >= 1_700_000_000, "{waits:?}");
    assert!(waits.threads_count >= 2, "the two that write: {waits:?}");
    assert!(report.conclusion.contains("(frozen?)"), "{}", report.conclusion);
}

#[test]
fn counters_name_no_request_and_say_so() {
    if !requires("counters_name_no_request_and_say_so", &STALLED_NEEDS) {
        return;
    }
    let _beside = machine::beside();
    let report = StallPlant::SlowDiscards.watched(1, SPAN, true);
    let lines = report.to_lines();
    assert_eq!(report.source, WatchSource::Counters);
    assert!(lines[0].contains("seen by counters: no single request can be named"), "{lines:?}");
    assert!(report.findings.discards.count > 0 && report.findings.discards.issuers.is_empty());
    // It may see too little to accuse, but must not acquit.
    let verdict = report.findings.verdict;
    assert!([WatchVerdict::Trim, WatchVerdict::CannotTell].contains(&verdict), "{report:#?}");
    let report = StallPlant::SlowDisk.watched(1, SPAN, true);
    assert!(StallPlant::SlowDisk.is_named(&report), "{report:#?}");
}

#[test]
fn a_watch_ends_early_and_what_cannot_be_watched_is_refused() {
    let interrupt = Interrupt::default();
    interrupt.request();
    let folder = tests::scratch();
    let mut options = WatchOptions {
        target: folder.path().to_owned(),
        span: Nanos::from_secs(600),
        counters_only: true,
        own_reads: false,
        interrupt,
    };
    let error = watch(&options).unwrap_err();
    assert!(matches!(error, WatchError::NoDevice { .. }), "tmpfs has no device: {error}");
    options.target = folder.path().join("missing");
    assert!(matches!(watch(&options).unwrap_err(), WatchError::Mount(_)));
    let test = "a_watch_ends_early_and_what_cannot_be_watched_is_refused";
    if !requires(test, &[tests::Need::Root, tests::Need::Loop]) {
        return;
    }
    let device = tests::LoopDevice::new(16);
    options.target = device.node().into();
    let report = watch(&options).unwrap();
    assert!(report.interrupted && report.watched_ns < 5_000_000_000, "{report:?}");
    assert_eq!(report.findings.verdict, WatchVerdict::NoStall);
}
