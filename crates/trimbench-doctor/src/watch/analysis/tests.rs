//! Observations of a disk that serves one request after the other, with planted stalls.

use trimbench_core::Bytes;
use trimbench_core::rng::Rng;

use super::super::observation::{ThreadWait, WatchSource};
use super::super::text::conclusion;
use super::*;

const SPAN: Nanos = Nanos::from_secs(60);

/// What arrives: when, of which class, and how long the disk works on it.
type Arrival = (Nanos, OperationKind, Nanos);

const fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

/// Arrivals at random times with this mean gap.
fn poisson(rng: &mut Rng, gap: Nanos, kind: OperationKind, work: Nanos) -> Vec<Arrival> {
    let mut at = Nanos::ZERO;
    let next = || {
        at += rng.exponential(gap);
        (at < SPAN).then_some((at, kind, work))
    };
    std::iter::from_fn(next).collect()
}

/// Bursts of discards that are issued one after the other, as a filesystem does after a commit.
fn bursts(rng: &mut Rng, gap: Nanos, work: Nanos, count: u64) -> Vec<Arrival> {
    let begins = poisson(rng, gap, OperationKind::Discard, work);
    let all = begins.iter().flat_map(|(at, kind, work)| {
        let count = 1 + rng.below(2 * count);
        let gap = Nanos(work.0 + 50_000);
        (0..count).map(move |number| (*at + gap.times(number), *kind, *work)).collect::<Vec<_>>()
    });
    all.filter(|(at, ..)| *at < SPAN).collect()
}

/// Reads every 10 ms on average, as of a program, each of 0.1 ms.
fn reads(rng: &mut Rng) -> Vec<Arrival> {
    poisson(rng, ms(10), OperationKind::Read, Nanos::from_micros(100))
}

/// A disk that serves what arrives in order, but nothing while it stands still.
fn served(mut arrivals: Vec<Arrival>, stands: &[(Nanos, Nanos)]) -> Vec<WatchedRequest> {
    arrivals.sort_by_key(|(at, ..)| *at);
    let mut free = Nanos::ZERO;
    let serve = |(at, kind, work): Arrival| {
        let mut begin = at.max(free);
        for (from, to) in stands {
            if (*from..*to).contains(&begin) {
                begin = *to;
            }
        }
        free = begin + work;
        WatchedRequest {
            disk: 0,
            kind,
            count: 1,
            length: Bytes(if kind == OperationKind::Discard { 1 << 20 } else { 4_096 }),
            entered: at,
            issued: Some(at),
            completed: (free <= SPAN).then_some(free),
            thread: Some(u32::from(kind == OperationKind::Discard)),
            is_own: false,
        }
    };
    arrivals.into_iter().map(serve).collect()
}

fn seen(requests: Vec<WatchedRequest>) -> WatchObservation {
    let thread = |name: &str, pid| WatchedThread { name: name.to_owned(), pid };
    WatchObservation {
        span: SPAN,
        disks: vec!["vda".to_owned()],
        requests,
        threads: vec![thread("mysqld", 11), thread("kworker/0:1", 12)],
        wait_resolution: ms(50),
        ..WatchObservation::default()
    }
}

/// Reads while the disk stands still now and then.
fn stands(rng: &mut Rng, gap: Nanos, length: Nanos) -> Vec<(Nanos, Nanos)> {
    let begins = poisson(rng, gap, OperationKind::Read, Nanos::ZERO);
    let stand = |(at, ..): &Arrival| (*at, *at + length.max(rng.exponential(length)));
    begins.iter().map(stand).collect()
}

#[track_caller]
fn check(seen: &WatchObservation, verdict: WatchVerdict, reason: WatchReason) -> WatchFindings {
    let found = analyse(seen);
    let said = conclusion(&found, seen.source);
    assert_eq!((found.verdict, found.reason), (verdict, reason), "{said}: {:?}", found.evidence);
    found
}

#[test]
fn discards_of_20_ms_that_delay_reads_are_named() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut all = reads(&mut rng);
        all.extend(bursts(&mut rng, Nanos::from_secs(2), ms(20), 4));
        let seen = seen(served(all, &[]));
        let found = check(&seen, WatchVerdict::Trim, WatchReason::StallsBeginUnderDiscards);
        let evidence = found.evidence.unwrap();
        assert!(evidence.trim_share_ratio_low > 0.5, "{evidence:?}");
        assert_eq!(found.discards.issuers[0].thread.name, "kworker/0:1");
        assert_eq!(found.stalls[0].threads[0].name, "mysqld");
        assert!(found.stalls[0].discards_count > 0 && found.stalls[0].discards_share_ratio > 0.5);
        let of = |with| {
            let is_it = |row: &&WatchLatencies| row.with_discards == with;
            found.latencies.iter().find(is_it).unwrap().latency_ns_p50
        };
        assert!(of(true) > 50 * of(false), "{:?}", found.latencies);
    }
}

#[test]
fn one_fstrim_in_the_middle_is_named_though_its_stalls_follow_each_other() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let mut all = reads(&mut rng);
        let begin = Nanos::from_secs(15 + rng.below(10));
        let discard = |number| (begin + ms(21).times(number), OperationKind::Discard, ms(20));
        all.extend((0..700).map(discard));
        check(&seen(served(all, &[])), WatchVerdict::Trim, WatchReason::StallsBeginUnderDiscards);
    }
}

#[test]
fn a_slow_disk_without_discards_is_not_trim() {
    let mut rng = Rng::new(1);
    let slow = poisson(&mut rng, ms(50), OperationKind::Write, ms(20));
    let found = check(&seen(served(slow, &[])), WatchVerdict::NotTrim, WatchReason::DeviceSlow);
    let said = conclusion(&found, WatchSource::Tracepoints);
    assert!(
        said.starts_with("not TRIM: half of the requests take 20 ms without discards"),
        "{said}"
    );
}

#[test]
fn a_disk_that_stands_still_without_discards_is_not_trim_even_once() {
    let mut rng = Rng::new(1);
    let once = [(Nanos::from_secs(20), Nanos::from_secs(22))];
    let requests = served(reads(&mut rng), &once);
    let found = check(&seen(requests), WatchVerdict::NotTrim, WatchReason::NoDiscardInStalls);
    assert_eq!(found.stalls_count, 1);
    assert!((1_900_000_000..2_100_000_000).contains(&found.stalls[0].span_ns), "{found:?}");
    assert_eq!(
        conclusion(&found, WatchSource::Tracepoints),
        "not TRIM: no discard was seen in these stalls"
    );
}

#[test]
fn without_stalls_there_is_nothing_to_name() {
    let mut rng = Rng::new(1);
    let mut all = reads(&mut rng);
    all.extend(poisson(&mut rng, ms(100), OperationKind::Discard, Nanos::from_micros(200)));
    check(&seen(served(all, &[])), WatchVerdict::NoStall, WatchReason::NothingStalled);
    check(&seen(Vec::new()), WatchVerdict::NoStall, WatchReason::NothingSeen);
}

#[test]
fn discards_that_never_pause_coincide_with_everything() {
    let mut rng = Rng::new(1);
    let mut all = reads(&mut rng);
    all.extend((0..3_000).map(|number| (ms(20).times(number), OperationKind::Discard, ms(20))));
    check(&seen(served(all, &[])), WatchVerdict::CannotTell, WatchReason::DiscardsAllTheTime);
}

#[test]
fn a_single_coincidence_accuses_nobody() {
    let mut rng = Rng::new(1);
    let mut all = reads(&mut rng);
    all.push((Nanos::from_secs(20), OperationKind::Discard, ms(20)));
    check(&seen(served(all, &[])), WatchVerdict::CannotTell, WatchReason::TooFewStalls);
}

#[test]
fn lost_events_lower_the_claim() {
    let mut rng = Rng::new(1);
    let mut all = reads(&mut rng);
    let mut still = seen(served(all.clone(), &[(Nanos::from_secs(20), Nanos::from_secs(22))]));
    still.events_lost = 1;
    check(&still, WatchVerdict::CannotTell, WatchReason::EventsLost);
    all.extend(bursts(&mut rng, Nanos::from_secs(2), ms(20), 4));
    let mut trim = seen(served(all, &[]));
    trim.events_lost = 10;
    check(&trim, WatchVerdict::Trim, WatchReason::StallsBeginUnderDiscards);
    trim.events_lost = 100_000;
    check(&trim, WatchVerdict::CannotTell, WatchReason::EventsLost);
}

#[test]
fn who_waits_while_no_request_is_under_way_waits_above() {
    let thread = WatchedThread { name: "cp".to_owned(), pid: 7 };
    let wait = |function: &str| ThreadWait {
        thread: thread.clone(),
        function: function.to_owned(),
        from: Nanos::from_secs(10),
        to: Nanos::from_secs(12),
    };
    let mut rng = Rng::new(1);
    let mut seen = seen(served(reads(&mut rng), &[]));
    seen.waits = vec![wait("jbd2_log_wait_commit")];
    let found = check(&seen, WatchVerdict::NotTrim, WatchReason::AboveDevice);
    assert_eq!(
        conclusion(&found, WatchSource::Tracepoints),
        "not TRIM: above the device: no request was under way; 1 process waits in the filesystem \
         (in `jbd2_log_wait_commit`): cp (7)"
    );
    seen.waits = vec![wait("percpu_rwsem_wait")];
    let found = check(&seen, WatchVerdict::NotTrim, WatchReason::AboveDevice);
    assert!(found.waits_above.unwrap().frozen);
    // With a request under way all the time it waits for the disk.
    let mut slow = served(Vec::new(), &[]);
    slow.extend(served(vec![(Nanos::from_secs(9), OperationKind::Write, ms(4_000))], &[]));
    seen.requests = slow;
    seen.waits = vec![wait("jbd2_log_wait_commit")];
    let found = check(&seen, WatchVerdict::NotTrim, WatchReason::NoDiscardInStalls);
    assert_eq!(found.stalls[0].threads.len(), 2, "who wrote, and who waited");
}

#[test]
fn a_wait_for_many_short_discards_is_a_stall_though_no_request_is() {
    // As fsync on XFS, whose log worker submits the discards of a checkpoint.
    let mut rng = Rng::new(5);
    let (mut all, mut waits) = (Vec::new(), Vec::new());
    for number in 0..10 {
        let begin = Nanos::from_secs(number * 6) + Nanos(rng.below(3_000_000_000));
        for discard in 0..400 {
            all.push((begin + ms(1).times(discard), OperationKind::Discard, ms(1)));
        }
        let thread = WatchedThread { name: "postgres".to_owned(), pid: 7 };
        let (from, to) = (begin + ms(20), begin + ms(380));
        waits.push(ThreadWait { thread, function: "xlog_wait".to_owned(), from, to });
    }
    // Reads beside them are not delayed: the disk serves both at once.
    let mut requests = served(all, &[]);
    requests.extend(served(reads(&mut rng), &[]));
    let mut seen = seen(requests);
    seen.waits = waits;
    check(&seen, WatchVerdict::Trim, WatchReason::StallsBeginUnderDiscards);
}

/// The same as counters show it: what of a class ended within 10 ms, with its mean latency in whole
/// milliseconds.
fn counted(requests: Vec<WatchedRequest>) -> Vec<WatchedRequest> {
    let mut samples: BTreeMap<(u64, OperationKind), (u32, u64)> = BTreeMap::new();
    for request in requests {
        let Some(completed) = request.completed else { continue };
        let sample = samples.entry((completed.0 / 10_000_000, request.kind)).or_default();
        *sample = (sample.0 + 1, sample.1 + request.took(SPAN).0);
    }
    let request = |((sample, kind), (count, took)): ((u64, OperationKind), (u32, u64))| {
        let completed = ms(10 * (sample + 1));
        let mean = ms(took / 1_000_000 / u64::from(count));
        let entered = completed.saturating_sub(mean);
        let (issued, completed) = (Some(entered), Some(completed));
        let (disk, length, thread, is_own) = (0, Bytes(4_096), None, false);
        WatchedRequest { disk, kind, count, length, entered, issued, completed, thread, is_own }
    };
    samples.into_iter().map(request).collect()
}

/// What is seen of these requests by counters.
fn seen_by_counters(requests: Vec<WatchedRequest>) -> WatchObservation {
    let (source, resolution) = (WatchSource::Counters, ms(10));
    WatchObservation { source, resolution, threads: Vec::new(), ..seen(counted(requests)) }
}

#[test]
fn counters_are_enough_to_name_discards_of_20_ms() {
    let named = (0..20).filter(|seed| {
        let mut rng = Rng::new(*seed);
        let mut all = reads(&mut rng);
        all.extend(bursts(&mut rng, Nanos::from_secs(2), ms(20), 4));
        analyse(&seen_by_counters(served(all, &[]))).verdict == WatchVerdict::Trim
    });
    assert_eq!(named.count(), 20);
}

#[test]
fn by_counters_a_disk_that_stands_still_with_discards_in_it_accuses_nobody() {
    let verdicts = (0..1_000).map(|seed| {
        let rng = &mut Rng::new(seed);
        let gap = ms(1_000 + rng.below(3_000));
        let still = stands(rng, gap, ms(300));
        let mut all = reads(rng);
        let gap = ms(5 + rng.below(200));
        all.extend(poisson(rng, gap, OperationKind::Discard, Nanos::from_micros(200)));
        analyse(&seen_by_counters(served(all, &still))).verdict
    });
    let accused = verdicts.filter(|verdict| *verdict == WatchVerdict::Trim).count();
    println!("{accused} of 1,000 accused");
    assert!(accused <= ACCUSED_MOST, "{accused}");
}

/// How many of 1,000 seeds are accused.
fn accused(plant: impl Fn(&mut Rng) -> Vec<WatchedRequest>) -> usize {
    let seeds = 0..1_000;
    let verdicts = seeds.map(|seed| analyse(&seen(plant(&mut Rng::new(seed)))).verdict);
    verdicts.filter(|verdict| *verdict == WatchVerdict::Trim).count()
}

/// At most what the significance of 1 % allows, and chance of that number itself: 20 or fewer of
/// 1,000 have a probability of 99.8 %.
const ACCUSED_MOST: usize = 20;

#[test]
fn stalls_and_discards_that_have_nothing_to_do_with_each_other_accuse_nobody() {
    // The discards are served beside the reads, and delay none.
    let accused = accused(|rng| {
        let gap = ms(300 + rng.below(3_000));
        let still = stands(rng, gap, ms(30));
        let mut all = served(reads(rng), &still);
        let (gap, count) = (ms(200 + rng.below(4_000)), 1 + rng.below(10));
        all.extend(served(bursts(rng, gap, ms(20), count), &[]));
        all
    });
    println!("{accused} of 1,000 accused");
    assert!(accused <= ACCUSED_MOST, "{accused}");
}

#[test]
fn a_disk_that_stands_still_with_discards_in_it_accuses_nobody() {
    // Discards take 0.2 ms, but those that come while the disk stands still wait with the rest.
    let accused = accused(|rng| {
        let gap = ms(1_000 + rng.below(3_000));
        let still = stands(rng, gap, ms(300));
        let mut all = reads(rng);
        let gap = ms(5 + rng.below(200));
        all.extend(poisson(rng, gap, OperationKind::Discard, Nanos::from_micros(200)));
        served(all, &still)
    });
    println!("{accused} of 1,000 accused");
    assert!(accused <= ACCUSED_MOST, "{accused}");
}

#[test]
fn a_job_that_stalls_the_disk_and_another_that_discards_once_each_accuse_nobody() {
    // Both in one long burst, at independent times.
    let accused = accused(|rng| {
        let at = |rng: &mut Rng| Nanos::from_secs(1) + Nanos(rng.below(45_000_000_000));
        let (stalls, trims) = (at(rng), at(rng));
        let still: Vec<_> = (0..100)
            .map(|number| stalls + ms(100).times(number))
            .map(|from| (from, from + ms(50)))
            .collect();
        let mut all = served(reads(rng), &still);
        let discard = |number| (trims + ms(21).times(number), OperationKind::Discard, ms(20));
        all.extend(served((0..450).map(discard).collect(), &[]));
        all
    });
    println!("{accused} of 1,000 accused");
    assert!(accused <= ACCUSED_MOST, "{accused}");
}
