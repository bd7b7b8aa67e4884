//! What firmware does beside collecting: paces the host, replaces data in the buffer, levels wear.

use super::*;

/// The rate of random writes in steady state, writes a second, of `units` units each.
fn steady_rate(config: &SsdConfig, units: u64) -> f64 {
    let mut ssd = config.clone().build().unwrap();
    let (count, mut rng) = (config.exported_units(), Rng::new(7));
    ssd.precondition_sequential(Bytes(0), config.capacity);
    ssd.precondition_random(3 * count, &mut rng);
    let mut target = Virtual::new(ssd);
    let mut write = || BlockCommand::write(super::units(rng.below(count - units), units));
    let writes: Vec<_> = (0..2_001).map(|_| write()).collect();
    let ends: Vec<_> = run_in_turn(&mut target, 32, writes).iter().map(|it| it.at).collect();
    target.model_mut().check();
    // From the first write on that is paced.
    1_500.0 * 1e9 / (ends[2_000] - ends[500]).0 as f64
}

#[test]
fn a_drive_that_paces_the_host_holds_one_rate_while_it_collects() {
    let paced = |pace| SsdConfig { gc: GcConfig { pace, ..plain().gc }, ..plain() };
    let free = steady_rate(&plain(), 1);
    let millis = Nanos::from_millis;
    for (pace, units, expected) in [(millis(4), 1, 250.0), (millis(4), 3, 250.0 / 3.0)] {
        assert!(expected < free / 2.0, "the flash can do more than {free}");
        let rate = steady_rate(&paced(pace), units);
        assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} of {expected}");
    }
    // A pace that the flash does not reach changes little: the lower of the two holds.
    let rate = steady_rate(&paced(Nanos::from_micros(10)), 1);
    assert!((rate / free - 1.0).abs() < 0.01, "{rate} of {free}");
    // A fresh drive has nothing to collect.
    let fresh = |config: SsdConfig| {
        let writes = (0..64).map(|unit| BlockCommand::write(units(unit, 1)));
        run_in_turn(&mut drive(config), 4, writes).last().map(|it| it.at)
    };
    assert_eq!(fresh(paced(millis(4))), fresh(plain()));
}

fn absorbing() -> SsdConfig {
    SsdConfig { buffer_overwrites: true, ..plain() }
}

#[test]
fn a_write_replaces_what_waits_in_the_buffer_until_its_program_begins() {
    let mut target = drive(absorbing());
    // Twice into the open group, then the rest of it, which leaves, and once more.
    let one = |unit| BlockCommand::write(units(unit, 1));
    times(&mut target, &[one(3), one(3), one(3)]);
    let counters = target.model().counters();
    let count = |counters: DriveCounters| {
        (counters.host_written_units, counters.programmed_units, counters.absorbed_units)
    };
    assert_eq!(count(counters), (3, 1, 2));
    times(&mut target, &(4..19).map(one).collect::<Vec<_>>());
    // Over the channel in 164 us at most.
    target.reap(target.now() + Nanos::from_micros(200), &mut Vec::new());
    times(&mut target, &[one(3)]);
    assert_eq!(count(target.model().counters()), (19, 17, 2), "its program has begun");
    // What was trimmed is written anew.
    times(&mut target, &[BlockCommand::Discard(units(3, 1)), one(3), one(3)]);
    assert_eq!(count(target.model().counters()), (21, 18, 3));
    // Without the feature all is programmed.
    let mut target = drive(plain());
    times(&mut target, &[one(3), one(3), one(3)]);
    assert_eq!(count(target.model().counters()), (3, 3, 0));
    target.model_mut().check();
}

#[test]
fn as_much_is_absorbed_as_the_buffer_is_of_the_drive() {
    // Uniform writes, one die that always works: places of all groups but one wait for it, and so
    // do writes in the queue. Each unit there is another one, for the others were replaced.
    let groups = 64;
    let config = SsdConfig { write_buffer: Bytes(groups * 65_536), ..absorbing() };
    let (count, mut rng) = (config.exported_units(), Rng::new(7));
    let mut target = drive(config);
    let mut run = |writes: u64| {
        let writes: Vec<_> =
            (0..writes).map(|_| BlockCommand::write(units(rng.below(count), 1))).collect();
        let before = target.model().counters();
        run_in_turn(&mut target, 16, writes);
        let counters = target.model().counters();
        let absorbed = counters.absorbed_units - before.absorbed_units;
        absorbed as f64 / (counters.host_written_units - before.host_written_units) as f64
    };
    run(4 * groups * 16);
    let absorbed = run(40_000);
    let expected = (groups * 16) as f64 / count as f64;
    assert!((absorbed / expected - 1.0).abs() < 0.05, "{absorbed} of {expected}");
}

#[test]
fn one_in_so_many_collections_moves_a_superblock_that_is_never_written() {
    // Three quarters are written once, the last one over and over, in order: nothing else moves.
    for (level_every, expected) in
        [(None, 1.0), (Some(8), 1.0 + 1.0 / 7.0), (Some(32), 1.0 + 1.0 / 31.0)]
    {
        let config = SsdConfig { gc: GcConfig { level_every, ..plain().gc }, ..plain() };
        let capacity = config.capacity.0;
        let mut ssd = config.build().unwrap();
        ssd.precondition_sequential(Bytes(0), Bytes(capacity));
        let hot = Bytes(capacity / 4 * 3);
        let mut amplification_of = |passes: u64| {
            let before = ssd.counters();
            (0..passes).for_each(|_| ssd.precondition_sequential(hot, Bytes(capacity / 4)));
            ssd.counters().waf_since(&before).unwrap()
        };
        // At first all were erased as often; later none is left that never was.
        amplification_of(4);
        let amplification = amplification_of(16);
        assert!((amplification / expected - 1.0).abs() < 0.005, "{amplification} of {expected}");
        amplification_of(200);
        let worn = ssd.erases_by_superblock();
        let (least, most) = (worn.iter().min().unwrap(), worn.iter().max().unwrap());
        assert_eq!(*least > 0, level_every.is_some(), "{least} to {most}");
        ssd.check();
    }
}
