//! Power cuts under load, to the microsecond. `oracle` cuts random loads at random instants.

use trimbench_core::{Content, Drive as _};

use super::*;
use crate::config::Media;

mod oracle;

const OLD: u32 = 1;
const NEW: u32 = 2;
const NEWER: u32 = 3;

/// A full drive that keeps contents: its first 64 units have the stamp [`OLD`], on the flash.
fn stamped(config: SsdConfig) -> (Ssd, Instant) {
    let mut target = full(config);
    times(&mut target, &[write(0, 64, OLD), BlockCommand::Flush]);
    target.reap(target.now() + Nanos::from_millis(20), &mut Vec::new());
    let now = target.now();
    (target.into_model(), now)
}

fn write(first: u64, count: u64, generation: u32) -> BlockCommand {
    BlockCommand::Write { range: units(first, count), data: Data::Stamped(generation) }
}

/// The generation of the unit's stamp; `None` if it has none.
fn generation(ssd: &mut Ssd, unit: u64) -> Option<u32> {
    let mut out = Vec::new();
    ssd.examine(units(unit, 1), &mut out).unwrap();
    match out[0] {
        Content::Stamp { generation, .. } => Some(generation),
        _ => None,
    }
}

/// Submits each command so many microseconds after `start`, and advances the drive to `until`; the
/// tags of those that have completed.
fn play(
    ssd: &mut Ssd,
    start: Instant,
    commands: &[(u64, BlockCommand)],
    until: u64,
) -> (Instant, Vec<u32>) {
    let mut out = Vec::new();
    for (tag, (at, command)) in (0..).zip(commands) {
        let at = start + Nanos::from_micros(*at);
        ssd.advance(at, &mut out);
        ssd.submit(at, Tag(tag), *command).unwrap();
    }
    let now = start + Nanos::from_micros(until);
    ssd.advance(now, &mut out);
    (now, out.iter().map(|completion| completion.tag.0).collect())
}

#[test]
fn a_flush_makes_durable_when_it_ends_what_was_there_when_it_started() {
    // The flush starts at 1,000 and ends 695 later; what comes after its start is not its own.
    let commands = [
        (0, write(0, 1, NEW)),
        (100, BlockCommand::Discard(units(1, 1))),
        (1_000, BlockCommand::Flush),
        (1_010, write(0, 1, NEWER)),
        (1_020, BlockCommand::Discard(units(2, 1))),
        (1_030, write(3, 1, NEW)),
    ];
    // The program of the padded group with the first write ends at 1,676, the flush at 1,696.
    for (until, first) in [(1_600, OLD), (1_690, OLD), (1_694, OLD), (1_697, NEW)] {
        let (mut ssd, start) = stamped(plain());
        let (now, ended) = play(&mut ssd, start, &commands, until);
        let flushed = ended.contains(&2);
        assert_eq!(flushed, first == NEW, "at {until}");
        ssd.cut_power(now);
        let trimmed = if flushed { None } else { Some(OLD) };
        assert_eq!(generation(&mut ssd, 0), Some(first), "at {until}");
        assert_eq!(generation(&mut ssd, 1), trimmed, "at {until}");
        assert_eq!(ssd.holds_data(Bytes(PIECE_BYTES)), !flushed);
        assert_eq!(generation(&mut ssd, 2), Some(OLD), "a TRIM after its start");
        assert_eq!(generation(&mut ssd, 3), Some(OLD), "a write after its start");
        ssd.check();
    }
}

#[test]
fn each_of_several_flushes_under_way_counts_when_it_ends() {
    let commands = [
        (0, write(0, 1, NEW)),
        (40, BlockCommand::Flush),
        (50, write(0, 1, NEWER)),
        (60, BlockCommand::Flush),
        (70, BlockCommand::Discard(units(0, 1))),
    ];
    let mut seen = Vec::new();
    for until in (600..1_500).step_by(25) {
        let (mut ssd, start) = stamped(plain());
        let (now, ended) = play(&mut ssd, start, &commands, until);
        ssd.cut_power(now);
        let expected = [(3, NEWER), (1, NEW)].iter().find(|(flush, _)| ended.contains(flush));
        let expected = expected.map_or(OLD, |(_, generation)| *generation);
        assert_eq!(generation(&mut ssd, 0), Some(expected), "at {until}");
        seen.push(expected);
    }
    seen.dedup();
    assert_eq!(seen, [OLD, NEW, NEWER]);
}

#[test]
fn a_unit_goes_back_to_what_the_flash_had_of_it_last() {
    for (second, expected) in [(5_000, NEW), (100, OLD)] {
        // A whole program group, programmed by itself; then half of one, which stays in the buffer.
        let commands = [(0, write(0, 16, NEW)), (second, write(0, 8, NEWER))];
        let (mut ssd, start) = stamped(plain());
        let (now, ended) = play(&mut ssd, start, &commands, 20_000);
        assert_eq!(ended, [0, 1]);
        ssd.cut_power(now);
        // Replaced in the buffer, it is lost.
        assert_eq!(generation(&mut ssd, 0), Some(expected), "replaced after {second}");
        assert_eq!(generation(&mut ssd, 8), Some(NEW), "it was not replaced");
    }
    // A TRIM that is undone, likewise.
    let commands = [(0, write(0, 16, NEW)), (5_000, BlockCommand::Discard(units(0, 16)))];
    let (mut ssd, start) = stamped(plain());
    let (now, _) = play(&mut ssd, start, &commands, 20_000);
    ssd.cut_power(now);
    assert_eq!(generation(&mut ssd, 0), Some(NEW));
}

/// Drives that are cut while they do much, and whether a long TRIM is the first that they get.
fn busy() -> impl Iterator<Item = (SsdConfig, bool)> {
    let modes = [TrimMode::Queued, TrimMode::Blocking, TrimMode::Background, TrimMode::None];
    let host = HostInterface { queue_depth: 4, ..plain().host };
    modes.into_iter().flat_map(move |mode| {
        let trim = TrimConfig {
            background_slice: Nanos::from_micros(100),
            background_bound: (mode == TrimMode::Background).then_some(Nanos::ZERO),
            ..trim(mode)
        };
        let media = if mode == TrimMode::None { Media::InPlace } else { Media::Flash };
        [true, false].map(|first| (SsdConfig { media, host, trim, ..plain() }, first))
    })
}

#[test]
fn a_cut_drive_has_no_command_left_and_is_at_rest() {
    for (config, trim_first) in busy() {
        let in_place = config.media == Media::InPlace;
        let (mut ssd, start) = stamped(config);
        let discard = |at| (at, BlockCommand::Discard(units(8_192, 8_192)));
        let mut commands = vec![if trim_first { discard(0) } else { (0, read(1)) }];
        commands.extend((0..64).map(|group| (1, write(group * 16, 16, NEW))));
        commands.extend([(2, BlockCommand::Flush), discard(3), (4, read(9_000))]);
        let (now, ended) = play(&mut ssd, start, &commands, 2_000);
        let lost = ssd.cut_power(now);
        let mut all: Vec<u32> = lost.iter().map(|tag| tag.0).chain(ended).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..68), "each command has ended or is lost");
        assert!(lost.len() > 4, "some were waiting");
        assert_eq!((ssd.statistics().outstanding, ssd.next_event()), (0, Instant::NEVER));
        assert_eq!(ssd.counters().trim_work_pending, Nanos::ZERO);
        ssd.check();
        // The times of a drive at rest, to the microsecond.
        let mut target = Virtual::starting_at(now, ssd);
        assert_eq!(times(&mut target, &[read(9_000)]), [92]);
        let written = times(&mut target, &[write(0, 1, NEWER)]);
        assert!(in_place || written == [38], "{written:?}");
        times(&mut target, &[BlockCommand::Flush]);
        assert_eq!(generation(target.model_mut(), 0), Some(NEWER));
    }
}

#[test]
fn nothing_of_the_commands_before_a_cut_reaches_those_behind_it() {
    // The ranges of a TRIM that waited are not those of the next one with its tag.
    let arbitrations = [TrimArbitration::FirstCome, TrimArbitration::RoundRobin];
    for arbitration in arbitrations.into_iter().chain([TrimArbitration::ReadsFirst]) {
        let trim = TrimConfig { arbitration, ranges: 2, ..trim(TrimMode::Queued) };
        let host = HostInterface { queue_depth: 2, ..plain().host };
        let (mut ssd, start) = stamped(SsdConfig { host, trim, ..plain() });
        for tag in 0..4 {
            let ranges = [units(8_192, 4_096), units(tag, 1)];
            ssd.submit_discard(start, Tag(narrow(tag)), &ranges).unwrap();
        }
        let now = start + Nanos::from_micros(200);
        ssd.advance(now, &mut Vec::new());
        assert_eq!(ssd.cut_power(now).len(), 4, "{arbitration:?}");
        let mut target = Virtual::starting_at(now, ssd);
        // 10 + 100 command + 7 for the range + 20 latency, and nearly 1 for the unit.
        let again = [63, 62, 61, 60].map(|unit| BlockCommand::Discard(units(unit, 1)));
        for (command, unit) in again.iter().zip([63, 62, 61, 60]) {
            assert_eq!(times(&mut target, &[*command]), [137], "{arbitration:?}");
            assert_eq!(generation(target.model_mut(), unit), None);
        }
        times(&mut target, &again);
        assert_eq!([0, 1, 2, 3].map(|unit| generation(target.model_mut(), unit)), [Some(OLD); 4]);
        target.model_mut().check();
    }
    // Nor does the pace that they were held to.
    let gc = GcConfig { pace: Nanos::from_millis(1), ..plain().gc };
    let mut target = full(SsdConfig { gc, write_buffer: Bytes(65_536), ..plain() });
    target.model_mut().precondition_random(40_000, &mut Rng::new(1));
    let (mut ssd, now) = (target.into_model(), Instant::START);
    let writes: Vec<_> = (0..1_000).map(|tag| (0, write(tag * 16, 16, NEW))).collect();
    let (now, ended) = play(&mut ssd, now, &writes, 5_000_000);
    assert!((100..900).contains(&ended.len()), "they are paced: {}", ended.len());
    ssd.cut_power(now);
    let mut target = Virtual::starting_at(now, ssd);
    for group in 0..200 {
        let taken = times(&mut target, &[write(group * 16, 16, NEW)])[0];
        assert!(taken < 60_000, "16 units at a pace of 1 ms, and the flash: {taken}");
    }
}

#[test]
fn what_is_durable_is_known_and_stays_so() {
    let (mut ssd, start) = stamped(plain());
    let durable = |ssd: &mut Ssd, unit, now| ssd.is_durable(units(unit, 1), now);
    let (now, _) = play(&mut ssd, start, &[(0, write(0, 16, NEW)), (1, write(16, 1, NEW))], 200);
    assert!(!durable(&mut ssd, 0, now) && !durable(&mut ssd, 16, now), "in the buffer");
    assert!(durable(&mut ssd, 17, now) && durable(&mut ssd, 9_000, now), "not written");
    assert!(!ssd.is_durable(units(15, 4), now), "in part");
    let (now, _) = play(&mut ssd, start, &[], 2_000);
    assert!(durable(&mut ssd, 0, now) && !durable(&mut ssd, 16, now), "its group never left");
    let discard = BlockCommand::Discard(units(0, 1));
    let (now, ended) = play(&mut ssd, now, &[(0, discard), (500, BlockCommand::Flush)], 1_000);
    assert_eq!(ended, [0]);
    assert!(!durable(&mut ssd, 0, now) && !durable(&mut ssd, 16, now), "the flush has not ended");
    let (now, ended) = play(&mut ssd, now, &[], 1_000);
    assert_eq!(ended, [1]);
    assert!(durable(&mut ssd, 0, now) && durable(&mut ssd, 16, now));
    ssd.cut_power(now);
    assert_eq!((generation(&mut ssd, 0), generation(&mut ssd, 16)), (None, Some(NEW)));
    assert!(durable(&mut ssd, 0, now));
    let (mut ssd, start) = stamped(SsdConfig { power_loss_protection: true, ..plain() });
    let (now, _) = play(&mut ssd, start, &[(0, write(0, 1, NEW))], 1);
    assert!(durable(&mut ssd, 0, now), "nothing is lost");
}

#[test]
fn the_journal_stays_short_without_a_flush() {
    let buffer_units = 256;
    let (mut ssd, mut now) = stamped(plain());
    let (mut rng, mut out) = (Rng::new(1), Vec::new());
    let mut longest = 0;
    for tag in 0..1_000_000 {
        ssd.submit(now, Tag(tag), write(rng.below(16_000), 1, NEW)).unwrap();
        while ssd.statistics().outstanding > 0 {
            now = ssd.next_event();
            ssd.advance(now, &mut out);
        }
        out.clear();
        longest = longest.max(ssd.contents.as_ref().unwrap().journalled_units());
    }
    assert!(longest >= buffer_units, "it keeps what is in the buffer: {longest}");
    assert!(longest <= 2 * buffer_units + 64, "{longest}");
}
