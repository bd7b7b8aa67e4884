//! The SLC cache: what a burst costs, what is folded and what need not be.

use trimbench_core::{Target, Virtual};

use super::*;
use crate::config::{SlcCacheConfig, SlcMode, WhenFull};

const UNITS: u64 = 16_384;
/// Units of a program group and of a superblock of `plain`.
const GROUP: u64 = 16;
const SUPERBLOCK: u64 = 64;

/// A quarter of the drive, 4,096 units, programmed in 150 us instead of 600 us.
pub(crate) fn cache(mode: SlcMode, when_full: WhenFull) -> SlcCacheConfig {
    SlcCacheConfig {
        mode,
        size: Ppm(250_000),
        minimum: Ppm(0),
        bits_per_cell: 4,
        program: Nanos::from_micros(150),
        read: Nanos::from_micros(20),
        when_full,
        fold_idle_after: Nanos::from_millis(50),
    }
}

/// A drive that writes through a buffer of one program operation.
fn cached(slc_cache: SlcCacheConfig) -> Virtual<Ssd> {
    let config = SsdConfig { write_buffer: Bytes(65_536), slc_cache: Some(slc_cache), ..plain() };
    drive(config)
}

/// Writes `[first, first + count)` group by group; the microseconds that each group took.
fn write(target: &mut Virtual<Ssd>, first: u64, count: u64) -> Vec<u64> {
    (first..first + count)
        .step_by(16)
        .map(|unit| times(target, &[BlockCommand::write(units(unit, GROUP))])[0])
        .collect()
}

fn rest(target: &mut Virtual<Ssd>, span: Nanos) {
    let until = target.now() + span;
    target.reap(until, &mut Vec::new());
    // Idle time is worked off when a command comes.
    times(target, &[BlockCommand::Read(units(UNITS - 1, 1))]);
}

/// Groups that did not wait for a program beside the cache.
fn quick(taken: &[u64]) -> usize {
    taken.iter().filter(|&&taken| taken < 400).count()
}

#[test]
fn a_burst_is_quick_for_exactly_the_size_of_the_cache() {
    for mode in [SlcMode::Fixed, SlcMode::Dynamic] {
        let mut target = cached(cache(mode, WhenFull::Direct));
        // Beside a dynamic cache of the whole drive only its over-provisioning is left.
        let taken = write(&mut target, 0, 4_096 + 1_024);
        let counters = target.model().counters();
        assert_eq!(counters.cached_units, 4_096, "{mode:?}");
        // The first slow program is waited for by the next group.
        assert_eq!(quick(&taken), 257, "{mode:?}");
        // A group waits for the program of the one before: 65.536 channel + 150, or + 600.
        assert!(taken[1..257].iter().all(|&taken| taken == 215), "{taken:?}");
        assert!(taken[257..].iter().all(|&taken| taken == 665), "{taken:?}");
        target.model_mut().check();
    }
}

/// A superblock of the cache is folded while the next one is filled: its reads, programs and erases
/// are paid by the groups that fill it. On one die and one channel, in microseconds from a group's
/// place in the buffer to the end of its program (150; a transfer 65.536, a read 20 beside it):
///
/// - dynamic, one group: read, program from two transfers on, erase of 4 ms: 131.072 + 600 + 4,000
///   plus 150;
/// - fixed, four groups, three of twelve operations each (four reads, four programs, four erases):
///   three reads leave the channel after four transfers: 262.144 + 150; a read and two programs:
///   131.072 + 1,200 + 150; two programs and an erase: 65.536 + 5,200 + 150; three erases: 12,150.
const FOLDED_MICROS: [(SlcMode, u64, f64); 2] = [
    (SlcMode::Dynamic, GROUP, 4_881.072),
    (SlcMode::Fixed, SUPERBLOCK, 412.144 + 1_481.072 + 5_415.536 + 12_150.0),
];

#[test]
fn a_full_cache_that_folds_in_the_foreground_charges_reads_programs_and_erases() {
    for (mode, held, micros) in FOLDED_MICROS {
        // 26 or 103 superblocks, less than what is free when all is written.
        let small = SlcCacheConfig { size: Ppm(100_000), ..cache(mode, WhenFull::Fold) };
        let mut target = cached(small);
        write(&mut target, 0, 2_048);
        let (from, before) = (target.now(), target.model().counters());
        write(&mut target, 2_048, 2_048);
        let after = target.model().counters();
        assert_eq!(after.cached_units - before.cached_units, 2_048);
        assert_eq!(after.folded_units - before.folded_units, 2_048);
        assert_eq!((after.moved_units, after.waf_since(&before)), (before.moved_units, Some(2.0)));
        assert_eq!(after.erased_superblocks - before.erased_superblocks, 2_048 / held);
        let expected = (2_048 / held) as f64 * micros;
        let took = (target.now() - from).0 as f64 / 1e3;
        assert!((took / expected - 1.0).abs() < 1e-4, "{mode:?}: {took} us, expected {expected}");
        target.model_mut().check();
    }
}

#[test]
fn idle_time_folds_the_cache_and_the_next_burst_is_quick_again() {
    for mode in [SlcMode::Fixed, SlcMode::Dynamic] {
        let mut target = cached(cache(mode, WhenFull::Direct));
        write(&mut target, 0, 6_144);
        // 256 groups of 790 us and 64 to 256 erases of 4 ms are less than 2 s.
        rest(&mut target, Nanos::from_secs(5));
        let counters = target.model().counters();
        assert_eq!((counters.folded_units, counters.cached_units), (4_096, 4_096), "{mode:?}");
        // A dynamic one has a quarter of what is free by now.
        let room = if mode == SlcMode::Fixed { 4_096 } else { (UNITS - 6_144) / 4 };
        write(&mut target, 8_192, 4_096);
        let counters = target.model().counters();
        assert_eq!(counters.cached_units, 4_096 + room, "{mode:?}");
        // Exactly 1 + the share that was folded.
        let share = 4_096.0 / 10_240.0;
        assert_eq!(counters.waf_since(&DriveCounters::default()), Some(1.0 + share));
        target.model_mut().check();
    }
}

#[test]
fn a_drive_that_uses_a_share_of_idle_time_folds_in_a_longer_rest_what_another_folds_at_once() {
    let folded = |idle_share: Ppm, millis: u64| {
        let mut target = drive(SsdConfig {
            write_buffer: Bytes(65_536),
            slc_cache: Some(cache(SlcMode::Fixed, WhenFull::Direct)),
            gc: GcConfig { idle_share, ..plain().gc },
            ..plain()
        });
        write(&mut target, 0, 4_096);
        rest(&mut target, Nanos::from_millis(50 + millis));
        target.model().counters().folded_units
    };
    let whole = folded(Ppm(1_000_000), 100);
    assert!((1..4_096).contains(&whole), "{whole}");
    assert_eq!(folded(Ppm(250_000), 400), whole);
    assert_eq!(folded(Ppm(0), 10_000), 0);
}

#[test]
fn a_pause_shorter_than_the_firmware_waits_folds_nothing() {
    let mut target = cached(cache(SlcMode::Fixed, WhenFull::Direct));
    write(&mut target, 0, 4_096);
    rest(&mut target, Nanos::from_millis(49));
    assert_eq!(target.model().counters().folded_units, 0);
    // In 16 ms behind the 50, not more than 16 programs of 600 us begin: two superblocks of four.
    rest(&mut target, Nanos::from_millis(66));
    let folded = target.model().counters().folded_units;
    assert!((64..=128).contains(&folded), "{folded}");
}

#[test]
fn what_is_trimmed_before_it_is_folded_is_never_programmed_again() {
    for mode in [SlcMode::Fixed, SlcMode::Dynamic] {
        let mut target = cached(cache(mode, WhenFull::Direct));
        write(&mut target, 0, 4_096);
        // Ragged at both ends, so that superblocks are freed in part.
        times(&mut target, &[BlockCommand::Discard(units(1_003, 1_500))]);
        times(&mut target, &[BlockCommand::Discard(units(8_192, 100))]);
        rest(&mut target, Nanos::from_secs(5));
        let counters = target.model().counters();
        assert_eq!(counters.discarded_cached_units, 1_500, "{mode:?}");
        assert_eq!(counters.folded_units, 4_096 - 1_500, "{mode:?}");
        assert_eq!(counters.programmed_units, 4_096 + 4_096 - 1_500, "{mode:?}");
        // What has been folded is no longer in the cache.
        times(&mut target, &[BlockCommand::Discard(units(0, 1_003))]);
        let counters = target.model().counters();
        assert_eq!(
            (counters.discarded_cached_units, counters.discarded_mapped_units),
            (1_500, 2_503)
        );
        target.model_mut().check();
    }
}

#[test]
fn a_dynamic_cache_shrinks_as_the_drive_fills_and_grows_after_a_trim() {
    let slc_cache = SlcCacheConfig { minimum: Ppm(0), ..cache(SlcMode::Dynamic, WhenFull::Direct) };
    for filled in [0, 4_096, 8_192, 12_288] {
        let mut target = cached(slc_cache);
        target.model_mut().precondition_sequential(Bytes(0), Bytes(filled * PIECE_BYTES));
        // New data over as much of the rest as the cache may hold.
        write(&mut target, filled, UNITS - filled);
        // A quarter of what is not filled, in superblocks that hold 16 units.
        let expected = (UNITS - filled) / 4;
        assert_eq!(target.model().counters().cached_units, expected, "{filled} filled");
    }
    let mut target = cached(slc_cache);
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    // A superblock and a quarter of the next.
    write(&mut target, 0, SUPERBLOCK + GROUP);
    assert_eq!(target.model().counters().cached_units, 0, "a full drive has no cache");
    times(&mut target, &[BlockCommand::Discard(units(8_192, 8_192))]);
    write(&mut target, 8_192, GROUP);
    assert_eq!(target.model().counters().cached_units, GROUP, "the next group goes there");
    write(&mut target, 8_192 + GROUP, 4_096);
    assert_eq!(target.model().counters().cached_units, 2_048, "half of the drive is free");
    target.model_mut().check();
}

#[test]
fn a_full_drive_keeps_the_minimum_of_a_dynamic_cache() {
    // 2 % of 16,384 units are 327.7: 21 superblocks of 16 units.
    let slc_cache =
        SlcCacheConfig { minimum: Ppm(20_000), ..cache(SlcMode::Dynamic, WhenFull::Direct) };
    let mut target = cached(slc_cache);
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let taken = write(&mut target, 0, 1_024);
    assert_eq!(target.model().counters().cached_units, 21 * 16);
    assert_eq!(quick(&taken), 22);
    target.model_mut().check();
}

/// Two bits a cell, so that an empty drive takes half of itself at one bit: 512 superblocks of 32
/// units. The minimum is 21 of them, 672 units, for 4 % are 655.4.
fn reorganised() -> SlcCacheConfig {
    SlcCacheConfig {
        size: Ppm(500_000),
        minimum: Ppm(40_000),
        bits_per_cell: 2,
        ..cache(SlcMode::Dynamic, WhenFull::Reorganise)
    }
}

#[test]
fn past_half_full_what_is_written_is_folded_once_for_each_unit_that_goes_past_the_cache() {
    let mut target = cached(reorganised());
    let quickly = write(&mut target, 0, UNITS / 2);
    assert_eq!(target.model().counters().cached_units, UNITS / 2);
    assert_eq!(target.model().counters().folded_units, 0);
    assert_eq!(quick(&quickly), quickly.len());
    // From now on each superblock of 64 units beside the cache takes the room of one of its own,
    // and what two of these hold takes as much: two are folded before the next is written.
    write(&mut target, UNITS / 2, UNITS / 4);
    let counters = target.model().counters();
    assert_eq!(counters.cached_units, UNITS / 2, "writes go past it");
    assert_eq!(counters.folded_units, UNITS / 4 - SUPERBLOCK);
    // At the end the drive is full, and all but the minimum was folded.
    write(&mut target, UNITS * 3 / 4, UNITS / 4);
    let counters = target.model().counters();
    let (cached, left) = (counters.cached_units, counters.cached_units - counters.folded_units);
    assert!(cached > UNITS / 2, "at last they go through the minimum: {cached}");
    assert!((640..=672).contains(&left), "{left}");
    target.model_mut().check();
}

#[test]
fn a_full_drive_that_reorganises_programs_twice_what_is_written() {
    let mut target = cached(reorganised());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    // What is left of the cache takes a burst, and all else is folded in its turn.
    let burst = write(&mut target, 0, 672);
    assert_eq!(quick(&burst), burst.len());
    let before = target.model().counters();
    write(&mut target, 672, UNITS - 672);
    let after = target.model().counters();
    assert_eq!(after.cached_units - before.cached_units, UNITS - 672);
    assert_eq!(after.waf_since(&before), Some(2.0));
    // A pass later it is the same, and what a TRIM frees takes one bit a cell again.
    let before = after;
    write(&mut target, 0, UNITS);
    assert_eq!(target.model().counters().waf_since(&before), Some(2.0));
    let halves = [0, UNITS / 2].map(|half| BlockCommand::Discard(units(half, UNITS / 2)));
    times(&mut target, &halves);
    let before = target.model().counters();
    write(&mut target, 0, UNITS / 4);
    let after = target.model().counters();
    assert_eq!(after.cached_units - before.cached_units, UNITS / 4);
    assert_eq!(after.waf_since(&before), Some(1.0));
    target.model_mut().check();
}

#[test]
fn what_is_in_the_cache_is_read_with_the_time_of_its_cells() {
    let mut target =
        drive(SsdConfig { slc_cache: Some(cache(SlcMode::Fixed, WhenFull::Direct)), ..plain() });
    write(&mut target, 0, 64);
    target.reap(target.now() + Nanos::from_millis(10), &mut Vec::new());
    // 10 command + 20 die + 4.096 channel + 8.192 link + 20 latency; 50 die once it is folded.
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(5, 1))]), [62]);
    rest(&mut target, Nanos::from_secs(1));
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(5, 1))]), [92]);
}

#[test]
fn preconditioning_leaves_an_empty_cache() {
    for mode in [SlcMode::Fixed, SlcMode::Dynamic] {
        let mut target = cached(cache(mode, WhenFull::Direct));
        write(&mut target, 0, 1_024);
        target.model_mut().precondition_sequential(Bytes::mib(16), Bytes::mib(16));
        let counters = target.model().counters();
        assert_eq!((counters.cached_units, counters.folded_units), (1_024, 1_024));
        target.model_mut().check();
        write(&mut target, 12_288, 3_072);
        let room = if mode == SlcMode::Fixed { 3_072 } else { (UNITS - 5_120) / 4 };
        assert_eq!(target.model().counters().cached_units, 1_024 + room, "{mode:?}");
    }
}

#[test]
fn a_purge_empties_the_cache() {
    let mut target = cached(cache(SlcMode::Fixed, WhenFull::Direct));
    write(&mut target, 0, 4_096);
    target.model_mut().purge();
    write(&mut target, 0, 4_096);
    assert_eq!(target.model().counters().cached_units, 4_096);
    target.model_mut().check();
}
