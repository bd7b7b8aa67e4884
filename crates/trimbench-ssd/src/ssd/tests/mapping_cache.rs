//! The mapping cache: what a miss costs, what is written back, and who pays for what.

use trimbench_core::{Drive as _, Target, Virtual};

use super::*;
use crate::config::MappingCacheConfig;

/// Units of the drive and of a translation page: 16 pages.
const UNITS: u64 = 16_384;
const PAGE: u64 = 1_024;
/// A read that finds its page: 10 command + 50 die + 4.096 channel + 8.192 link + 20 latency.
const HIT: f64 = 92.288;
/// A read of a translation page: 50 die + 4.096 channel.
const MISS: f64 = 54.096;

pub(crate) fn dramless(pages: u64) -> SsdConfig {
    let cache = MappingCacheConfig {
        size: Bytes(pages * 4_096),
        page: Bytes(4_096),
        read: Nanos::from_micros(50),
        program: Nanos::from_micros(600),
    };
    SsdConfig { mapping_cache: Some(cache), ..plain() }
}

fn write(unit: u64) -> BlockCommand {
    BlockCommand::write(units(unit, 1))
}

/// Translation pages read and programmed so far.
fn pages(target: &Virtual<Ssd>) -> (u64, u64) {
    let counters = target.model().counters();
    (counters.map_pages_read, counters.map_pages_programmed)
}

/// Submits the commands one after the other, each when the one before is over and at rest.
fn one_by_one(target: &mut Virtual<Ssd>, commands: impl IntoIterator<Item = BlockCommand>) {
    for command in commands {
        times(target, &[command]);
        target.reap(target.now() + Nanos::from_millis(2), &mut Vec::new());
    }
}

#[test]
fn random_reads_pay_for_the_part_of_their_range_that_is_not_cached() {
    for (cached, range) in [(4, 16), (8, 16), (4, 6)] {
        let mut target = full(dramless(cached));
        let mut rng = Rng::new(4);
        let mut random = |target: &mut Virtual<Ssd>, count: u64| -> f64 {
            let begin = target.now();
            (0..count).for_each(|_| drop(times(target, &[read(rng.below(range * PAGE))])));
            (target.now() - begin).0 as f64 / 1e3 / count as f64
        };
        random(&mut target, 100);
        let before = pages(&target).0;
        let count = 40_000;
        let mean = random(&mut target, count);
        let ratio = (pages(&target).0 - before) as f64 / count as f64;
        let expected = 1.0 - cached as f64 / range as f64;
        assert!((ratio / expected - 1.0).abs() < 0.01, "{ratio} instead of {expected}");
        let expected = HIT + expected * MISS;
        assert!((mean / expected - 1.0).abs() < 0.01, "{mean} us instead of {expected}");
    }
}

#[test]
fn sequential_reads_miss_once_a_page() {
    let mut target = full(dramless(1));
    for unit in 0..UNITS {
        let expected = if unit % PAGE == 0 { [146] } else { [92] };
        assert_eq!(times(&mut target, &[read(unit)]), expected, "{unit}");
    }
    assert_eq!(pages(&target), (16, 0));
}

#[test]
fn units_of_one_command_share_their_page_and_pages_come_one_after_the_other() {
    let mut target = full(dramless(2));
    // Two units of a group and two pages: 10 + 54.096, then 50 + 8.192 + 16.384 + 20.
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(32, 2))]), [158]);
    assert_eq!(pages(&target).0, 1);
    // A unit at the end of page 1 and one at the begin of page 2, of two groups of one die: 10 +
    // 2 x 54.096, then 2 x 50 + 4.096 channel + 16.384 link + 20.
    let taken = times(&mut target, &[BlockCommand::Read(units(2 * PAGE - 1, 2))]);
    assert_eq!((taken, pages(&target).0), (vec![258], 3));
}

#[test]
fn who_needs_a_page_that_is_on_its_way_waits_for_the_same_read() {
    let mut target = full(dramless(2));
    // The page is there at 64.096 for both; the die then serves one after the other.
    assert_eq!(times(&mut target, &[read(0), read(1_000)]), [146, 196]);
    assert_eq!(pages(&target), (1, 0));
}

#[test]
fn a_write_needs_its_page_before_its_data_are_taken() {
    let mut target = full(dramless(2));
    // 10 + 54.096 + 8.192 link + 20, then the same without the page.
    assert_eq!(times(&mut target, &[write(0)]), [92]);
    assert_eq!(times(&mut target, &[write(1)]), [38]);
}

#[test]
fn pages_that_were_updated_are_programmed_as_they_go_and_others_are_not() {
    let mut target = full(dramless(2));
    let steps = [
        // Command, pages read and programmed from the beginning.
        (write(0), (1, 0)),
        (write(PAGE), (2, 0)),
        (write(1), (2, 0)),
        // Page 1 was used least recently, then page 0, then 2, then 3.
        (write(2 * PAGE), (3, 1)),
        (read(3 * PAGE), (4, 2)),
        (read(PAGE), (5, 3)),
        (read(0), (6, 3)),
    ];
    for (command, expected) in steps {
        one_by_one(&mut target, [command]);
        assert_eq!(pages(&target), expected, "{command:?}");
    }
    target.model_mut().check();
    let wear = target.model_mut().wear().unwrap();
    let counters = target.model().counters();
    assert_eq!(wear.media_written, Bytes((counters.programmed_units + 3) * 4_096));
}

#[test]
fn a_page_that_goes_occupies_its_die_and_nobody_waits_for_more() {
    let mut target = full(dramless(1));
    one_by_one(&mut target, [write(0)]);
    // The page comes at 64.096 and the other goes: 4.096 channel, 600 die. Then the data: 50 die +
    // 4.096 channel + 8.192 link + 20.
    assert_eq!(times(&mut target, &[read(PAGE)]), [750]);
    // A write has nothing to do with the die.
    one_by_one(&mut target, [write(PAGE)]);
    assert_eq!(times(&mut target, &[write(0)]), [92]);
}

#[test]
fn as_many_pages_are_on_their_way_out_as_there_are_dies() {
    let mut target = full(dramless(1));
    one_by_one(&mut target, [write(0)]);
    // Page 1 comes at 64.096 for page 0, which is programmed behind the read of page 2, from 110 to
    // 710; so long page 2 waits. Then 8.192 link and 20.
    assert_eq!(times(&mut target, &[write(PAGE), write(2 * PAGE)]), [92, 738]);
    assert_eq!(pages(&target), (3, 2));
}

#[test]
fn a_fresh_drive_has_no_pages_to_read_and_writes_each_once() {
    let mut target = drive(dramless(2));
    assert_eq!(times(&mut target, &[read(0)]), [38]);
    for first in (0..UNITS).step_by(16) {
        times(&mut target, &[BlockCommand::write(units(first, 16))]);
    }
    assert_eq!(pages(&target), (0, 14));
    target.model_mut().purge();
    assert_eq!(times(&mut target, &[read(0)]), [38]);
    assert_eq!(pages(&target), (0, 0));
}

/// What a TRIM of these units costs beyond the same on a drive with its map in DRAM, in
/// nanoseconds, and how many pages it reads.
fn trimmed(config: &SsdConfig, range: (u64, u64)) -> (u64, u64) {
    let command = BlockCommand::Discard(units(range.0, range.1));
    let taken = |target: &mut Virtual<Ssd>| {
        times(target, &[command]);
        target.now().since_start().0
    };
    let mut target = full(config.clone());
    let plain = SsdConfig { mapping_cache: None, ..config.clone() };
    let cost = taken(&mut target) - taken(&mut full(plain));
    let read = pages(&target).0;
    // What was trimmed as a whole is nowhere, the rest is cached.
    times(&mut target, &[command]);
    assert_eq!(pages(&target).0, read, "a second TRIM reads nothing");
    target.model_mut().check();
    (cost, read)
}

#[test]
fn a_trim_reads_every_page_that_it_touches() {
    for mode in [TrimMode::Blocking, TrimMode::Queued] {
        let config = SsdConfig { trim: trim(mode), ..dramless(2) };
        // 54.096 each, one after the other on one die.
        assert_eq!(trimmed(&config, (0, 8 * PAGE)), (8 * 54_096, 8));
        assert_eq!(trimmed(&config, (PAGE, PAGE + 1)), (2 * 54_096, 2));
        assert_eq!(trimmed(&config, (PAGE / 2, 3 * PAGE)), (4 * 54_096, 4));
        assert_eq!(trimmed(&config, (5, 1)), (54_096, 1));
        // All dies at once, if each has a channel of its own; or two for each.
        let dies = |channels| Geometry { channels, dies: 4, ..plain().geometry };
        let config = |channels| SsdConfig { geometry: dies(channels), ..config.clone() };
        assert_eq!(trimmed(&config(4), (0, 8 * PAGE)), (2 * 54_096, 8));
        assert_eq!(trimmed(&config(2), (0, 8 * PAGE)), (2 * 58_192, 8));
    }
}

#[test]
fn a_trim_in_the_background_puts_the_reads_of_its_pages_off() {
    let config = SsdConfig { trim: trim(TrimMode::Background), ..dramless(2) };
    let pending = |config: SsdConfig| {
        let mut target = full(config);
        target.submit(Tag(0), BlockCommand::Discard(units(0, 8 * PAGE))).unwrap();
        target.model().counters().trim_work_pending
    };
    let without = pending(SsdConfig { mapping_cache: None, ..config.clone() });
    assert_eq!(pending(config) - without, Nanos(8 * 54_096));
}

#[test]
fn a_drive_that_ignores_a_trim_looks_nothing_up() {
    let mut target = full(SsdConfig { trim: trim(TrimMode::Ignored), ..dramless(2) });
    times(&mut target, &[BlockCommand::Discard(units(0, UNITS / 2))]);
    assert_eq!(pages(&target), (0, 0));
}

#[test]
fn the_collector_updates_the_map_by_page() {
    let mut target = full(dramless(1));
    // Half of each superblock is overwritten, several times, page by page: 16 loads a pass, and as
    // many pages go but for the last. A victim lies in one page.
    let passes = 4;
    for _ in 0..passes {
        for unit in (0..UNITS).step_by(2) {
            times(&mut target, &[write(unit)]);
        }
    }
    let counters = target.model().counters();
    let (loads, gone) = (16 * passes, 16 * passes - 1);
    let collected = counters.map_pages_read - loads;
    assert_eq!(collected, counters.map_pages_programmed - gone, "each is read and programmed");
    assert!(collected > 0 && collected <= counters.erased_superblocks);
    // Victims without valid units, and those of the page that is cached, owe none.
    assert!(collected * 4 > counters.erased_superblocks, "{counters:?}");
    target.model_mut().check();
}

#[test]
fn a_power_cut_and_a_preconditioning_leave_an_empty_cache() {
    let mut target = full(dramless(16));
    one_by_one(&mut target, [write(0), read(0)]);
    assert_eq!(pages(&target), (1, 0));
    trimbench_core::Drive::power_cut(target.model_mut()).unwrap();
    one_by_one(&mut target, [read(1)]);
    assert_eq!(pages(&target), (2, 0));
    target.model_mut().precondition_sequential(Bytes(0), Bytes(4_096));
    one_by_one(&mut target, [read(1)]);
    assert_eq!(pages(&target), (3, 0), "and nothing was programmed for it");
}

#[test]
fn a_cache_that_holds_everything_changes_nothing() {
    for duplex in [LinkDuplex::Half, LinkDuplex::Full] {
        let run = |pages: Option<u64>| {
            // Odd times, so that hardly two things happen at one instant: their order is free.
            let host = HostInterface { duplex, command: Nanos(10_007), ..plain().host };
            let (read, program) = (Nanos(50_021), Nanos(600_413));
            let nand = NandTiming { read, program, ..plain().nand };
            let config = pages.map_or_else(plain, dramless);
            let geometry = Geometry { dies: 4, channels: 2, ..plain().geometry };
            let mut target = drive(SsdConfig { geometry, nand, host, ..config });
            let mut rng = Rng::new(8);
            let commands = (0..6_000).map(|_| {
                let first = rng.below(UNITS - 64);
                let range = units(first, 1 + rng.below(64));
                match rng.below(20) {
                    0..10 => BlockCommand::write(range),
                    10..13 => BlockCommand::Discard(range),
                    13 => BlockCommand::Flush,
                    _ => BlockCommand::Read(range),
                }
            });
            let mut out = run_in_turn(&mut target, 8, commands);
            target.model_mut().check();
            out.sort_by_key(|completion| completion.tag);
            (out, target.model().counters())
        };
        let ((cached, counters), (without, _)) = (run(Some(16)), run(None));
        assert_eq!((counters.map_pages_read, counters.map_pages_programmed), (0, 0));
        assert!(counters.erased_superblocks > 1_000, "the collector has work");
        let differs = cached.iter().zip(&without).find(|(cached, without)| cached != without);
        assert_eq!(differs, None, "{duplex:?}");
        assert!(run(Some(2)).0 != without, "a small one does");
    }
}
