//! Sessions on a device of which every number is known.

use trimbench_core::{
    BlockCommand, BlockSize, Capabilities, Clock, Completion, DrainRule, ForceDiscards, Interrupt,
    Medium, Model, Ppm, Rejected, Status, Storage, Support, Tag, Virtual,
};
use trimbench_trace::NoTraces;

use super::*;
use crate::delete_stall::DeviceSubject;
use trimbench_engine::testing::{KeptSteps, settings};
use trimbench_engine::{
    MethodDefinition as _, MethodResult, Preset, RunError, SessionContext, Slots,
};

/// Every command takes 100 us; accesses 10 ms, while a discard is being worked off in secret.
struct Toy {
    capabilities: Capabilities,
    queue: Vec<(Instant, Tag)>,
    statistics: DeviceStatistics,
    /// Discarded bytes that the counters show, and how long after the command.
    shown: Ppm,
    shown_after: Nanos,
    pending: Vec<(Instant, Bytes)>,
    /// From when on after a discard it is worked off in secret, until the counters show it.
    worked_off_after: Nanos,
    /// Discards never end.
    hangs: bool,
    /// Commands of others for each one of ours.
    foreign: u64,
    /// How long after a large write accesses still take 10 ms.
    settles_after: Nanos,
    settled_at: Instant,
    log: Vec<(Instant, BlockCommand)>,
}

impl Toy {
    fn new() -> Self {
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Device { capacity: Bytes::mib(64), logical_block: BlockSize::SECTOR },
            discard: Support::Native,
            discard_max: Bytes::mib(64),
            discard_granularity: Bytes(512),
            queue_depth: 32,
            drain: DrainRule::IMMEDIATE,
        };
        Self {
            capabilities,
            queue: Vec::new(),
            statistics: DeviceStatistics::default(),
            shown: Ppm::ONE,
            shown_after: Nanos::ZERO,
            pending: Vec::new(),
            worked_off_after: Nanos::from_secs(3_600),
            hangs: false,
            foreign: 0,
            settles_after: Nanos::ZERO,
            settled_at: Instant::START,
            log: Vec::new(),
        }
    }
}

impl Storage for Toy {
    type Command = BlockCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
}

impl Model for Toy {
    fn submit(&mut self, now: Instant, tag: Tag, what: BlockCommand) -> Result<(), Rejected> {
        self.log.push((now, what));
        let until_shown = self.shown_after.0.saturating_sub(self.worked_off_after.0);
        let is_busy = self.pending.iter().any(|(at, _)| (*at - now).0 <= until_shown);
        let is_busy = is_busy || now < self.settled_at;
        let end = now + Nanos::from_micros(if is_busy { 10_000 } else { 100 });
        if matches!(what, BlockCommand::Write { range, .. } if range.length().0 == 2_048) {
            self.settled_at = now + self.settles_after;
        }
        match what {
            BlockCommand::Discard(_) if self.hangs => return Ok(()),
            BlockCommand::Discard(range) => {
                let bytes = range.length().bytes(BlockSize::SECTOR);
                self.pending.push((end + self.shown_after, Bytes(self.shown.of(bytes.0))));
            }
            _ => self.statistics.read.bytes += Bytes(4_096 * (1 + self.foreign)),
        }
        self.queue.push((end, tag));
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let ends = self.queue.iter().map(|entry| entry.0);
        ends.chain(self.pending.iter().map(|entry| entry.0)).min().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        for (_, bytes) in self.pending.extract_if(.., |entry| entry.0 <= now) {
            self.statistics.discard.bytes += bytes;
        }
        let due = self.queue.extract_if(.., |entry| entry.0 <= now);
        out.extend(due.map(|(at, tag)| Completion { tag, at, status: Status::Done }));
    }
}

fn method() -> DeleteStall {
    method_with(&[])
}

fn method_with(more: &[(&str, &str)]) -> DeleteStall {
    let set = [
        ("sizes", "1MiB,2MiB,3MiB"),
        ("span", "1MiB"),
        ("window", "500ms"),
        ("lead", "100ms"),
        ("rest", "200ms"),
        ("repetitions", "1"),
        ("patience", "0s"),
    ];
    let set: Vec<_> = set.iter().chain(more).copied().collect();
    DeleteStall::resolve(Preset::Quick, &settings(&set)).unwrap()
}

fn session(toy: Toy, done: Vec<Step>) -> (Result<MethodResult, MethodError>, Virtual<Toy>) {
    session_of(&method(), toy, done)
}

fn session_of(
    method: &DeleteStall,
    toy: Toy,
    done: Vec<Step>,
) -> (Result<MethodResult, MethodError>, Virtual<Toy>) {
    let subject = DeviceSubject::new(method, BlockSize::SECTOR, Bytes::mib(64));
    let mut target = Virtual::new(toy);
    let (rng, interrupt) = (&Rng::new(1), &Interrupt::default());
    let context = SessionContext {
        rng,
        interrupt,
        monitor: &mut KeptSteps::default(),
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done,
    };
    let mut session = MethodSession::new(context);
    let ended = run(method, &mut target, subject, &mut session);
    (ended.map(|()| session.found(method)), target)
}

fn found(toy: Toy) -> MethodResult {
    session(toy, Vec::new()).0.unwrap()
}

/// Ids of the steps with this caveat, sorted.
fn with(found: &MethodResult, caveat: Caveat) -> Vec<&str> {
    let has = |step: &&Step| step.caveats.iter().any(|id| id == caveat.id());
    let mut ids: Vec<&str> = found.steps.iter().filter(has).map(|step| step.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

fn trial(step: &Step) -> StallTrialStep {
    step.read().unwrap()
}

const DELETIONS: [&str; 3] = ["delete-1MiB-1", "delete-2MiB-1", "delete-3MiB-1"];

#[test]
fn a_deletion_whose_discards_do_not_all_come_is_invalid() {
    let mut half = Toy { shown: Ppm(500_000), ..Toy::new() };
    half.capabilities.drain.timeout = Nanos::from_secs(1);
    let half = found(half);
    assert_eq!(with(&half, Caveat::DiscardsIncomplete), DELETIONS);
    let mut none = Toy { shown: Ppm(0), ..Toy::new() };
    none.capabilities.drain.timeout = Nanos::from_secs(1);
    assert_eq!(with(&found(none), Caveat::NoDiscard), DELETIONS);
    let all = found(Toy::new());
    assert!(all.steps.iter().all(|step| step.caveats.is_empty()));
}

#[test]
fn space_that_the_filesystem_never_discards_holds_nothing_up() {
    let mut toy = Toy::new();
    toy.statistics.discard_pending = Some(Bytes::mib(50));
    toy.capabilities.drain.quiet = Nanos::from_secs(2);
    toy.capabilities.drain.timeout = Nanos::from_secs(3_600);
    let (result, target) = session(toy, Vec::new());
    assert!(result.unwrap().steps.iter().all(|step| step.caveats.is_empty()));
    assert!(target.now() < Instant::from_start(Nanos::from_secs(60)), "{}", target.now());
}

#[test]
fn discards_that_come_after_the_window_are_waited_for_and_not_called_none() {
    let late = found(Toy { shown_after: Nanos::from_secs(5), ..Toy::new() });
    assert_eq!(with(&late, Caveat::DiscardsIncomplete), DELETIONS);
    assert_eq!(with(&late, Caveat::NoDiscard), [""; 0]);
    for step in late.steps.iter().filter(|step| step.kind == "delete") {
        let trial = trial(step);
        let (total, size) = (trial.discards.discarded_bytes_total, trial.deletion.size_bytes);
        assert_eq!(total, Some(size), "{}", step.id);
    }
}

#[test]
fn the_window_holds_what_the_filesystem_may_take_to_begin() {
    let mut slow = Toy::new();
    let (quiet, latest_start) = (Nanos::from_secs(2), Nanos::from_secs(3));
    let force = ForceDiscards::Sync;
    slow.capabilities.drain = DrainRule { force, quiet, latest_start, ..DrainRule::IMMEDIATE };
    for step in found(slow).steps {
        assert!((trial(&step).window.window_s - 5.0).abs() < 1e-9);
    }
}

/// When files were filled (in pieces of 1 MiB), discarded and made durable, in order.
fn milestones(target: &Virtual<Toy>) -> Vec<(Instant, char)> {
    let mark = |&(at, command): &(Instant, BlockCommand)| match command {
        BlockCommand::Write { range, .. } if range.length().0 == 2_048 => (at, 'w'),
        BlockCommand::Discard(_) => (at, 'd'),
        BlockCommand::Flush => (at, 'f'),
        _ => (at, ' '),
    };
    target.model().log.iter().map(mark).collect()
}

#[test]
fn the_load_begins_after_the_rest() {
    let (result, target) = session(Toy::new(), Vec::new());
    result.unwrap();
    let log = milestones(&target);
    let made = log.windows(3).filter(|three| (three[0].1, three[1].1) == ('w', 'f'));
    let rests: Vec<Nanos> = made.map(|three| three[2].0 - three[1].0).collect();
    assert!(rests.len() >= 3 && rests.iter().all(|&rest| rest >= Nanos::from_millis(200)));
}

#[test]
fn the_next_file_is_made_after_the_quiet_that_the_drain_rule_asks_for() {
    let mut late = Toy { shown_after: Nanos::from_secs(3), ..Toy::new() };
    late.capabilities.drain.quiet = Nanos::from_secs(2);
    let (result, target) = session(late, Vec::new());
    result.unwrap();
    let log = milestones(&target);
    for (index, &(discarded, _)) in log.iter().enumerate().filter(|(_, entry)| entry.1 == 'd') {
        // They show after 3 s, a second after the window has closed.
        let spans = log[index..].iter().map(|entry| entry.0 - discarded);
        let next = spans.filter(|&span| span >= Nanos::from_secs(3)).min();
        assert!(next.is_none_or(|span| span >= Nanos::from_millis(4_900)), "{next:?}");
    }
}

#[test]
fn probe_and_load_do_not_meet() {
    let (result, target) = session(Toy::new(), Vec::new());
    result.unwrap();
    let log = &target.model().log;
    let reads = |entry: &&(Instant, BlockCommand)| matches!(entry.1, BlockCommand::Read(_));
    let reads: Vec<Instant> = log.iter().filter(reads).map(|entry| entry.0).collect();
    let meeting = reads.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!(meeting, 0, "half a step apart");
}

#[test]
fn commands_of_others_on_a_real_device_are_noticed() {
    let mut alone = Toy::new();
    alone.capabilities.clock = Clock::Wall;
    assert_eq!(with(&found(alone), Caveat::OtherLoad), [""; 0]);
    let mut crowded = Toy { foreign: 1, ..Toy::new() };
    crowded.capabilities.clock = Clock::Wall;
    assert_eq!(with(&found(crowded), Caveat::OtherLoad).len(), 6);
}

#[test]
fn a_resumed_session_measures_the_rest_and_keeps_the_order_of_the_plan() {
    let whole = found(Toy::new());
    let mut done: Vec<Step> = whole.steps[2..4].to_vec();
    done.reverse();
    for step in &mut done {
        step.caveat(Caveat::Fragmented);
    }
    let resumed = session(Toy::new(), done).0.unwrap();
    let ids =
        |found: &MethodResult| found.steps.iter().map(|step| step.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&resumed), ids(&whole));
    let kept: Vec<bool> = resumed.steps.iter().map(|step| !step.caveats.is_empty()).collect();
    assert_eq!(kept, [false, false, true, true, false, false]);
}

#[test]
fn a_device_that_hangs_is_given_up_after_half_an_hour() {
    let (result, target) = session(Toy { hangs: true, ..Toy::new() }, Vec::new());
    assert!(matches!(result, Err(MethodError::Run(RunError::Hung { outstanding: 1, .. }))));
    assert!(target.now() < Instant::from_start(Nanos::from_secs(1_900)), "{}", target.now());
}

#[test]
fn the_search_goes_on_until_the_discards_are_over_and_counts_what_they_hold_up_then() {
    let set = [("p999-limit", "5ms"), ("rate-chunks", "3MiB"), ("rate-max", "100MB")];
    let rate = |toy: Toy| {
        let found = session_of(&method_with(&set), toy, Vec::new()).0.unwrap();
        trimbench_engine::testing::figure(&found.figures, "highest-deletion-rate").value
    };
    let (shown_after, worked_off_after) = (Nanos::from_millis(500), Nanos::from_millis(200));
    trimbench_engine::testing::close(rate(Toy { shown_after, ..Toy::new() }), 100.0);
    // The 31 ms of a part are over when its discard is worked off.
    trimbench_engine::testing::close(
        rate(Toy { shown_after, worked_off_after, ..Toy::new() }),
        0.0,
    );
    // Neither is a rate kept whose discards stay away.
    let mut half = Toy { shown: Ppm(500_000), ..Toy::new() };
    half.capabilities.drain.timeout = Nanos::from_secs(1);
    trimbench_engine::testing::close(rate(half), 0.0);
}

#[test]
fn a_placebo_writes_as_a_deletion_does_and_discards_after_its_window() {
    let (result, target) = session(Toy::new(), Vec::new());
    let found = result.unwrap();
    let log = milestones(&target);
    let written = log.iter().filter(|entry| entry.1 == 'w').count();
    assert_eq!(written, 1 + 2 * (1 + 2 + 3), "the load's area, and every size twice");
    assert_eq!(log.iter().filter(|entry| entry.1 == 'd').count(), 6, "all of it is discarded");
    for placebo in found.steps.iter().filter(|step| step.kind == "placebo") {
        let discarded = trial(placebo).discards.discarded_bytes_window;
        assert_eq!(discarded, Some(Bytes(0)), "{}", placebo.id);
    }
}

#[test]
fn a_drive_that_settles_slowly_is_given_the_time() {
    let patient = [("patience", "5s"), ("rate", "100")];
    let slow = Toy { settles_after: Nanos::from_millis(900), ..Toy::new() };
    let found = session_of(&method_with(&patient), slow, Vec::new()).0.unwrap();
    assert_eq!(with(&found, Caveat::BaselineNotFlat), [""; 0]);
    for step in &found.steps {
        let trial = trial(step);
        let rest = trial.rest_s + trial.waited_s;
        assert!((0.7..3.0).contains(&rest), "{rest} s, and 100 ms of a lead");
        assert!(trial.window.probe_latency_s_sum / (trial.window.probe_count as f64) < 0.001);
    }
}

#[test]
fn a_drive_whose_pace_never_is_flat_is_said_to_be_that() {
    let impatient = [("patience", "300ms"), ("rate", "100")];
    let slow = Toy { settles_after: Nanos::from_millis(250), ..Toy::new() };
    let found = session_of(&method_with(&impatient), slow, Vec::new()).0.unwrap();
    assert_eq!(with(&found, Caveat::BaselineNotFlat), [""; 0], "it is, after 400 ms");
    let busy = Toy { settles_after: Nanos::from_millis(1_150), ..Toy::new() };
    let set = [("patience", "900ms"), ("rate", "100"), ("lead", "500ms")];
    let found = session_of(&method_with(&set), busy, Vec::new()).0.unwrap();
    assert_eq!(with(&found, Caveat::BaselineNotFlat).len(), 6);
}
