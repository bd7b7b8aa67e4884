use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockRequest, Capabilities, Clock, Completion, DeviceStatistics, DrainRule, Errno, FileCommand,
    FileId, ForceDiscards, Instant, Interrupt, Model, Nanos, OperationKind, Rejected, Status,
    Storage, Support, Tag, Virtual,
};

use super::*;
use trimbench_core::Target;
use trimbench_engine::testing::{KeptSteps, close, figure, settings};
use trimbench_engine::{
    ASSUMED_RATE, MethodDefinition as _, MethodResult, Preset, SessionContext, Slots,
};
use trimbench_trace::NoTraces;

const SECOND: Nanos = Nanos::from_secs(1);

/// A directory on a device of which everything is known: a transfer of a piece takes 10 ms, and
/// 100 ms after a sync what was deleted is discarded for 10 s. Writes that come within these stop
/// until the last second of them: above the device, or in it.
struct Toy {
    capabilities: Capabilities,
    log: Vec<FileCommand>,
    under_way: Vec<(Instant, Tag)>,
    requests: Vec<BlockRequest>,
    sees: bool,
    holds_in_device: bool,
    deleted: bool,
    discards: Option<(Instant, Instant)>,
    statistics: DeviceStatistics,
    fail: Option<usize>,
}

impl Toy {
    fn new() -> Self {
        let drain = DrainRule {
            force: ForceDiscards::Sync,
            quiet: Nanos::from_millis(500),
            latest_start: Nanos::from_millis(200),
            timeout: SECOND.times(60),
        };
        let capabilities = Capabilities {
            clock: Clock::Virtual,
            medium: Medium::Directory { available: Bytes::gib(1), fs_block: Bytes(4_096) },
            discard: Support::Native,
            discard_max: Bytes::gib(1),
            discard_granularity: Bytes(4_096),
            queue_depth: 32,
            drain,
        };
        Self {
            capabilities,
            log: Vec::new(),
            under_way: Vec::new(),
            requests: Vec::new(),
            sees: true,
            holds_in_device: false,
            deleted: false,
            discards: None,
            statistics: DeviceStatistics::default(),
            fail: None,
        }
    }

    fn due(&self) -> Option<usize> {
        (0..self.under_way.len()).min_by_key(|&index| self.under_way[index].0)
    }
}

impl Storage for Toy {
    type Command = FileCommand;

    fn statistics(&self) -> DeviceStatistics {
        self.statistics
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn watch_requests(&mut self, _: bool) -> Result<(), Rejected> {
        if self.sees { Ok(()) } else { Err(Rejected::Unsupported { operation: "it" }) }
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        out.append(&mut self.requests);
    }
}

impl Model for Toy {
    fn submit(&mut self, now: Instant, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        self.log.push(command);
        let span = match command {
            FileCommand::Write { .. } | FileCommand::Read { .. } => Nanos::from_millis(10),
            _ => Nanos::from_millis(1),
        };
        let is_write = matches!(command, FileCommand::Write { .. });
        if matches!(command, FileCommand::Unlink { file } if file != FileId(0)) {
            self.deleted = true;
            let from = now + Nanos::from_millis(100);
            self.discards = Some((from, from + SECOND.times(10)));
        }
        let held = self.discards.filter(|(from, to)| is_write && now >= *from && now < *to);
        // Until the last second.
        let free = held.map_or(now, |(_, to)| {
            now.max(Instant::from_start(to.since_start().saturating_sub(SECOND)))
        });
        let end = free + span;
        if is_write {
            let issued = if self.holds_in_device { now } else { free };
            let kind = OperationKind::Write;
            let (device, entered) = (0, issued);
            self.requests.push(BlockRequest { device, kind, entered, issued, completed: end });
            self.statistics.write.time += end - issued;
        }
        self.under_way.push((end, tag));
        Ok(())
    }

    fn next_event(&self) -> Instant {
        self.due().map_or(Instant::NEVER, |index| self.under_way[index].0)
    }

    fn advance(&mut self, now: Instant, out: &mut Vec<Completion>) {
        while let Some(index) = self.due().filter(|&index| self.under_way[index].0 <= now) {
            let (at, tag) = self.under_way.remove(index);
            let failed = self.fail == Some(out.len() + self.log.len());
            let status = if failed { Status::Failed(Errno::ENOSPC) } else { Status::Done };
            out.push(Completion { tag, at, status });
        }
        if let Some((from, to)) = self.discards
            && now >= from
        {
            let since = now.min(to).since(from);
            self.statistics.discard.bytes = Bytes(since.0);
            self.statistics.discard.completed = since.0 / 1_000_000;
        }
        let done = self.requests.iter().filter(|request| request.completed <= now).count();
        self.statistics.write.completed = done as u64;
    }
}

fn method(set: &[(&str, &str)]) -> DeleteStorm {
    let mut all = vec![
        ("writers", "2"),
        ("file-size", "33MiB"),
        ("piece", "2MiB"),
        ("interval", "50ms"),
        ("threshold", "100ms"),
        ("probe-interval", "20ms"),
    ];
    all.extend(set);
    DeleteStorm::resolve(Preset::Quick, &settings(&all)).unwrap()
}

fn run(
    method: &DeleteStorm,
    toy: Toy,
) -> (Result<MethodResult, MethodError>, Virtual<Toy>, KeptSteps) {
    run_on(method, Virtual::new(toy))
}

fn run_on<T>(
    method: &DeleteStorm,
    mut target: T,
) -> (Result<MethodResult, MethodError>, T, KeptSteps)
where
    T: Target<Command = FileCommand>,
{
    let mut kept = KeptSteps::default();
    let interrupt = Interrupt::default();
    let context = SessionContext {
        rng: &Rng::new(7),
        interrupt: &interrupt,
        monitor: &mut kept,
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done: Vec::new(),
    };
    let found = trimbench_engine::method::run(method, Opened::Directory(&mut target), context);
    (found, target, kept)
}

#[test]
fn every_file_is_written_rewritten_read_and_deleted_to_its_last_byte() {
    let (found, target, kept) = run(&method(&[]), Toy::new());
    let phases: Vec<&str> = StormPhase::all(true).iter().map(|phase| phase.id()).collect();
    assert_eq!(kept.kept(), phases);
    let (mut wrote, mut read) = ([0; 5], [0; 5]);
    for command in &target.model().log {
        match command {
            FileCommand::Write { file, length, .. } => wrote[file.0 as usize] += length.0 >> 20,
            FileCommand::Read { file, length, .. } => read[file.0 as usize] += length.0 >> 20,
            _ => {}
        }
    }
    assert_eq!(wrote, [0, 99, 99, 33, 33], "written, rewritten, written again; second round");
    assert_eq!(read, [0, 66, 66, 0, 0]);
    let found = found.unwrap();
    // 17 pieces of 10 ms after a creation of 1 ms.
    close(figure(&found.figures, "write-time").value, 0.171);
    close(figure(&found.figures, "rewrite-time").value, 0.340);
    close(figure(&found.figures, "read-time").value, 0.170);
    let without = run(&method(&[("rewrite", "false")]), Toy::new()).2;
    assert_eq!(without.kept().len(), phases.len() - 2);
}

#[test]
fn the_stall_is_measured_and_located() {
    for (in_device, places) in [(false, [0.0, 1.0]), (true, [1.0, 0.0])] {
        let toy = Toy { holds_in_device: in_device, ..Toy::new() };
        let found = run(&method(&[]), toy).0.unwrap();
        let value = |id: &str| figure(&found.figures, id).value;
        // Discards from 0.1 s after the deletion on, for 10 s; seen each 50 ms.
        assert!((value("trim-time") - 10.1).abs() < 0.1, "{}", value("trim-time"));
        // The second round is stopped from 0.1 s on to 9.1 s.
        assert!((value("second-stall") - 9.0).abs() < 0.15, "{}", value("second-stall"));
        close(value("second-stall-longest"), value("second-stall"));
        assert!((value("stall-over-trim") - 0.89).abs() < 0.02);
        assert!(value("stalled-without-write") > 0.98);
        assert!((value("located-device") - places[0]).abs() < 0.01);
        assert!((value("located-above") - places[1]).abs() < 0.01);
        let verdict = figure(&found.figures, "second-stall").words().unwrap();
        let expected = if in_device { "device: 100 % of it" } else { "above: 100 % of it" };
        assert_eq!(verdict, expected);
    }
}

#[test]
fn a_target_that_hides_its_requests_is_measured_and_not_located() {
    let found = run(&method(&[]), Toy { sees: false, ..Toy::new() }).0.unwrap();
    let stall = figure(&found.figures, "second-stall");
    assert!(stall.value > 8.0 && stall.words().unwrap().contains("not located"));
    assert!(found.figures.iter().all(|figure| !figure.id.starts_with("located")));
    assert_eq!(stall.caveats, ["requests-unseen"]);
    assert!(figure(&found.figures, "second-write-time").caveats.is_empty());
}

/// The same, seen through a tracer that lost events.
struct Lossy(Virtual<Toy>);

impl Storage for Lossy {
    type Command = FileCommand;

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn statistics(&self) -> DeviceStatistics {
        self.0.statistics()
    }

    fn watch_requests(&mut self, watch: bool) -> Result<(), Rejected> {
        self.0.watch_requests(watch)
    }

    fn take_requests(&mut self, out: &mut Vec<BlockRequest>) {
        self.0.take_requests(out);
    }
}

impl Target for Lossy {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn submit(&mut self, tag: Tag, command: FileCommand) -> Result<(), Rejected> {
        self.0.submit(tag, command)
    }

    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        self.0.reap(deadline, out);
    }

    fn requests_lost(&self) -> u64 {
        3
    }
}

#[test]
fn where_requests_were_lost_the_stall_is_located_with_a_caveat() {
    let found = run_on(&method(&[]), Lossy(Virtual::new(Toy::new()))).0.unwrap();
    for id in ["second-stall", "located-above"] {
        assert_eq!(figure(&found.figures, id).caveats, ["requests-lost"], "{id}");
    }
    assert!(figure(&found.figures, "second-stall").words().unwrap().contains("above"));
    assert!(figure(&found.figures, "stall-over-trim").caveats.is_empty());
}

#[test]
fn a_filesystem_without_discards_is_said_to_be_one() {
    let mut toy = Toy::new();
    toy.capabilities.discard = Support::None;
    let found = run(&method(&[]), toy).0.unwrap();
    let caveats = &figure(&found.figures, "trim-time").caveats;
    assert_eq!(caveats, &["no-discard"]);
}

#[test]
fn a_phase_within_one_interval_has_no_stall_and_says_so() {
    let (found, _, kept) = run(&method(&[("interval", "1h")]), Toy::new());
    let found = found.unwrap();
    assert!(!found.figures.iter().any(|figure| figure.id == "second-stall"));
    let second = kept.steps.iter().find(|step| step.id == StormPhase::SecondWrite.id()).unwrap();
    assert_eq!(second.caveats, ["phase-too-short"]);
}

#[test]
fn an_operation_that_fails_ends_the_run_and_says_which() {
    let toy = Toy { fail: Some(3), ..Toy::new() };
    let error = run(&method(&[]), toy).0.unwrap_err();
    let MethodError::File { step, errno, .. } = error else { panic!("{error}") };
    assert_eq!((step.as_str(), errno), ("write", Errno::ENOSPC));
}

#[test]
fn it_fits_directories_with_room_only() {
    let capabilities = Toy::new().capabilities;
    assert_eq!(method(&[]).fits(&capabilities), Ok(()));
    let large = method(&[("file-size", "1GiB")]);
    assert!(large.fits(&capabilities).unwrap_err().to_string().contains("grow to 2GiB"));
    assert_eq!(method(&[]).space(), Bytes::mib(66));
    assert_eq!(method(&[]).demand(Bytes(0), ASSUMED_RATE).written, Bytes::mib(4 * 66));
    for (key, value) in [("writers", "0"), ("piece", "1KiB"), ("rewrite", "yes")] {
        let set = settings(&[(key, value)]);
        assert!(DeleteStorm::resolve(Preset::Quick, &set).is_err(), "{key}={value}");
    }
    let published = DeleteStorm::resolve(Preset::Published, &settings(&[])).unwrap();
    assert_eq!(published.space(), Bytes(4 * 512_000_000_000), "[S3]");
}
