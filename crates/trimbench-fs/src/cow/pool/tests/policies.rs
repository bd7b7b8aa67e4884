//! Policies are asked for each discard.

use super::*;

/// Seconds from the deletion of 150 MiB to its last discard, and how many there were on each drive;
/// each discard takes 50 us.
fn discarded(manner: TrimManner, policy: &str) -> (f64, u64) {
    let mut device = Device::new();
    device.discard = Nanos::from_micros(50);
    let mut config = config(manner);
    config.policy = Some(policy.parse().expect("a policy"));
    config.group_timeout = Nanos::from_millis(10);
    config.trim_interval = Nanos::from_millis(10);
    (config.trim_timeout, config.trim_pending_max) = (Nanos::from_millis(20), 10);
    let mut machine = Machine::with(config, &device, FaultPlan::default());
    // Every other file is deleted: as many ranges.
    for number in 1..=150 {
        machine.done(store(number, MIB));
    }
    machine.sync();
    for number in (1..=150).step_by(2) {
        machine.done(FileCommand::Unlink { file: file(number) });
    }
    machine.sync();
    let from = machine.target.now();
    machine.pass(SECOND.times(60));
    machine.check(true);
    let discards = machine.log().into_iter().filter(|it| it.kind == OperationKind::Discard);
    let last = discards.map(|it| it.to).max().expect("there are discards");
    let drives = machine.target.drive_discards();
    assert!(drives.iter().all(|drive| drive.waiting == Bytes(0)), "{drives:?}");
    (last.since(from).seconds(), drives.iter().map(|drive| drive.issued.count).max().unwrap())
}

#[test]
fn a_rate_is_kept_in_the_manner_of_freebsd() {
    for manner in [TrimManner::FreeBsd2017, TrimManner::FreeBsd2013] {
        for iops in [100, 1_000] {
            let (seconds, count) = discarded(manner, &format!("rate-limited,iops={iops}"));
            let expected = count as f64 / f64::from(iops);
            let error = (seconds / expected - 1.0).abs();
            assert!(error < 0.1, "{manner:?}: {count} at {iops}/s in {seconds}, not {expected} s");
        }
    }
}

#[test]
fn a_rate_is_kept_in_the_manner_of_openzfs_while_a_metaslab_is_trimmed() {
    // Drive after drive: the rate is that of one. Each of 8 metaslabs adds 6 groups.
    let (seconds, count) = discarded(TrimManner::ZfsAutotrim, "rate-limited,iops=10");
    let expected = 4.0 * count as f64 / 10.0;
    assert!((seconds / expected - 1.0).abs() < 0.1, "{count} in {seconds}, not {expected} s");
    // All drives at once.
    let (seconds, count) = discarded(TrimManner::ZfsTrim, "rate-limited,iops=10");
    let expected = count as f64 / 10.0;
    assert!((seconds / expected - 1.0).abs() < 0.1, "{count} in {seconds}, not {expected} s");
}

#[test]
fn a_depth_is_kept_without_a_wait_for_the_next_pass() {
    let (seconds, count) = discarded(TrimManner::FreeBsd2017, "skip-by-queue,pending-max=100000");
    // Two at once, 50 us each, in passes 10 ms apart.
    assert!(seconds < count as f64 * 50e-6 + 0.5, "{count} in {seconds} s");
}
