use trimbench_core::rng::Rng;
use trimbench_core::{Blocks, Lba, Nanos, Ppm, Target, TrimPromise, Virtual};

use super::*;
use crate::Profile;
use crate::config::{
    ContentsConfig, GcConfig, Geometry, HostInterface, MetadataOf, NandTiming, TrimArbitration,
    TrimConfig, TrimMode, TrimmedReads, VictimPolicy,
};

mod compression;
mod firmware;
mod gc;
pub(crate) mod mapping_cache;
mod mapping_unit;
mod physics;
mod power_cut;
mod profiles;
mod properties;
pub(crate) mod slc_cache;
mod timing;
mod trim_modes;

/// A small drive whose numbers are easy to add up: one channel, one die, 64 KiB programs.
pub(crate) fn plain() -> SsdConfig {
    let base = base();
    SsdConfig {
        capacity: Bytes::mib(64),
        over_provisioning: Ppm(100_000),
        geometry: Geometry {
            channels: 1,
            dies: 1,
            program_bytes: Bytes(65_536),
            superblock: Bytes(262_144),
            programs_per_erase: 4,
        },
        nand: NandTiming {
            read: Nanos::from_micros(50),
            program: Nanos::from_micros(600),
            erase: Nanos::from_millis(4),
            channel_rate: Bytes(1_000_000_000),
            ..base.nand
        },
        write_buffer: Bytes::mib(1),
        host: HostInterface {
            queue_depth: 32,
            link_rate: Bytes(500_000_000),
            duplex: LinkDuplex::Half,
            command: Nanos::from_micros(10),
            latency: Nanos::from_micros(20),
            ..base.host
        },
        trim: trim(TrimMode::Queued),
        contents: ContentsConfig { reads: TrimmedReads::Zeroes, promise: TrimPromise::Nothing },
        ..base
    }
}

/// A built-in drive without anything that most drives lack.
fn base() -> SsdConfig {
    Profile::built_in("plain-nvme-tlc").unwrap().config
}

pub(crate) fn trim(mode: TrimMode) -> TrimConfig {
    TrimConfig {
        mode,
        command: Nanos::from_micros(100),
        range: Nanos::from_micros(7),
        per_gib_mapped: Nanos::from_millis(262),
        range_max: Bytes::mib(1),
        ranges: 1,
        command_max: Bytes::mib(32),
        background_share: Ppm(250_000),
        ..base().trim
    }
}

pub(crate) fn units(first: u64, count: u64) -> LbaRange {
    const UNIT_BLOCKS: u64 = PIECE_BYTES / LOGICAL_BLOCK.bytes().0;
    LbaRange::new(Lba(first * UNIT_BLOCKS), Blocks(count * UNIT_BLOCKS)).unwrap()
}

/// Submits the commands at once and returns the completion time of each in microseconds after the
/// submission.
fn times(target: &mut Virtual<Ssd>, commands: &[BlockCommand]) -> Vec<u64> {
    times_after(target, commands, 0)
}

/// The same beside `others` that were submitted before and still run; their times are left out.
fn times_after(target: &mut Virtual<Ssd>, commands: &[BlockCommand], others: usize) -> Vec<u64> {
    let start = target.now();
    for (tag, command) in commands.iter().enumerate() {
        target.submit(Tag(narrow((tag + others) as u64)), *command).unwrap();
    }
    let mut out = Vec::new();
    while out.len() < commands.len() + others {
        target.reap(Instant::NEVER, &mut out);
    }
    assert!(out.windows(2).all(|pair| pair[0].at <= pair[1].at), "completions come in order");
    out.sort_by_key(|completion| completion.tag);
    out[others..].iter().map(|completion| (completion.at - start).0 / 1_000).collect()
}

fn drive(config: SsdConfig) -> Virtual<Ssd> {
    Virtual::new(config.build().unwrap())
}

/// One whose first 64 MiB hold data, at rest.
fn full(config: SsdConfig) -> Virtual<Ssd> {
    let mut target = drive(config);
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target
}

fn read(unit: u64) -> BlockCommand {
    BlockCommand::Read(units(unit, 1))
}

/// Runs the commands, with fewer than `depth` outstanding whenever one is submitted; their
/// completions, by tags from 0 on.
fn run_in_turn(
    target: &mut Virtual<Ssd>,
    depth: u64,
    commands: impl IntoIterator<Item = BlockCommand>,
) -> Vec<Completion> {
    let mut out = Vec::new();
    for (tag, command) in (0..).zip(commands) {
        target.submit(Tag(tag), command).unwrap();
        while target.statistics().outstanding >= depth {
            target.reap(Instant::NEVER, &mut out);
        }
    }
    while target.statistics().outstanding > 0 {
        target.reap(Instant::NEVER, &mut out);
    }
    out
}

#[test]
fn what_a_flush_pads_was_programmed_and_wears_the_drive() {
    let mut target = drive(plain());
    times(&mut target, &[BlockCommand::write(units(0, 1)), BlockCommand::Flush]);
    let wear = trimbench_core::Drive::wear(target.model_mut()).unwrap();
    assert_eq!((wear.host_written, wear.media_written), (Bytes(4_096), Bytes(65_536)));
}

#[test]
fn a_read_pays_controller_die_channel_link_and_latency() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    // 10 command + 50 die + 4.096 channel + 8.192 link + 20 latency.
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(100, 1))]), [92]);
}

#[test]
fn a_read_of_nothing_needs_no_flash() {
    let mut target = drive(plain());
    // 10 command + 8.192 link + 20 latency.
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(100, 1))]), [38]);
}

#[test]
fn a_read_finds_its_data_in_the_write_buffer() {
    let mut target = drive(plain());
    times(&mut target, &[BlockCommand::write(units(5, 1))]);
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(5, 1))]), [38]);
}

#[test]
fn a_write_is_acknowledged_by_the_buffer_and_durable_after_a_flush() {
    let mut target = drive(plain());
    assert_eq!(times(&mut target, &[BlockCommand::write(units(0, 1))]), [38]);
    // 10 command + 65.536 channel + 600 program + 20 latency, the group padded to 16 units.
    assert_eq!(times(&mut target, &[BlockCommand::Flush]), [695]);
    let counters = target.model().counters();
    assert_eq!((counters.padding_units, counters.programmed_units), (15, 16));
}

#[test]
fn a_flush_is_free_with_power_loss_protection() {
    let mut target = drive(SsdConfig { power_loss_protection: true, ..plain() });
    times(&mut target, &[BlockCommand::write(units(0, 1))]);
    assert_eq!(times(&mut target, &[BlockCommand::Flush]), [30]);
}

#[test]
fn writes_wait_when_the_buffer_is_full() {
    let config = SsdConfig { write_buffer: Bytes(65_536), ..plain() };
    let mut target = drive(config);
    // The second group waits for the program of the first: 10 + 131.072 + 65.536 + 600 = 806.6.
    let taken = times(
        &mut target,
        &[BlockCommand::write(units(0, 16)), BlockCommand::write(units(16, 16))],
    );
    assert_eq!(taken, [161, 826]);
}

#[test]
fn a_trim_costs_its_command_its_ranges_and_its_mapped_units() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let whole = [BlockCommand::Discard(units(0, 1024))];
    // 10 + 100 command + 4 x 7 ranges + 1024 / 262144 of 262 ms + 20 latency.
    assert_eq!(times(&mut target, &whole), [158 + 1_023]);
    // A second time nothing is mapped.
    assert_eq!(times(&mut target, &whole), [158]);
    let counters = target.model().counters();
    assert_eq!((counters.discarded_mapped_units, counters.discarded_unmapped_units), (1024, 1024));
    assert_eq!(target.model_mut().mapped_units(), 64 * 256 - 1024);
    target.model_mut().check();
}

#[test]
fn only_whole_units_are_freed() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let ragged = LbaRange::new(Lba(1), Blocks(8 * 4)).unwrap();
    times(&mut target, &[BlockCommand::Discard(ragged)]);
    assert_eq!(target.model().counters().discarded_mapped_units, 3);
    let within = LbaRange::new(Lba(801), Blocks(6)).unwrap();
    times(&mut target, &[BlockCommand::Discard(within)]);
    assert_eq!(target.model().counters().discarded_mapped_units, 3);
}

#[test]
fn only_whole_pieces_of_the_granularity_are_freed() {
    let trim = TrimConfig {
        granularity: Bytes(65_536),
        alignment: Bytes(8_192),
        ..trim(TrimMode::Queued)
    };
    let mut target = drive(SsdConfig { trim, ..plain() });
    assert_eq!(target.capabilities().discard_granularity, Bytes(65_536));
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let mut freed = |first, count| {
        let before = target.model().counters();
        let taken = times(&mut target, &[BlockCommand::Discard(units(first, count))])[0];
        let after = target.model().counters();
        (after.discarded_mapped_units - before.discarded_mapped_units, taken)
    };
    // Pieces of 16 units begin at 2, 18, 34 and so on; 16 mapped units cost 16 us, one range 7.
    assert_eq!(freed(0, 17), (0, 137));
    assert_eq!(freed(2, 15), (0, 137));
    assert_eq!(freed(1, 18), (16, 152));
    assert_eq!(freed(33, 34), (32, 168));
    // The last piece of the drive is cut off by its end.
    assert_eq!(freed(16_384 - 30, 30), (16, 152));
    for (unit, held) in [(1, true), (2, false), (17, false), (18, true), (33, true), (34, false)] {
        assert_eq!(target.model_mut().holds_data(Bytes(unit * PIECE_BYTES)), held, "{unit}");
    }
}

#[test]
fn a_blocking_trim_drains_the_queue_and_works_alone() {
    let mut target = drive(SsdConfig { trim: trim(TrimMode::Blocking), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let read = |unit| BlockCommand::Read(units(unit, 1));
    let discard = BlockCommand::Discard(units(1_024, 1));
    // The read: 92. Then the TRIM alone: 10 + 100 + 7 + 0.999 + 20 = 138. Then the second read.
    assert_eq!(times(&mut target, &[read(0), discard, read(1)]), [92, 230, 322]);
}

#[test]
fn a_queued_trim_occupies_the_controller_only() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let read = |unit| BlockCommand::Read(units(unit, 1));
    let discard = BlockCommand::Discard(units(1_024, 1));
    // The first read goes on beside the TRIM (10 + 118 + 20 after its turn), the second waits for
    // the controller: 128 + 10 + 50 + 4.096 + 8.192 + 20.
    assert_eq!(times(&mut target, &[read(0), discard, read(1)]), [92, 147, 220]);
}

/// Two TRIMs and a read at once, and a second read while the controller has the first: when each
/// ended, in microseconds.
fn two_trims_and_two_reads(arbitration: TrimArbitration) -> [u64; 4] {
    let trim = TrimConfig { arbitration, ..trim(TrimMode::Queued) };
    let mut target = drive(SsdConfig { trim, ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let discard = |unit| BlockCommand::Discard(units(unit, 1));
    let read = |unit| BlockCommand::Read(units(unit, 1));
    let mut out = Vec::new();
    for (tag, command) in [(0, discard(1_024)), (1, discard(1_025)), (2, read(0))] {
        target.submit(Tag(tag), command).unwrap();
    }
    // A TRIM has the controller for 118 us, a read for 10 us.
    target.reap(Instant::from_start(Nanos::from_micros(123)), &mut out);
    target.submit(Tag(3), read(20)).unwrap();
    while out.len() < 4 {
        target.reap(Instant::NEVER, &mut out);
    }
    out.sort_by_key(|completion| completion.tag);
    let ends: Vec<u64> = out.iter().map(|it| it.at.since(Instant::START).0 / 1_000).collect();
    ends.try_into().unwrap()
}

#[test]
fn the_arbitration_says_what_waits_for_a_trim() {
    // A read ends 82 us after the controller, 50 of them on the one die; a TRIM 20 us. Both TRIMs
    // first: 2 x 118, and the second read waits for the die.
    let first_come = two_trims_and_two_reads(TrimArbitration::FirstCome);
    assert_eq!(first_come, [137, 255, 328, 378]);
    // The first read goes between the TRIMs, the second comes too late for that.
    let round_robin = two_trims_and_two_reads(TrimArbitration::RoundRobin);
    assert_eq!(round_robin, [137, 265, 210, 338]);
    // Both go between, the second behind the first on the die.
    let reads_first = two_trims_and_two_reads(TrimArbitration::ReadsFirst);
    assert_eq!(reads_first, [137, 275, 210, 260]);
}

#[test]
fn a_background_trim_is_acknowledged_at_once_and_steals_its_share_later() {
    let mut target = drive(SsdConfig { trim: trim(TrimMode::Background), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    assert_eq!(times(&mut target, &[BlockCommand::Discard(units(0, 8_192))]), [130]);
    // 32 ranges x 7 us and 8192 / 262144 of 262 ms.
    let owed = 32 * 7_000 + 8_187_500;
    let pending = target.model().counters().trim_work_pending.0;
    let done = target.model().counters().trim_work_done.0;
    assert_eq!(pending + done, owed);
    // Kept busy, a quarter of the time goes into the backlog until it is worked off.
    let begin = target.now();
    let mut reads = 0;
    while target.model().counters().trim_work_pending.0 > 0 {
        times(&mut target, &[BlockCommand::Read(units(10_000 + reads % 1_000, 1))]);
        reads += 1;
    }
    let took = (target.now() - begin).0;
    let expected = pending * 4;
    assert!(took.abs_diff(expected) < 2_000_000, "{took} against {expected}");
    // Each read costs 92 us of the remaining three quarters.
    let slowed = took as f64 / (reads as f64 * 92_300.0);
    assert!((slowed - 4.0 / 3.0).abs() < 0.08, "{slowed}");
}

#[test]
fn an_ignored_trim_frees_nothing_and_none_costs_its_command() {
    for (mode, media) in [(TrimMode::Ignored, Media::Flash), (TrimMode::None, Media::InPlace)] {
        let mut target = drive(SsdConfig { trim: trim(mode), media, ..plain() });
        target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
        for count in [1, 256, 8_192] {
            assert_eq!(times(&mut target, &[BlockCommand::Discard(units(0, count))]), [130]);
        }
        assert_eq!(target.model_mut().mapped_units(), 64 * 256);
        assert_eq!(target.model().counters().discarded_mapped_units, 0);
    }
}

#[test]
fn more_commands_than_the_queue_holds_wait_in_the_host() {
    let mut config = plain();
    config.host.queue_depth = 1;
    let mut target = drive(config);
    let reads = [BlockCommand::Read(units(0, 1)); 3];
    assert_eq!(times(&mut target, &reads), [38, 76, 114]);
}

#[test]
fn a_purge_makes_the_drive_new() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target.model_mut().precondition_random(50_000, &mut Rng::new(1));
    target.model_mut().purge();
    assert_eq!(target.model_mut().mapped_units(), 0);
    assert_eq!(target.model().counters(), DriveCounters::default());
    target.model_mut().check();
}

#[test]
fn commands_beyond_the_drive_are_rejected() {
    let mut target = drive(plain());
    let beyond = BlockCommand::Read(units(64 * 256, 1));
    assert!(matches!(target.submit(Tag(0), beyond), Err(Rejected::OutOfRange { .. })));
    let large = BlockCommand::Discard(units(0, 33 * 256));
    assert!(matches!(target.submit(Tag(0), large), Err(Rejected::DiscardTooLarge { .. })));
}

#[test]
fn idle_time_collects_ahead() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target.model_mut().precondition_random(100_000, &mut Rng::new(1));
    times(&mut target, &[BlockCommand::Discard(units(0, 8_192))]);
    let before = target.model().counters().erased_superblocks;
    let mut out = Vec::new();
    target.reap(target.now() + Nanos::from_secs(2), &mut out);
    times(&mut target, &[BlockCommand::Read(units(0, 1))]);
    let erased = target.model().counters().erased_superblocks - before;
    assert!(erased >= 2, "2 % of 285 superblocks are to be free: {erased}");
    target.model_mut().check();
}

#[test]
fn nothing_starts_beside_a_blocking_trim_that_is_at_work() {
    let mut target = drive(SsdConfig { trim: trim(TrimMode::Blocking), ..plain() });
    target.submit(Tag(0), BlockCommand::Discard(units(1_024, 1))).unwrap();
    target.reap(Instant::from_start(Nanos::from_micros(50)), &mut Vec::new());
    // The TRIM ends at 137 (nothing is mapped); 38 for the read of nothing from there, less 50.
    let taken = times_after(&mut target, &[BlockCommand::Read(units(0, 1))], 1);
    assert_eq!(taken, [137 - 50 + 38]);
}

#[test]
fn a_write_of_part_of_a_unit_reads_the_rest_of_it_first() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let part =
        |start, length| BlockCommand::write(LbaRange::new(Lba(start), Blocks(length)).unwrap());
    // 10 command + 1.024 link + 50 die + 4.096 channel + 20 latency.
    assert_eq!(times(&mut target, &[part(801, 1)]), [85]);
    // Head and tail of two units, one after the other: 4.096 link and twice the die and channel.
    assert_eq!(times(&mut target, &[part(1_604, 8)]), [146]);
}

#[test]
fn a_read_ends_with_the_last_of_its_parts_and_moves_all_of_its_units() {
    let geometry = Geometry { channels: 2, dies: 2, ..plain().geometry };
    let mut target = drive(SsdConfig { geometry, ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    // A whole group on one die and one unit on the other, whose own channel is done first:
    // 10 command + 50 die + 65.536 channel + 139.264 link + 20 latency.
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(0, 17))]), [284]);
}

#[test]
fn idle_time_works_a_backlog_off_at_full_speed() {
    let mut target = drive(SsdConfig { trim: trim(TrimMode::Background), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    times(&mut target, &[BlockCommand::Discard(units(0, 8_192))]);
    let mut out = Vec::new();
    // 8.4 ms of work.
    target.reap(target.now() + Nanos::from_millis(10), &mut out);
    assert_eq!(target.model().counters().trim_work_pending, Nanos::ZERO);
}

#[test]
fn a_slice_of_background_work_occupies_the_controller() {
    let mut target = drive(SsdConfig { trim: trim(TrimMode::Background), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    let discard = BlockCommand::Discard(units(0, 8_192));
    // The read of what was just freed needs no flash, but waits 250 for the slice behind the 110
    // of the discard: 110 + 250 + 10 + 8.192 + 20, less 130 when it is submitted.
    assert_eq!(times(&mut target, &[discard]), [130]);
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(0, 1))]), [268]);
}

#[test]
fn both_directions_of_a_full_duplex_link_work_at_once() {
    let both = [BlockCommand::write(units(0, 16)), BlockCommand::Read(units(1_000, 16))];
    assert_eq!(times(&mut drive(plain()), &both), [161, 292]);
    let host = HostInterface { duplex: LinkDuplex::Full, ..plain().host };
    assert_eq!(times(&mut drive(SsdConfig { host, ..plain() }), &both), [161, 171]);
}

#[test]
fn a_medium_without_translation_writes_through() {
    let config = SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..plain() };
    // 10 command + 8.192 link + 65.536 channel + 600 program + 20 latency.
    assert_eq!(times(&mut drive(config), &[BlockCommand::write(units(0, 1))]), [703]);
}

#[test]
fn statistics_add_up_the_time_in_the_drive() {
    let mut target = drive(plain());
    times(&mut target, &[BlockCommand::Read(units(100, 1)); 2]);
    let read = target.statistics().read;
    // 38.192 and, behind it at the controller and on the link, 48.192.
    assert_eq!((read.completed, read.bytes, read.time), (2, Bytes(8_192), Nanos(86_384)));
}

#[test]
fn data_is_in_the_buffer_until_its_program_ends() {
    let mut target = drive(plain());
    times(&mut target, &[BlockCommand::write(units(0, 16))]);
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(5, 1))]), [38]);
    target.reap(target.now() + Nanos::from_millis(2), &mut Vec::new());
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(5, 1))]), [92]);
}

#[test]
fn a_preconditioned_drive_is_at_rest() {
    let mut target = drive(SsdConfig { write_buffer: Bytes(65_536), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target.model_mut().precondition_random(50_000, &mut Rng::new(1));
    let writes: Vec<_> = (0..16).map(|unit| BlockCommand::write(units(unit, 1))).collect();
    assert!(times(&mut target, &writes).into_iter().all(|taken| taken < 200));
}

#[test]
fn a_short_pause_is_no_idle_time() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target.model_mut().precondition_random(100_000, &mut Rng::new(1));
    times(&mut target, &[BlockCommand::Discard(units(0, 8_192))]);
    let before = target.model().counters().erased_superblocks;
    target.reap(target.now() + Nanos::from_millis(99), &mut Vec::new());
    times(&mut target, &[BlockCommand::Read(units(0, 1))]);
    assert_eq!(target.model().counters().erased_superblocks, before);
}

#[test]
fn sustained_writes_take_the_time_of_all_programs_reads_and_erases() {
    let mut target = drive(SsdConfig { write_buffer: Bytes(65_536), ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    target.model_mut().precondition_random(100_000, &mut Rng::new(1));
    let (begin, before) = (target.now(), target.model().counters());
    let mut rng = Rng::new(2);
    for _ in 0..500 {
        let writes: Vec<_> =
            (0..32).map(|_| BlockCommand::write(units(rng.below(16_384), 1))).collect();
        times(&mut target, &writes);
    }
    let after = target.model().counters();
    // One die: 600 us a program; an erase of 4 ms and at most four reads of 50 us a superblock.
    let programs = (after.programmed_units - before.programmed_units) / 16;
    let erases = after.erased_superblocks - before.erased_superblocks;
    let expected = (programs * 600 + erases * 4_200) as f64;
    let took = (target.now() - begin).0 as f64 / 1e3;
    assert!((took / expected - 1.0).abs() < 0.02, "{took} us, expected {expected}");
}

#[test]
fn every_unit_of_a_group_waits_for_the_place_of_its_group() {
    let mut target = drive(SsdConfig { write_buffer: Bytes(65_536), ..plain() });
    let writes: Vec<_> = (0..32).map(|unit| BlockCommand::write(units(unit, 1))).collect();
    let taken = times(&mut target, &writes);
    // The first group arrives every 10 us and leaves at 168: 65.536 channel + 600 program.
    assert!(taken[..16].iter().all(|&taken| taken <= 188), "{taken:?}");
    assert!(taken[16..].iter().all(|&taken| taken >= 853), "{taken:?}");
}

#[test]
fn small_discards_one_after_the_other_steal_no_more_than_the_share() {
    let per_gib_mapped = Nanos::from_secs(6);
    let trim = TrimConfig { per_gib_mapped, ..trim(TrimMode::Background) };
    let mut target = drive(SsdConfig { trim, ..plain() });
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    for first in (0..4_000).step_by(10) {
        times(&mut target, &[BlockCommand::Discard(units(first, 10))]);
    }
    let done = target.model().counters().trim_work_done.0;
    let share = done as f64 / target.now().since_start().0 as f64;
    assert!((0.2..0.27).contains(&share), "{share} of the time");
}

#[test]
fn a_purged_and_a_preconditioned_drive_have_nothing_left_to_do() {
    let writes: Vec<_> = (0..10).map(|group| BlockCommand::write(units(group * 16, 16))).collect();
    let mut target = drive(plain());
    times(&mut target, &writes);
    target.model_mut().purge();
    times(&mut target, &[BlockCommand::write(units(0, 1))]);
    assert_eq!(times(&mut target, &[BlockCommand::Flush]), [695]);
    times(&mut target, &writes);
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
    assert_eq!(times(&mut target, &[BlockCommand::Read(units(0, 1))]), [92]);
}
