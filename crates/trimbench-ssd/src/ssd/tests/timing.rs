//! What happens at its own instant, and nothing before: reads beside writes that wait, suspension,
//! discards of several ranges, a bounded backlog, purges.

use super::*;
use crate::config::SuspendConfig;
use trimbench_core::Drive as _;

fn group(first: u64) -> BlockCommand {
    BlockCommand::write(units(first, 16))
}

#[test]
fn a_read_is_not_behind_a_program_that_waits_for_its_place() {
    // Two dies, and a buffer of one group. The first write leaves at 141.072 and is programmed from
    // 206.608 to 806.608, on die 0; only then does the second one leave, for die 1, which the
    // read finds idle: 282.144 link of the writes before, 50 die, 4.096 channel, 8.192 link.
    let geometry = Geometry { channels: 2, dies: 2, ..plain().geometry };
    let config = SsdConfig { geometry, write_buffer: Bytes(65_536), ..plain() };
    let mut target = full(config);
    let taken = times(&mut target, &[group(0), group(16), read(8_208)]);
    assert_eq!(taken, [161, 826, 300]);
}

#[test]
fn a_link_serves_the_read_whose_data_are_there_first() {
    // Two channels. The first read brings 64 KiB from die 0: 10 + 50 + 65.536 channel. The second,
    // of a unit on die 1, has its data at 74.096 and does not wait for the link of the first.
    let geometry = Geometry { channels: 2, dies: 2, ..plain().geometry };
    let mut target = full(SsdConfig { geometry, ..plain() });
    let taken = times(&mut target, &[BlockCommand::Read(units(0, 16)), read(16)]);
    assert_eq!(taken, [276, 102]);
}

#[test]
fn a_write_larger_than_the_buffer_ends_with_its_last_part() {
    let mut target = full(SsdConfig { write_buffer: Bytes(131_072), ..plain() });
    // 10 + 8 x 131.072 link = 1058.576. Groups leave from then on: 65.536 channel and 600 die for
    // the first, 600 for each of the others. The eighth has its place when the sixth is there.
    let taken = times(&mut target, &[BlockCommand::write(units(0, 128))]);
    assert_eq!(taken, [1_058 + 65 + 6 * 600 + 20 + 1]);
    target.model_mut().check();
}

#[test]
fn a_flush_waits_for_writes_that_wait_for_places() {
    let mut target = full(SsdConfig { write_buffer: Bytes(65_536), ..plain() });
    let taken = times(&mut target, &[group(0), group(16), BlockCommand::Flush]);
    // The second group leaves at 806.608: 65.536 channel, 600 program, 20 latency.
    assert_eq!(taken, [161, 826, 1_492]);
}

#[test]
fn what_a_flush_pads_does_not_wait_for_a_write_behind_it() {
    // 10 + 10 controller, 65.536 channel, 600 program, 20 latency; the write behind it has its data
    // over the link at 10 + 10 + 10 + 128 x 8.192.
    let host = HostInterface { duplex: LinkDuplex::Full, ..plain().host };
    let mut target = drive(SsdConfig { host, ..plain() });
    let behind = BlockCommand::write(units(16, 128));
    let taken =
        times(&mut target, &[BlockCommand::write(units(0, 1)), BlockCommand::Flush, behind]);
    assert_eq!(taken[..2], [38, 705]);
}

fn suspending(reads_max: u32) -> SsdConfig {
    let suspend = SuspendConfig {
        program: Nanos::from_micros(20),
        erase: Nanos::from_micros(100),
        resume: Nanos::from_micros(5),
        reads_max,
        slice: Nanos::ZERO,
        collector: None,
        channel: false,
    };
    SsdConfig { nand: NandTiming { suspend: Some(suspend), ..plain().nand }, ..plain() }
}

#[test]
fn a_read_interrupts_a_program_and_a_flush_waits_for_the_rest_of_it() {
    for (config, read_ends, flush_ends) in [
        // Programmed until 806.608; then 50 die, 4.096 channel, 8.192 link, 20 latency.
        (plain(), 888, 918),
        // From 310 on 20 pause, 50 die and the same; the program ends 75 later, then 20 latency.
        (suspending(1), 412, 901),
    ] {
        let mut target = full(config);
        times(&mut target, &[group(0)]);
        target.reap(Instant::from_start(Nanos::from_micros(300)), &mut Vec::new());
        let mut end = |command| {
            times(&mut target, &[command]);
            target.now().since_start().0 / 1_000
        };
        assert_eq!(end(read(8_000)), read_ends);
        assert_eq!(end(BlockCommand::Flush), flush_ends);
    }
}

#[test]
fn a_group_that_a_preconditioning_leaves_open_goes_on() {
    let mut target = drive(plain());
    target.model_mut().precondition_sequential(Bytes(0), Bytes(10 * 4_096));
    times(&mut target, &[BlockCommand::write(units(10, 8)), BlockCommand::Flush]);
    assert_eq!(target.model().counters().programmed_units, 32);
    target.model_mut().check();
}

#[test]
fn suspension_changes_what_reads_wait_for_and_nothing_else() {
    let outcome = |config: SsdConfig| {
        let mut target = full(config);
        target.model_mut().precondition_random(20_000, &mut Rng::new(3));
        let mut rng = Rng::new(4);
        let mut read_time = 0;
        for _ in 0..500 {
            let unit = rng.below(16_000);
            let write = group(unit / 16 * 16);
            let taken = times(&mut target, &[write, read(rng.below(16_000))]);
            read_time += taken[1];
        }
        target.model_mut().check();
        (target.model().counters(), read_time)
    };
    let (plain_counters, plain_time) = outcome(plain());
    let (counters, time) = outcome(suspending(10));
    assert_eq!(counters, plain_counters);
    assert!(time * 3 < plain_time, "{time} against {plain_time} us");
}

#[test]
fn a_discard_of_several_ranges_is_one_command_with_a_cost_for_each() {
    let mut target = full(plain());
    let ranges: Vec<_> = (0..256).map(|number| units(number * 8, 4)).collect();
    let discard = |target: &mut Virtual<Ssd>| {
        let begin = target.now();
        target.submit_discard(Tag(9), &ranges).unwrap();
        let mut out = Vec::new();
        target.reap(Instant::NEVER, &mut out);
        assert_eq!((out.len(), out[0].tag), (1, Tag(9)));
        (out[0].at - begin).0 / 1_000
    };
    // 10 + 100 command + 256 x 7 ranges + 1024 / 262144 of 262 ms + 20 latency.
    assert_eq!(discard(&mut target), 1_922 + 1_023);
    assert_eq!(target.model_mut().mapped_units(), 16_384 - 1_024);
    assert_eq!(target.model().counters().discards, 1);
    assert_eq!(target.statistics().discard.bytes, Bytes(1_024 * 4_096));
    assert_eq!(discard(&mut target), 1_922);
}

#[test]
fn a_discard_of_several_ranges_keeps_its_turn() {
    let mut target = full(SsdConfig { trim: trim(TrimMode::Blocking), ..plain() });
    target.submit(Tag(0), read(0)).unwrap();
    target.submit_discard(Tag(1), &[units(1_024, 1), units(2_048, 1)]).unwrap();
    target.submit(Tag(2), read(1)).unwrap();
    let mut out = Vec::new();
    while out.len() < 3 {
        target.reap(Instant::NEVER, &mut out);
    }
    let at = |index: usize| out[index].at.since_start().0 / 1_000;
    // The read: 92. The TRIM: 10 + 100 + 2 x 7 + 2 x 0.999 + 20. The other read.
    assert_eq!([at(0), at(1), at(2)], [92, 238, 330]);
    assert_eq!(target.model_mut().mapped_units(), 16_384 - 2);
}

#[test]
fn no_range_too_many_and_ranges_beyond_the_drive_are_rejected() {
    let mut target = full(plain());
    let one = units(0, 1);
    for ranges in [vec![], vec![one; 257]] {
        let refused = target.submit_discard(Tag(0), &ranges);
        assert!(matches!(refused, Err(Rejected::DiscardRanges { maximum: 256, .. })));
    }
    let beyond = target.submit_discard(Tag(0), &[one, units(64 * 256, 1)]);
    assert!(matches!(beyond, Err(Rejected::OutOfRange { .. })));
    // Two of 17 MiB, and a limit of 32 MiB.
    let large = target.submit_discard(Tag(0), &[units(0, 17 * 256), units(32 * 256, 17 * 256)]);
    assert!(matches!(large, Err(Rejected::DiscardTooLarge { .. })));
    assert_eq!(target.model_mut().mapped_units(), 16_384);
}

#[test]
fn a_trim_beyond_the_bound_of_the_backlog_makes_the_host_wait_for_it() {
    let trim =
        TrimConfig { background_bound: Some(Nanos::from_millis(5)), ..trim(TrimMode::Background) };
    let mut target = full(SsdConfig { trim, ..plain() });
    // 8192 units owe 8411.5 us. 3411.5 of them are worked off first, at full speed: nothing else
    // is to be done.
    let taken = times(&mut target, &[BlockCommand::Discard(units(0, 8_192))]);
    assert_eq!(taken, [3_411 + 20]);
    let pending = target.model().counters().trim_work_pending;
    assert!(pending <= Nanos::from_millis(5), "{pending}");
    // One that fits is acknowledged at once.
    let mut out = Vec::new();
    target.reap(target.now() + Nanos::from_millis(4), &mut out);
    assert_eq!(times(&mut target, &[BlockCommand::Discard(units(8_192, 1_024))]), [130]);
}

#[test]
fn beside_a_trim_that_waits_the_foreground_keeps_its_share() {
    let trim = TrimConfig { background_bound: Some(Nanos::ZERO), ..trim(TrimMode::Background) };
    let mut target = full(SsdConfig { trim, ..plain() });
    target.submit(Tag(0), BlockCommand::Discard(units(0, 8_192))).unwrap();
    let (mut out, mut reads) = (Vec::new(), 0);
    while !out.iter().any(|completion: &Completion| completion.tag == Tag(0)) {
        if target.statistics().outstanding < 2 {
            reads += 1;
            target.submit(Tag(reads), read(u64::from(8_192 + reads % 1_000))).unwrap();
        }
        target.reap(Instant::NEVER, &mut out);
    }
    // A quarter of the time for 8411.5 us of work.
    let took = target.now().since_start().0 / 1_000;
    assert!(took.abs_diff(4 * 8_411) < 2_000, "{took}");
}

#[test]
fn a_purge_takes_the_time_that_the_drive_says() {
    let purge = Nanos::from_secs(30);
    let mut target = full(SsdConfig { purge, ..plain() });
    let before = target.now();
    target.purge().unwrap();
    assert_eq!(target.now() - before, purge);
    assert_eq!(times(&mut target, &[read(0)]), [38]);
}

#[test]
fn a_power_cut_takes_what_is_not_programmed_at_that_instant() {
    for (wait, survives) in [(100, false), (800, true)] {
        let mut target = drive(plain());
        let data = Data::Stamped(1);
        times(&mut target, &[BlockCommand::Write { range: units(0, 16), data }]);
        // Acknowledged at 161; on flash at 806.608.
        let until = target.now() + Nanos::from_micros(wait);
        target.reap(until, &mut Vec::new());
        target.power_cut().unwrap();
        assert_eq!(target.model_mut().mapped_units(), if survives { 16 } else { 0 }, "{wait}");
    }
}

#[test]
fn jitter_adds_its_mean_and_differs_from_command_to_command() {
    let host = HostInterface { jitter: Nanos::from_micros(8), ..plain().host };
    let mut target = drive(SsdConfig { host, ..plain() });
    let added: Vec<u64> = (0..2_000).map(|_| times(&mut target, &[read(0)])[0] - 38).collect();
    let mean = added.iter().sum::<u64>() as f64 / 2_000.0;
    // Whole microseconds, rounded down; five standard deviations of the mean.
    assert!((mean - 7.5).abs() < 5.0 * 8.0 / 2_000_f64.sqrt(), "{mean}");
    assert!(added.iter().any(|it| *it >= 24) && added.iter().any(|it| *it < 4));
}

#[test]
fn trims_pass_their_latency_together_and_delay_nothing_meanwhile() {
    let trim = TrimConfig { latency: Nanos::from_micros(500), ..trim(TrimMode::Queued) };
    let mut target = full(SsdConfig { trim, ..plain() });
    let discard = |unit| BlockCommand::Discard(units(unit, 1));
    // The controller has each TRIM for 118 us; both wait 500 us behind that, and 20 us as all do.
    // The read is through with the controller at 2 x 118 + 10 and ends 82 us later.
    let taken = times(&mut target, &[discard(1_024), discard(1_025), read(0)]);
    assert_eq!(taken, [137 + 500, 255 + 500, 328]);
    // In the background the acknowledgement waits for it, and the work does not.
    let trim = TrimConfig { mode: TrimMode::Background, ..trim };
    let mut target = full(SsdConfig { trim, ..plain() });
    assert_eq!(times(&mut target, &[discard(1_024)]), [130 + 500]);
}
