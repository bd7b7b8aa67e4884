//! Built-in profiles against arithmetic, and against what is published of the drives that they
//! stand for.

use trimbench_core::{Target, Virtual};

use super::*;
use crate::{BUILT_IN, Profile};

/// A gibibyte of a drive.
const SIZE: u64 = 1 << 30;
/// A sequential command, and a random one.
const LARGE: u64 = 1 << 17;
const SMALL: u64 = PIECE_BYTES;
const GIGABYTE: f64 = 1e9;

fn small(name: &str) -> Virtual<Ssd> {
    let config = Profile::built_in(name).unwrap().config;
    drive(SsdConfig { capacity: Bytes(SIZE), ..config })
}

/// The same, every unit written.
fn full(name: &str) -> Virtual<Ssd> {
    let mut target = small(name);
    target.model_mut().precondition_sequential(Bytes(0), Bytes(SIZE));
    target
}

/// The range of `[start, start + length)`.
fn bytes(start: u64, length: u64) -> LbaRange {
    units(start / PIECE_BYTES, length / PIECE_BYTES)
}

/// Runs the commands with `depth` of them outstanding; bytes a microsecond, which is MB/s.
fn rate(
    target: &mut Virtual<Ssd>,
    depth: u64,
    commands: impl IntoIterator<Item = BlockCommand>,
) -> f64 {
    let begin = target.now();
    let commands: Vec<_> = commands.into_iter().collect();
    let length = |&command: &BlockCommand| target.model().validate(command).unwrap().0;
    let moved: u64 = commands.iter().map(length).sum();
    run_in_turn(target, depth, commands);
    moved as f64 / (target.now() - begin).0 as f64 * 1e3
}

/// Commands over `[start, end)`, in order.
fn over(
    (start, end): (u64, u64),
    size: u64,
    command: impl Fn(LbaRange) -> BlockCommand,
) -> impl Iterator<Item = BlockCommand> {
    (start..end).step_by(trimbench_core::units::index(size)).map(move |at| command(bytes(at, size)))
}

/// Commands of 4 KiB at random places of `[start, SIZE)`.
fn scattered(
    start: u64,
    count: u64,
    command: impl Fn(LbaRange) -> BlockCommand,
) -> impl Iterator<Item = BlockCommand> {
    let mut rng = Rng::new(3);
    (0..count).map(move |_| {
        let unit = start / SMALL + rng.below((SIZE - start) / SMALL);
        command(bytes(unit * SMALL, SMALL))
    })
}

/// A sequential pass over the drive.
fn pass(target: &mut Virtual<Ssd>) -> f64 {
    rate(target, 32, over((0, SIZE), LARGE, BlockCommand::write))
}

/// How long the command takes alone, in seconds.
fn alone(target: &mut Virtual<Ssd>, command: BlockCommand) -> f64 {
    let begin = target.now();
    times(target, &[command]);
    (target.now() - begin).seconds()
}

/// Fails unless `measured` is within this share of what is published.
fn assert_near(what: &str, measured: f64, published: f64, share: f64) {
    let error = measured / published - 1.0;
    assert!(error.abs() <= share, "{what}: {measured} instead of {published}");
}

#[test]
fn every_profile_runs_and_its_sequential_rates_are_those_of_its_narrowest_part() {
    for profile in BUILT_IN {
        let name = profile.name;
        let mut target = small(name);
        let config = target.model().config().clone();
        let program = config.slc_cache.as_ref().map_or(config.nand.program, |cache| cache.program);
        let stripe = (u64::from(config.geometry.dies) * config.geometry.program_bytes.0) as f64;
        let channels = u64::from(config.geometry.channels) * config.nand.channel_rate.0;
        let link = config.host.link_rate.0.min(channels) as f64;
        let writes = link.min(stripe / program.seconds()) / 1e6;
        let reads = link.min(stripe / config.nand.read.seconds()) / 1e6;
        // What an SLC cache takes of an empty drive.
        let share = config.slc_cache.as_ref().map_or(Ppm::ONE, |cache| cache.size);
        let part = (0, share.of(SIZE) / LARGE * LARGE);
        let written = rate(&mut target, 32, over(part, LARGE, BlockCommand::write));
        // What the buffer holds at the end is not programmed yet: of a small cache a good part.
        let programmed = part.1.saturating_sub(config.write_buffer.0) as f64;
        let flash = programmed * program.seconds() / stripe;
        let buffered = part.1 as f64 / flash.max(part.1 as f64 / link) / 1e6;
        let range = 0.94 * writes..=1.06 * buffered;
        assert!(range.contains(&written), "{name}, writes, MB/s: {written} of {range:?}");
        // What is still in the buffer keeps the dies of a slow drive from reading. A flush leaves
        // it there where it is safe from power cuts.
        let rested = target.now() + Nanos::from_secs(1);
        target.reap(rested, &mut Vec::new());
        let read = rate(&mut target, 32, over(part, LARGE, BlockCommand::Read));
        assert_near(&format!("{name}, reads, MB/s"), read, reads, 0.06);
        // Everything is written, trimmed and written again.
        pass(&mut target);
        let trimmed = rate(&mut target, 1, over((0, SIZE), SIZE / 8, BlockCommand::Discard));
        assert!(trimmed > 0.0 && pass(&mut target) > 0.0, "{name}");
        times(&mut target, &[BlockCommand::Flush]);
        target.model_mut().check();
    }
}

/// \[S2\]: about 250 MB/s when new; remarkably less after random writes over the whole drive;
/// pretty well recovered by a second sequential pass; back to new after a TRIM of everything.
#[test]
fn the_m4_falls_off_when_fragmented_and_is_new_after_trim() {
    let mut target = small("like-m4-256");
    let fresh = pass(&mut target);
    assert_near("fresh, MB/s", fresh, 250.0, 0.02);
    let torture = |target: &mut Virtual<Ssd>| {
        target.model_mut().precondition_sequential(Bytes(0), Bytes(SIZE));
        target.model_mut().precondition_random(SIZE / PIECE_BYTES, &mut Rng::new(2));
    };
    torture(&mut target);
    let (fragmented, second) = (pass(&mut target), pass(&mut target));
    assert!(fragmented < 0.4 * fresh, "{fragmented} MB/s");
    assert!(second > 0.9 * fresh, "{second} MB/s");
    target.model_mut().purge();
    torture(&mut target);
    times(&mut target, &[BlockCommand::Discard(bytes(0, SIZE))]);
    let trimmed = pass(&mut target);
    assert!((trimmed / fresh - 1.0).abs() < 0.05, "{trimmed} MB/s");
}

/// \[EVAN18\]: 1,800 MB/s within the cache and about 100 MB/s past it.
#[test]
fn the_qlc_drive_is_quick_for_the_size_of_its_cache() {
    let mut target = small("generic-nvme-qlc");
    let cache = 140 * SIZE / 1_000 / LARGE * LARGE;
    let burst = rate(&mut target, 32, over((0, cache), LARGE, BlockCommand::write));
    assert_near("burst, MB/s", burst, 1_800.0, 0.03);
    let beyond = over((cache, cache + SIZE / 2), LARGE, BlockCommand::write);
    let rest = rate(&mut target, 32, beyond);
    assert_near("past it, MB/s", rest, 100.0, 0.15);
    // On a full drive the minimum, 1.2 %, is left: 103 commands.
    let mut target = full("generic-nvme-qlc");
    rate(&mut target, 32, over((0, 200 * LARGE), LARGE, BlockCommand::write));
    let cached = target.model().counters().cached_units * PIECE_BYTES;
    let expected = SIZE * 12 / 1_000;
    assert!(cached >= expected && cached < expected + (4 << 20), "{cached} bytes");
}

#[test]
fn the_compressing_drive_is_bound_by_its_link_with_compressible_data_only() {
    let mut target = small("generic-sata-compressing");
    assert_near("whole, MB/s", pass(&mut target), 275.0, 0.03);
    let zeroes = |range| BlockCommand::Write { range, data: Data::Compressible(0) };
    let zeroes = rate(&mut target, 32, over((0, SIZE), LARGE, zeroes));
    assert_near("zeroes, MB/s", zeroes, 550.0, 0.03);
}

/// \[S0\]: a TRIM takes the vendors the same whatever its size, and less than their transactions
/// with 25,239 deleted files imply by division: with discards, reads wait too. That is the greater
/// part where a TRIM is cheap.
#[test]
fn a_trim_costs_the_vendors_less_than_postmark_implies_by_division() {
    const DELETED: f64 = 25_239.0;
    for (name, plain, discarding, least) in [
        ("vendor1", 120.4, 148.8, 0.7),
        ("vendor2", 157.9, 2_479.9, 0.7),
        ("vendor3", 297.2, 521.6, 0.7),
        ("vendor4", 239.4, 243.6, 0.1),
        ("vendor5", 123.1, 127.8, 0.1),
    ] {
        let config = Profile::built_in(name).unwrap().config;
        let expected = (config.trim.command + config.host.command + config.host.latency).seconds();
        for size in [SMALL, 28 * SMALL, SIZE / 2] {
            let trim = BlockCommand::Discard(bytes(0, size));
            let measured = alone(&mut full(name), trim);
            assert_near(&format!("{name}, s a TRIM of {size}"), measured, expected, 1e-6);
        }
        let share = expected / ((discarding - plain) / DELETED);
        assert!((least..1.0).contains(&share), "{name}: {share} of what division gives");
    }
}

/// \[S0\] on vendor6: a TRIM costs nothing when it is given, and slows the drive down afterwards:
/// for longer with a larger range, and with more that was written since the one before.
#[test]
fn vendor6_pays_for_a_trim_afterwards() {
    let settled = |trimmed: u64, again: bool| {
        let mut target = full("vendor6");
        let trim = BlockCommand::Discard(bytes(0, trimmed));
        if again {
            alone(&mut target, trim);
            let idle = target.now() + Nanos::from_secs(10);
            target.reap(idle, &mut Vec::new());
        }
        // Below the second that [S0] cannot resolve, for all of its files.
        assert!(25_239.0 * alone(&mut target, trim) < 1.5);
        let begin = target.now();
        let reads = scattered(0, 1_000_000, BlockCommand::Read);
        let worked_off = reads.take_while(|command| {
            times(&mut target, &[*command]);
            target.model().counters().trim_work_pending > Nanos::ZERO
        });
        worked_off.count();
        (target.now() - begin).seconds()
    };
    let (half, whole, second) =
        (settled(SIZE / 2, false), settled(SIZE, false), settled(SIZE, true));
    // 100 ms a GiB, at 30 % of the time; a tenth of it for what was trimmed before.
    assert_near("s for half a GiB", half, 0.05 / 0.3, 0.05);
    assert_near("s for a GiB", whole, 0.1 / 0.3, 0.05);
    assert_near("s for a GiB trimmed before", second, 0.01 / 0.3, 0.05);
}

/// \[S1\]: 0.25 s added for each GB on the RC100, nothing on the 900P and the 850 PRO.
#[test]
fn a_trim_of_a_gigabyte_takes_as_long_as_the_reviews_say() {
    let gigabyte = SIZE / LARGE * LARGE;
    let trim = BlockCommand::Discard(bytes(0, gigabyte));
    let per_gigabyte = |name| alone(&mut full(name), trim) / (gigabyte as f64 / GIGABYTE);
    assert_near("RC100, s/GB", per_gigabyte("like-rc100"), 0.25, 0.01);
    assert!(per_gigabyte("like-optane-900p") < 0.000_5);
    assert!(per_gigabyte("like-850-pro") < 0.000_5);
}

/// \[UBER14\], the figures of the drive of 256 GB; 520 MB/s in sequential writes are bound by the
/// link here, which carries 550.
#[test]
fn the_850_pro_is_as_quick_as_it_is_said_to_be() {
    let mut target = full("like-850-pro");
    let count = 20_000;
    let reads = rate(&mut target, 32, over((0, SIZE / 2), LARGE, BlockCommand::Read));
    assert_near("sequential reads, MB/s", reads, 550.0, 0.02);
    let iops = |depth, write: bool| {
        let command = if write { BlockCommand::write } else { BlockCommand::Read };
        let mut target = full("like-850-pro");
        rate(&mut target, depth, scattered(0, count, command)) * 1e6 / SMALL as f64
    };
    assert_near("random reads a second at depth 1", iops(1, false), 10_000.0, 0.02);
    assert_near("random writes a second at depth 1", iops(1, true), 36_000.0, 0.02);
    assert_near("random reads a second at depth 32", iops(32, false), 100_000.0, 0.05);
    assert_near("sequential writes, MB/s", pass(&mut small("like-850-pro")), 520.0, 0.06);
}

/// \[INTEL15\] for reads and writes; \[S3\] for TRIM: in 30 minutes 3.1 million pieces a drive,
/// with the wait for the last of them.
#[test]
fn the_p3500_trims_1800_pieces_a_second_whatever_their_size() {
    for piece in [SMALL, 16 * SMALL] {
        let mut target = full("like-p3500");
        let trims = over((0, 4_096 * piece), piece, BlockCommand::Discard);
        let pieces = rate(&mut target, 32, trims) * 1e6 / piece as f64;
        assert_near("pieces a second", pieces, 1_811.0, 0.01);
    }
    let mut target = full("like-p3500");
    let reads = rate(&mut target, 32, over((0, SIZE), LARGE, BlockCommand::Read));
    assert_near("sequential reads, MB/s", reads, 2_700.0, 0.03);
    assert_near("sequential writes, MB/s", pass(&mut small("like-p3500")), 1_800.0, 0.03);
    let latency = alone(&mut target, BlockCommand::write(bytes(0, SMALL)));
    assert_near("s for a write", latency, 20e-6, 0.03);
}

/// \[S3\]: writes of 200 MB/s until it is half full and about 100 MB/s from then on; TRIM of around
/// 2 GB/s.
#[test]
fn the_vertex4_is_quick_while_half_empty_and_trims_two_gigabytes_a_second() {
    let mut target = small("like-vertex4");
    let part = |percent: u64| percent * SIZE / 100 / LARGE * LARGE;
    let between = |target: &mut Virtual<Ssd>, from, to| {
        rate(target, 32, over((part(from), part(to)), LARGE, BlockCommand::write))
    };
    assert_near("up to 48 %, MB/s", between(&mut target, 0, 48), 200.0, 0.02);
    between(&mut target, 48, 60);
    assert_near("from 60 % on, MB/s", between(&mut target, 60, 100), 100.0, 0.1);
    // Past half full it stays slow, also where what is written takes no more room.
    assert_near("second pass, MB/s", pass(&mut target), 100.0, 0.1);
    assert_near("third pass, MB/s", pass(&mut target), 100.0, 0.1);
    // Fragmented by random writes, it is healed by a pass.
    rate(&mut target, 32, scattered(0, SIZE / SMALL, BlockCommand::write));
    assert!(pass(&mut target) < 60.0);
    assert_near("healed, MB/s", pass(&mut target), 100.0, 0.1);
    let trims = rate(&mut target, 1, over((0, SIZE), SIZE / 4, BlockCommand::Discard));
    assert_near("TRIM, MB/s", trims, 2_000.0, 0.02);
    // Rested, trimmed and half full it is quick again.
    assert_near("after TRIM, MB/s", between(&mut target, 0, 48), 200.0, 0.05);
    between(&mut target, 48, 100);
    target.model_mut().purge();
    assert_near("after a secure erase, MB/s", between(&mut target, 0, 48), 200.0, 0.02);
}

/// \[S4\]: the averages of both are the same with TRIM, which frees 13 % of the space of a full
/// drive; without it writes are slower by several hundred percent at times.
#[test]
fn the_ssd340_writes_as_the_m500_does_and_both_gain_from_trim() {
    let iops = |name: &str, trimmed: u64| {
        let mut target = full(name);
        rate(&mut target, 32, over((0, trimmed), LARGE, BlockCommand::Discard));
        let writes = |count| scattered(trimmed, count, BlockCommand::write);
        // Eight times over the drive, then the average.
        rate(&mut target, 32, writes(8 * SIZE / SMALL));
        rate(&mut target, 32, writes(2 * SIZE / SMALL)) * 1e6 / SMALL as f64
    };
    let trimmed = 13 * SIZE / 100 / LARGE * LARGE;
    let drives = ["like-ssd340", "like-m500"].map(|name| (iops(name, trimmed), iops(name, 0)));
    for (with, without) in drives {
        // By formula F6 of docs/model/gc.md, 7.46 over 2.83.
        assert_near("with TRIM over without", with / without, 2.64, 0.1);
    }
    // Fitted to be alike under a trace (`drive_model.replay_windows` of lab), within 5 % as there.
    assert_near("SSD340 over M500", drives[0].0 / drives[1].0, 1.0, 0.05);
}
