//! What a mass deletion does to the writes after it.

use super::*;

/// A pool whose only room was deleted and waits for its discards: each takes 100 ms.
fn deleted(manner: TrimManner, policy: Option<&str>) -> Machine {
    let mut device = Device::new();
    device.discard = Nanos::from_millis(100);
    let mut config = config(manner);
    config.trim_pending_max = 100;
    config.limits.classes[4].most = config.limits.classes[4].most.min(16);
    config.policy = policy.map(|policy| policy.parse().expect("a policy"));
    let mut machine = Machine::with(config, &device, FaultPlan::default());
    // One metaslab, of 22 MiB of data, and all but one of the others.
    machine.done(store(1, 150 * MIB));
    machine.sync();
    machine.done(FileCommand::Unlink { file: file(1) });
    for _ in 0..4 {
        machine.done(FileCommand::Create { file: file(9) });
        machine.sync();
        machine.done(FileCommand::Unlink { file: file(9) });
    }
    machine
}

/// When each command on the drives came, from now on.
fn starts(machine: &Machine, kind: OperationKind, from: Instant) -> Vec<Instant> {
    let log = machine.log();
    let of_kind = log.iter().filter(|entry| entry.kind == kind && entry.from >= from);
    let mut starts: Vec<Instant> = of_kind.map(|entry| entry.from).collect();
    starts.sort_unstable();
    starts
}

fn last_end(machine: &Machine, kind: OperationKind) -> Instant {
    let log = machine.log();
    log.iter().filter(|entry| entry.kind == kind).map(|entry| entry.to).max().expect("there is one")
}

/// Lets the first discards begin; fills the pool anew until writes are held.
fn write_beside(machine: &mut Machine) -> Instant {
    machine.pass(Nanos::from_millis(1_050));
    let from = machine.target.now();
    machine.submit(1, store(2, 150 * MIB));
    from
}

#[test]
fn a_pass_takes_a_quarter_of_what_waits_too_much() {
    let mut machine = deleted(TrimManner::FreeBsd2017, None);
    let waiting: u64 =
        machine.pool().drives.iter().map(|drive| drive.trimmer.backlog().extents).sum();
    machine.pass(Nanos::from_millis(1_050));
    let left: u64 = machine.pool().drives.iter().map(|drive| drive.trimmer.backlog().extents).sum();
    let taken = waiting - left;
    // A quarter of what is above 100 a drive, a thirtieth of all, and up to 64 more.
    let quarter = (waiting - 400) / 4 + waiting / 30;
    assert!((quarter..=quarter + 4 * 64).contains(&taken), "{taken} of {waiting}");
    assert_eq!(machine.pool().counters().passes, 1);
}

#[test]
fn writes_to_what_a_pass_discards_wait_for_its_end_above_the_drives() {
    let mut machine = deleted(TrimManner::FreeBsd2017, None);
    machine.target.watch_requests(true).unwrap();
    let from = write_beside(&mut machine);
    machine.target.reap(from + SECOND.times(30), &mut Vec::new());
    assert!(machine.pool().counters().parked > 0);
    // More than 64 a drive, 16 at once, 100 ms each: meanwhile the drives are sent no write.
    let writes = starts(&machine, OperationKind::Write, from);
    let gaps = writes.windows(2).map(|pair| pair[1] - pair[0]).max().expect("writes came");
    assert!(gaps > Nanos::from_millis(350), "{gaps}");
    let mut requests = Vec::new();
    machine.target.take_requests(&mut requests);
    let slowest = requests
        .iter()
        .filter(|request| request.kind == OperationKind::Write)
        .map(|request| request.completed - request.issued)
        .max();
    assert_eq!(slowest, Some(Nanos::from_micros(50)), "no drive held a write for longer");
    assert!(requests.iter().all(|request| request.entered == request.issued));
}

#[test]
fn the_pass_of_2013_takes_all_but_64_segments_and_no_more_than_2_gib_wait() {
    let extents = |machine: &Machine| -> Vec<u64> {
        let drives = machine.pool().drives.iter();
        drives.map(|drive| drive.trimmer.backlog().extents).collect()
    };
    let mut machine = deleted(TrimManner::FreeBsd2013, None);
    // All skipped sectors are on the last drive.
    assert_eq!(extents(&machine), [7, 7, 7, 1_200]);
    machine.pass(Nanos::from_millis(1_050));
    // As many as `deleted` lets wait.
    assert_eq!(extents(&machine), [7, 7, 7, 100]);
    let mut config = config(TrimManner::FreeBsd2013);
    (config.trim_pending_max, config.trim_bytes_max) = (u32::MAX, Bytes::mib(2));
    let mut machine = Machine::with(config, &Device::new(), FaultPlan::default());
    machine.done(store(1, 30 * MIB));
    machine.sync();
    machine.done(FileCommand::Unlink { file: file(1) });
    machine.sync();
    machine.pass(SECOND.times(2));
    let waits = machine.target.drive_discards()[DRIVES - 1].waiting;
    let segment = Bytes(11 * 4_096);
    assert!(waits <= Bytes::mib(2) && waits + segment > Bytes::mib(2), "{waits}");
}

#[test]
fn what_is_written_first_needs_no_discard_any_more() {
    let mut machine = deleted(TrimManner::FreeBsd2017, Some("rate-limited,iops=10"));
    machine.done(store(2, 150 * MIB));
    machine.sync();
    machine.check(true);
    let invalidated: u64 = (0..DRIVES)
        .map(|drive| machine.pool().drives[drive].trimmer.counters().invalidated.blocks.0)
        .sum();
    assert!(invalidated * 512 > 100 * MIB, "{invalidated} blocks");
}

#[test]
fn without_a_policy_nothing_is_discarded_and_nothing_waits() {
    let mut machine = deleted(TrimManner::FreeBsd2017, Some("none"));
    machine.pass(SECOND.times(100));
    assert_eq!(starts(&machine, OperationKind::Discard, Instant::START), []);
    assert_eq!(machine.pool().counters().parked, 0);
}

#[test]
fn what_few_extents_free_is_discarded_after_half_a_minute() {
    let mut machine = Machine::new(TrimManner::FreeBsd2017);
    machine.done(store(1, MIB));
    machine.sync();
    machine.done(FileCommand::Unlink { file: file(1) });
    machine.sync();
    let freed = machine.target.now();
    machine.pass(SECOND.times(40));
    let first = starts(&machine, OperationKind::Discard, Instant::START)[0];
    let age = first - freed;
    assert!((SECOND.times(29)..=SECOND.times(31)).contains(&age), "{age}");
    let discarded = bytes(&machine.log(), OperationKind::Discard);
    // 43 sectors of each of 8 records; the padded one is not discarded.
    assert_eq!(discarded, 8 * 43 * 4096);
    assert!(last_end(&machine, OperationKind::Discard) > first);
}
