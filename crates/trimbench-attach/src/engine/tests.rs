#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a device that answers by the wall's clock"
)]

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use trimbench_core::fault::FaultPlan;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Content};
use trimbench_ssd::{Profile, SsdConfig, TrimMode, TrimmedReads};

use super::*;
use crate::drive::{self, InitialState};
use crate::log::{LogEvent, replay};

/// Blocks that random operations are about.
const SPAN: u64 = 512;

struct Tested {
    engine: Engine,
    config: SsdConfig,
    timer: Timer,
}

fn config(profile: &str) -> SsdConfig {
    let mut config = Profile::built_in(profile).unwrap().config;
    config.capacity = Bytes::gib(1);
    config.contents.reads = TrimmedReads::Zeroes;
    config
}

fn started(profile: &str) -> Tested {
    started_slowed(profile, 1)
}

fn started_slowed(profile: &str, slow_down: u32) -> Tested {
    started_of(config(profile), slow_down)
}

fn started_of(config: SsdConfig, slow_down: u32) -> Tested {
    let file = tempfile::tempfile().unwrap();
    file.set_len(config.capacity.0).unwrap();
    let store = Store::new(file, 0, drive::may_lose(&config));
    let drive = drive::made(config.clone(), InitialState::Filled).unwrap();
    let drive = Faulty::new(drive, FaultPlan::default());
    let (engine, timer) = Engine::start(drive, store, slow_down, true).unwrap();
    Tested { engine, config, timer }
}

impl Tested {
    fn begin(&self, request: Request<'_>) -> Receiver<RequestOutcome> {
        let (sender, receiver) = channel();
        self.engine.submit(
            request,
            Box::new(move |outcome| {
                let _ = sender.send(outcome);
            }),
        );
        receiver
    }

    fn run(&self, request: Request<'_>) -> RequestOutcome {
        self.begin(request).recv().unwrap()
    }

    fn read(&self, block: u64, blocks: u64) -> Vec<u8> {
        self.run(Request::Read { offset: block * 512, length: blocks * 512 }).unwrap()
    }

    fn write(&self, block: u64, byte: u8) {
        let data = [byte; 4_096];
        self.run(Request::Write { offset: block * 512, data: &data }).unwrap();
    }

    fn discard(&self, block: u64) {
        self.run(Request::Discard { offset: block * 512, length: 4_096 }).unwrap();
    }

    fn flush(&self) {
        self.run(Request::Flush).unwrap();
    }

    fn cut(&self) {
        self.engine.plant(&LiveFault::PowerCut).unwrap();
        self.engine.plant(&LiveFault::PowerOn).unwrap();
    }

    /// The log comes to the same in virtual time. How many commands ended.
    fn replayed(&self) -> usize {
        let drive = drive::made(self.config.clone(), InitialState::Filled).unwrap();
        let log = self.engine.take_log();
        let drive = Faulty::new(drive, FaultPlan::default());
        replay(&mut DelayedDrive::new(drive), &log).unwrap()
    }
}

#[test]
fn what_was_written_is_read_and_a_replay_comes_to_the_same_instants() {
    for profile in ["generic-sata-tlc", "generic-nvme-tlc", "generic-nvme-dramless"] {
        let tested = started(profile);
        let mut rng = Rng::new(1);
        let mut held: Vec<Option<u8>> = vec![None; index(SPAN)];
        for _ in 0..300 {
            let first = rng.below(SPAN - 16) / 8 * 8;
            let blocks = 8 * (1 + rng.below(2));
            let (offset, length) = (first * 512, blocks * 512);
            let places = index(first)..index(first + blocks);
            match rng.below(6) {
                0 => {
                    tested.run(Request::Discard { offset, length }).unwrap();
                    held[places].fill(Some(0));
                }
                1 => {
                    tested.run(Request::Zero { offset, length }).unwrap();
                    held[places].fill(Some(0));
                }
                2 => tested.flush(),
                3 => {
                    let read = tested.read(first, blocks);
                    for (block, held) in read.chunks(512).zip(&held[places]) {
                        assert!(held.is_none_or(|held| block == [held; 512]), "{profile}");
                    }
                }
                _ => {
                    let byte = u8::try_from(1 + rng.below(255)).unwrap();
                    let data = vec![byte; index(length)];
                    tested.run(Request::Write { offset, data: &data }).unwrap();
                    held[places].fill(Some(byte));
                }
            }
            let _more = tested.engine.reclaim();
        }
        assert!(tested.replayed() >= 300, "{profile}");
    }
}

#[test]
fn requests_run_side_by_side_and_are_replayed_in_their_order() {
    // So slow that they are still under way when all are submitted, on any machine.
    let tested = started_slowed("generic-nvme-tlc", 100);
    let data = [1; 4_096];
    let mut rng = Rng::new(2);
    let begun: Vec<_> = (0..200)
        .map(|number| {
            let offset = rng.below(1 << 18) * 4_096;
            match number % 3 {
                0 => tested.begin(Request::Write { offset, data: &data }),
                1 => tested.begin(Request::Read { offset, length: 4_096 }),
                _ => tested.begin(Request::Discard { offset, length: 4_096 }),
            }
        })
        .collect();
    for ended in begun {
        ended.recv().unwrap().unwrap();
    }
    assert!(tested.engine.statistics().most_under_way > 100);
    assert_eq!(tested.replayed(), 200);
}

#[test]
fn what_happened_since_it_was_asked_for_is_counted_apart() {
    let tested = started("generic-nvme-tlc");
    let counts = |statistics: &Statistics| {
        statistics.kinds.iter().map(|it| (it.kind, it.count)).collect::<Vec<_>>()
    };
    // A reply leaves a moment before it is counted.
    let all_counted = |expected: &[(RequestKind, u64)]| {
        while counts(&tested.engine.statistics()) != expected {
            std::thread::yield_now();
        }
    };
    let since = || counts(&tested.engine.statistics_since());
    let (wrote, discarded) = ((RequestKind::Write, 1), (RequestKind::Discard, 1));
    tested.write(0, 1);
    all_counted(&[wrote]);
    assert_eq!((since(), since()), (vec![wrote], vec![]));
    tested.discard(0);
    all_counted(&[wrote, discarded]);
    assert_eq!(since(), [discarded]);
}

#[test]
fn what_is_no_whole_block_of_the_drive_is_refused_and_reaches_nothing() {
    let tested = started("generic-nvme-tlc");
    let capacity = tested.engine.capacity();
    for (offset, length) in [
        (capacity, 512),
        (capacity - 512, 1_024),
        (u64::MAX - 511, 512),
        (u64::MAX, u64::MAX),
        (1, 512),
        (512, 100),
        (0, u64::MAX / 512 * 512),
    ] {
        for request in [
            Request::Read { offset, length },
            Request::Zero { offset, length },
            Request::Discard { offset, length },
        ] {
            assert_eq!(tested.run(request), Err(Errno(22)), "{request:?}");
        }
    }
    let beyond = Request::Write { offset: capacity - 512, data: &[0; 1_024] };
    assert_eq!(tested.run(beyond), Err(Errno(22)));
    assert_eq!(tested.run(Request::Discard { offset: capacity, length: 0 }), Ok(Vec::new()));
    assert!(tested.engine.take_log().is_empty());
}

/// Drives that free parts of what a discard names, or nothing.
fn stubborn() -> [SsdConfig; 5] {
    let own = config("generic-nvme-tlc");
    let trim = |mode, granularity| trimbench_ssd::TrimConfig { mode, granularity, ..own.trim };
    let of = |trim| SsdConfig { trim, ..own.clone() };
    [
        own.clone(),
        config("generic-nvme-qlc-large"),
        config("like-optane-900p"),
        of(trim(TrimMode::Ignored, Bytes::kib(4))),
        of(trim(own.trim.mode, Bytes::kib(64))),
    ]
}

#[test]
fn zeroing_that_may_free_blocks_leaves_zeroes_there_and_its_neighbours_as_they_were() {
    for config in stubborn() {
        let shown = format!("{:?} {}", config.trim.mode, config.discard_granularity());
        let tested = started_of(config, 1);
        let mut held = vec![1; index(SPAN * 512)];
        tested.run(Request::Write { offset: 0, data: &held }).unwrap();
        let mut rng = Rng::new(4);
        for round in 2..60_u8 {
            let first = rng.below(SPAN - 1);
            let blocks = 1 + rng.below(SPAN - first);
            let (offset, length) = (first * 512, blocks * 512);
            let place = index(offset)..index(offset + length);
            if round % 2 == 0 {
                tested.run(Request::ZeroFreeing { offset, length }).unwrap();
                held[place].fill(0);
            } else {
                let data = vec![round; index(length)];
                tested.run(Request::Write { offset, data: &data }).unwrap();
                held[place].fill(round);
            }
            assert!(tested.read(0, SPAN) == held, "{shown}: {round}");
        }
        // What was never written since the drive was filled holds something, too.
        let beyond = SPAN + 3;
        tested.run(Request::ZeroFreeing { offset: beyond * 512, length: 512 }).unwrap();
        assert!(tested.read(beyond, 1) == [0; 512], "{shown}");
        assert!(tested.read(beyond - 1, 1) != [0; 512] && tested.read(beyond + 1, 1) != [0; 512]);
        assert!(tested.replayed() > 50, "{shown}");
    }
}

#[test]
fn a_discard_frees_whole_granules_within_it_and_touches_nothing_else() {
    for config in stubborn() {
        let frees = config.trim.mode.frees();
        let granule = config.discard_granularity().0 / 512;
        let tested = started_of(config, 1);
        let mut held = vec![1; index(SPAN * 512)];
        tested.run(Request::Write { offset: 0, data: &held }).unwrap();
        for (first, end) in [(1, 2), (7, 9), (granule - 1, 3 * granule + 1), (300, 301)] {
            let (offset, length) = (first * 512, (end - first) * 512);
            tested.run(Request::Discard { offset, length }).unwrap();
            let (up, down) = (first.next_multiple_of(granule), end / granule * granule);
            if frees && up < down {
                held[index(up * 512)..index(down * 512)].fill(0);
            }
            assert!(tested.read(0, SPAN) == held, "{granule}: {first}..{end}");
        }
    }
}

#[test]
fn zeroing_that_may_free_blocks_outlasts_a_power_cut_once_a_flush_covers_it() {
    for config in stubborn() {
        let tested = started_of(config, 1);
        tested.run(Request::Write { offset: 0, data: &vec![1; 65_536] }).unwrap();
        tested.flush();
        tested.run(Request::ZeroFreeing { offset: 512, length: 40_960 }).unwrap();
        tested.flush();
        tested.cut();
        let read = tested.read(0, 128);
        assert!(read[..512] == [1; 512] && read[512..41_472].iter().all(|byte| *byte == 0));
        assert!(read[41_472..].iter().all(|byte| *byte == 1));
    }
}

#[test]
fn what_is_discarded_and_written_again_without_a_flush_takes_no_more_and_more_memory() {
    const MIB: u64 = 1 << 20;
    let tested = started("generic-nvme-tlc");
    tested.run(Request::Write { offset: 0, data: &vec![1; index(MIB)] }).unwrap();
    tested.flush();
    for round in 0..200_u8 {
        tested.run(Request::Discard { offset: 0, length: MIB }).unwrap();
        tested.run(Request::Write { offset: 0, data: &vec![round; index(MIB)] }).unwrap();
    }
    let kept = tested.engine.shared.state().kept_bytes();
    assert!(kept <= 66 * MIB, "{kept}");
    tested.engine.shared.with(|state, now, _| state.prune(now));
    let kept = tested.engine.shared.state().kept_bytes();
    assert!(kept <= 2 * MIB, "{kept}");
    // What a unit goes back to depends on what was programmed by then; its bytes are there.
    tested.cut();
    let contents = tested.engine.shared.state().contents(0..MIB / 512);
    for (block, content) in tested.read(0, MIB / 512).chunks(512).zip(contents) {
        let byte = match content {
            // The first write has generation 2, that of round 0 the next one.
            Content::Stamp { generation: 2, .. } => 1,
            Content::Stamp { generation, .. } => u8::try_from(generation - 3).unwrap(),
            other => {
                assert_eq!(other, Content::Zeroes);
                0
            }
        };
        assert!(block.iter().all(|it| *it == byte), "{content:?}");
    }
}

#[test]
fn the_power_goes_under_load_and_what_a_flush_covered_is_there() {
    for profile in ["generic-sata-tlc", "generic-nvme-tlc"] {
        let tested = started(profile);
        let mut rng = Rng::new(3);
        for round in 0..20_u8 {
            for block in (0..64).step_by(8) {
                tested.write(block, 2 * round + 1);
            }
            tested.flush();
            let data = [2 * round + 2; 4_096];
            let begun: Vec<_> = (0..8)
                .map(|number| tested.begin(Request::Write { offset: number * 4_096, data: &data }))
                .collect();
            std::thread::sleep(Duration::from_micros(rng.below(400)));
            tested.engine.plant(&LiveFault::PowerCut).unwrap();
            for ended in begun {
                assert!(matches!(ended.recv().unwrap(), Ok(_) | Err(Errno(5))));
            }
            let write = Request::Write { offset: 0, data: &data };
            assert_eq!(tested.run(write), Err(Errno(5)), "the power is off");
            tested.engine.plant(&LiveFault::PowerOn).unwrap();
            for block in (0..64).step_by(8) {
                let read = tested.read(block, 8);
                let versions = [2 * round + 1, 2 * round + 2];
                assert!(versions.iter().any(|byte| read == [*byte; 4_096]), "{profile}: {round}");
            }
        }
        assert!(tested.replayed() > 20 * 9, "{profile}");
    }
}

#[test]
fn each_fault_does_what_it_says_and_is_taken_back() {
    let tested = started("generic-sata-tlc");
    let plant = |fault| tested.engine.plant(&fault).unwrap();
    let holds = |block, byte| tested.read(block, 8) == [byte; 4_096];
    tested.write(0, 1);
    tested.flush();
    plant(LiveFault::LyingFlush(true));
    tested.write(0, 2);
    tested.flush();
    tested.cut();
    assert!(holds(0, 1), "the flush was a lie");
    plant(LiveFault::LyingFlush(false));
    tested.write(0, 2);
    tested.flush();
    tested.cut();
    assert!(holds(0, 2));

    plant(LiveFault::IgnoredDiscards(true));
    tested.discard(0);
    assert!(holds(0, 2));
    plant(LiveFault::IgnoredDiscards(false));
    tested.discard(0);
    assert!(holds(0, 0));

    let ranges = std::iter::once(4_096..4_608).collect();
    plant(LiveFault::Unreadable { ranges, good_reads: 0 });
    let read = Request::Read { offset: 0, length: 8_192 };
    assert_eq!(tested.run(read), Err(Errno(5)));
    assert!(holds(0, 0));
    tested.write(8, 3);
    assert!(holds(8, 3), "what is written can be read again");

    tested.write(16, 4);
    tested.write(24, 5);
    plant(LiveFault::NeighbourLost { before: 0, behind: 4_096 });
    tested.discard(16);
    assert!(holds(24, 0), "the neighbour went with it");
    assert!(tested.engine.plant(&LiveFault::NeighbourLost { before: 1, behind: 0 }).is_err());
    plant(LiveFault::NeighbourLost { before: 0, behind: 0 });

    plant(LiveFault::OldDataAfterDiscard(true));
    tested.write(32, 6);
    tested.discard(32);
    assert!(holds(32, 6));
    plant(LiveFault::OldDataAfterDiscard(false));
    assert!(holds(32, 0));

    let begun = std::time::Instant::now();
    plant(LiveFault::Stall { after: 0, span: 200_000_000 });
    tested.flush();
    assert!(begun.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_stall_without_an_end_ends_when_it_is_taken_back() {
    let tested = started("generic-nvme-tlc");
    tested.engine.plant(&LiveFault::Stall { after: 0, span: u64::MAX }).unwrap();
    let begun = [tested.begin(Request::Flush), tested.begin(Request::Flush)];
    std::thread::sleep(Duration::from_millis(300));
    assert!(begun.iter().all(|it| it.try_recv().is_err()));
    tested.engine.plant(&LiveFault::Stall { after: 0, span: 0 }).unwrap();
    for ended in begun {
        ended.recv_timeout(Duration::from_secs(10)).unwrap().unwrap();
    }
    tested.write(0, 1);
    assert_eq!(tested.replayed(), 3);
}

#[test]
fn delays_hold_side_by_side_until_they_are_taken_back_and_are_replayed() {
    let tested = started("generic-nvme-tlc");
    let plant = |fault| tested.engine.plant(&fault).unwrap();
    let model = |kind| {
        let kinds = tested.engine.statistics().kinds;
        kinds.into_iter().find(|it| it.kind == kind).unwrap().model_ns
    };
    let data = [1; 4_096];
    let writes = || {
        (0..64)
            .map(|number| tested.begin(Request::Write { offset: number * 4_096, data: &data }))
            .collect::<Vec<_>>()
    };
    plant(LiveFault::Slow(500_000_000));
    for ended in writes() {
        ended.recv().unwrap().unwrap();
    }
    let [_, _, longest] = model(RequestKind::Write);
    assert!((500_000_000..1_000_000_000).contains(&longest), "one after the other: {longest}");
    plant(LiveFault::SlowDiscards(100_000_000));
    tested.discard(0);
    let [_, _, longest] = model(RequestKind::Discard);
    assert!((600_000_000..1_100_000_000).contains(&longest), "{longest}");

    // Far longer than any test may take.
    plant(LiveFault::Slow(u64::MAX));
    let held = writes();
    std::thread::sleep(Duration::from_millis(100));
    assert!(held.iter().all(|it| it.try_recv().is_err()));
    plant(LiveFault::Slow(0));
    for ended in held {
        ended.recv_timeout(Duration::from_secs(10)).unwrap().unwrap();
    }
    plant(LiveFault::Slow(u64::MAX));
    let held = writes();
    std::thread::sleep(Duration::from_millis(100));
    tested.engine.plant(&LiveFault::PowerCut).unwrap();
    for ended in held {
        assert_eq!(ended.recv().unwrap(), Err(Errno(5)));
    }
    plant(LiveFault::PowerOn);
    plant(LiveFault::Slow(0));
    plant(LiveFault::SlowDiscards(0));
    tested.discard(0);
    assert_eq!(tested.replayed(), 3 * 64 + 2);
}

#[test]
fn a_process_that_did_not_run_is_noticed_while_nothing_is_under_way() {
    let tested = started("generic-nvme-tlc");
    let pause = || tested.engine.statistics().longest_pause_ns;
    // By now its thread sleeps until it has something to do.
    std::thread::sleep(Duration::from_millis(300));
    let held = tested.engine.shared.state();
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    let begun = std::time::Instant::now();
    while pause() == 0 && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(pause() >= 200_000_000, "{}", pause());
}

#[test]
fn a_drive_that_ends_answers_what_is_under_way() {
    let tested = started("generic-sata-tlc");
    tested.engine.plant(&LiveFault::Stall { after: 0, span: u64::MAX / 4 }).unwrap();
    let begun = tested.begin(Request::Flush);
    let Tested { engine, timer, .. } = tested;
    drop(timer);
    assert_eq!(begun.recv().unwrap(), Err(Errno(5)));
    let (sender, receiver) = channel();
    engine.submit(Request::Flush, Box::new(move |outcome| drop(sender.send(outcome))));
    assert_eq!(receiver.recv().unwrap(), Err(Errno(5)));
}

#[test]
fn a_drive_that_has_ended_still_says_what_it_counted() {
    let tested = started("generic-sata-tlc");
    let write = Request::Write { offset: 0, data: &[1; 4_096] };
    tested.run(write).unwrap();
    tested.engine.plant(&LiveFault::Stall { after: 0, span: 200_000_000 }).unwrap();
    let begun = tested.begin(write);
    let Tested { engine, timer, .. } = tested;
    drop(timer);
    assert_eq!(begun.recv().unwrap(), Err(Errno(5)));
    // By now the model has an end for it, and nobody waits.
    std::thread::sleep(Duration::from_millis(300));
    let statistics = engine.statistics();
    assert_eq!((statistics.kinds[0].count, statistics.under_way), (1, 0));
    assert_eq!(engine.plant(&LiveFault::PowerCut).unwrap_err(), "the drive has ended");
}

#[test]
fn generations_wrap_and_leave_zero_out() {
    let tested = started("generic-nvme-tlc");
    tested.engine.shared.state().begin_generations_at(u32::MAX - 1);
    for byte in 1..=4 {
        tested.write(0, byte);
        assert!(tested.read(0, 8) == [byte; 4_096]);
    }
    let log = tested.engine.take_log();
    let generations: Vec<u32> = log
        .iter()
        .filter_map(|entry| match entry.event {
            LogEvent::Submitted {
                command: crate::LoggedCommand::Write { generation, .. }, ..
            } => generation,
            _ => None,
        })
        .collect();
    assert_eq!(generations, [u32::MAX, 1, 2, 3]);
}
