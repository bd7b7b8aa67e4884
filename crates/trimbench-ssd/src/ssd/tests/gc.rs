//! Victim policies, hot data apart, wear, and changes that take no time.

use trimbench_core::{Drive as _, Target, Virtual};

use super::*;
use crate::config::VictimPolicy;

fn collected(policy: VictimPolicy) -> SsdConfig {
    let gc = GcConfig { policy, ..plain().gc };
    SsdConfig { gc, ..plain() }
}

pub(super) fn separating() -> SsdConfig {
    let gc = GcConfig { separate_hot: true, ..plain().gc };
    SsdConfig { gc, ..plain() }
}

/// Write amplification in steady state, 90 percent of the writes to 10 percent of the space if
/// `skewed`.
fn amplification(policy: VictimPolicy, separate_hot: bool, skewed: bool) -> f64 {
    let gc = GcConfig { policy, separate_hot, ..plain().gc };
    let capacity = Bytes::mib(if skewed { 256 } else { 1_024 });
    let mut ssd = SsdConfig { capacity, gc, ..plain() }.build().unwrap();
    let (units, mut rng) = (ssd.config().exported_units(), Rng::new(7));
    ssd.precondition_sequential(Bytes(0), capacity);
    let mut write = |ssd: &mut Ssd, count: u64| {
        let hot = units / 10;
        let unit = |_| {
            narrow(match (skewed, rng.below(10)) {
                (false, _) => rng.below(units),
                (true, 0) => hot + rng.below(units - hot),
                (true, _) => rng.below(hot),
            })
        };
        let before = ssd.counters();
        ssd.precondition_with((0..count).map(unit).map(PreconditionStep::Write));
        ssd.counters().waf_since(&before).unwrap()
    };
    write(&mut ssd, units * 12);
    let waf = write(&mut ssd, units * 4);
    ssd.check();
    waf
}

#[test]
fn fifo_and_choices_amplify_as_their_formulas_say() {
    // FIFO: A = 1 / (1 - exp(-alpha / A)), the same as Lambert's form; a random choice: one over
    // the spare factor. 4096 superblocks and a tenth, rounded up to 4506.
    let alpha = 4_506.0 / 4_096.0;
    let uniform = |policy| amplification(policy, false, false);
    let fifo = uniform(VictimPolicy::Fifo);
    let fixed = 1.0 / (1.0 - (-alpha / fifo).exp());
    assert!((fixed / fifo - 1.0).abs() < 0.005, "{fifo}, whose formula gives {fixed}");
    let random = uniform(VictimPolicy::DChoices(1));
    let expected = alpha / (alpha - 1.0);
    assert!((random / expected - 1.0).abs() < 0.01, "{random}, expected {expected}");
    let ten = uniform(VictimPolicy::DChoices(10));
    let greedy = uniform(VictimPolicy::Greedy);
    assert!(greedy < ten && ten < fifo && fifo < random, "{greedy} {ten} {fifo} {random}");
}

#[test]
fn cost_and_benefit_and_separation_pay_where_some_data_is_hot() {
    let with = |policy, separate_hot| amplification(policy, separate_hot, true);
    let greedy = with(VictimPolicy::Greedy, false);
    let weighed = with(VictimPolicy::CostBenefit, false);
    let apart = with(VictimPolicy::CostBenefit, true);
    assert!(weighed < 0.7 * greedy, "{weighed}, greedy {greedy}");
    assert!(apart < 0.95 * weighed, "{apart}, without separation {weighed}");
}

#[test]
fn what_takes_no_time_counts_the_same_as_commands() {
    for config in [plain(), collected(VictimPolicy::Fifo), separating()] {
        let mut rng = Rng::new(3);
        let changes: Vec<PreconditionStep> = (0..60_000)
            .map(|_| {
                let unit = narrow(rng.below(16_384));
                if rng.below(5) == 0 {
                    PreconditionStep::Discard(unit)
                } else {
                    PreconditionStep::Write(unit)
                }
            })
            .collect();
        let mut at_once = config.clone().build().unwrap();
        at_once.precondition_with(changes.iter().copied());
        let mut one_by_one = Virtual::new(config.build().unwrap());
        for change in changes {
            let command = match change {
                PreconditionStep::Write(unit) => BlockCommand::write(units(unit.into(), 1)),
                PreconditionStep::Discard(unit) => BlockCommand::Discard(units(unit.into(), 1)),
            };
            times(&mut one_by_one, &[command]);
        }
        let timed = one_by_one.model().counters();
        let untimed = DriveCounters { trim_work_done: timed.trim_work_done, ..at_once.counters() };
        assert_eq!(untimed, timed);
        assert!(timed.erased_superblocks > 500, "the drive was filled more than once");
        assert_eq!(at_once.erases_by_superblock(), one_by_one.model().erases_by_superblock());
        at_once.check();
        one_by_one.model_mut().check();
    }
}

#[test]
fn a_purged_drive_is_filled_from_an_address_on_in_no_time() {
    let mut drive = Virtual::new(plain().build().unwrap());
    assert_eq!(drive.fill_from(Bytes::mib(16)), Ok(true));
    assert_eq!(drive.now(), Instant::START);
    let ssd = drive.model_mut();
    assert_eq!(ssd.mapped_units(), 48 * 256);
    assert_eq!(
        (ssd.holds_data(Bytes(4_095 * PIECE_BYTES)), ssd.holds_data(Bytes(4_096 * PIECE_BYTES))),
        (false, true)
    );
    ssd.check();
    ssd.purge();
    ssd.stay_empty();
    assert_eq!(ssd.fill_from(Bytes(0)), Ok(false));
    assert_eq!(ssd.mapped_units(), 0);
}

#[test]
fn a_drive_that_frees_nothing_frees_nothing_without_time_either() {
    let freed = |mode| {
        let mut ssd = SsdConfig { trim: trim(mode), ..plain() }.build().unwrap();
        ssd.precondition_sequential(Bytes(0), Bytes::mib(1));
        ssd.precondition_with((0..64).map(PreconditionStep::Discard));
        (256 - ssd.mapped_units(), ssd.counters().discards)
    };
    assert_eq!((freed(TrimMode::Queued), freed(TrimMode::Ignored)), ((64, 64), (0, 64)));
}

#[test]
fn every_erase_wears_one_superblock() {
    let mut ssd = collected(VictimPolicy::Fifo).build().unwrap();
    assert_eq!(ssd.erases_by_superblock(), [0; 285]);
    // In the order of their age, the superblocks are used in turn.
    for _ in 0..20 {
        ssd.precondition_sequential(Bytes(0), Bytes::mib(64));
    }
    let worn = ssd.erases_by_superblock();
    let total: u64 = worn.iter().map(|&erases| u64::from(erases)).sum();
    assert_eq!(total, ssd.counters().erased_superblocks);
    // 5120 superblocks were filled, of which 283 were not erased again.
    assert_eq!((total, worn.iter().min(), worn.iter().max()), (4_837, Some(&16), Some(&17)));
    ssd.purge();
    assert_eq!(ssd.erases_by_superblock(), [0; 285]);
    let in_place = SsdConfig { media: Media::InPlace, trim: trim(TrimMode::None), ..plain() };
    assert!(in_place.build().unwrap().erases_by_superblock().is_empty());
}

#[test]
fn both_open_groups_are_in_the_buffer_and_a_flush_pads_both() {
    let mut target = drive(separating());
    // New data is warm. Written again, it is hot: the first group is still open beside it.
    times(&mut target, &[BlockCommand::write(units(0, 2)), BlockCommand::write(units(0, 1))]);
    let waits = Nanos::from_millis(5);
    target.reap(target.now() + waits, &mut Vec::new());
    for unit in [0, 1] {
        assert_eq!(times(&mut target, &[BlockCommand::Read(units(unit, 1))]), [38], "{unit}");
    }
    times(&mut target, &[BlockCommand::Flush]);
    let counters = target.model().counters();
    assert_eq!((counters.padding_units, counters.programmed_units), (14 + 15, 32));
    target.reap(target.now() + waits, &mut Vec::new());
    for unit in [0, 1] {
        assert_eq!(times(&mut target, &[BlockCommand::Read(units(unit, 1))]), [92], "{unit}");
    }
    target.model_mut().check();
}

#[test]
fn metadata_counts_in_what_the_drive_says_and_nowhere_else() {
    let worn = |metadata: Ppm| {
        let mut target = drive(SsdConfig { metadata, ..plain() });
        let commands = (0..64).map(|unit| BlockCommand::write(units(unit * 16, 16)));
        let ended = run_in_turn(&mut target, 4, commands).last().map(|it| it.at);
        let wear = target.model_mut().wear().unwrap();
        (wear.host_written.0, wear.media_written.0, ended)
    };
    let (plain, with) = (worn(Ppm(0)), worn(Ppm(22_300)));
    assert_eq!(plain.1, 4 << 20);
    assert_eq!(with, (plain.0, plain.1 + plain.1 * 223 / 10_000, plain.2));
}

#[test]
fn metadata_are_a_share_of_all_programs_or_of_what_the_host_writes() {
    let measured = |metadata_of| {
        let config = SsdConfig { metadata: Ppm(100_000), metadata_of, ..plain() };
        let mut ssd = config.build().unwrap();
        let (count, mut rng) = (ssd.config().exported_units(), Rng::new(7));
        let mut place = || PreconditionStep::Write(narrow(rng.below(count)));
        ssd.precondition_with((0..4 * count).map(|_| place()));
        let (counters, wear) = (ssd.counters(), ssd.wear().unwrap());
        assert!(counters.moved_units > counters.host_written_units, "the two differ");
        let units = wear.media_written.0 / PIECE_BYTES - counters.programmed_units;
        (units, counters.programmed_units / 10, counters.host_written_units / 10)
    };
    let (units, programs, _) = measured(MetadataOf::Programs);
    assert_eq!(units, programs);
    let (units, _, host) = measured(MetadataOf::HostWrites);
    assert_eq!(units, host);
}

#[test]
fn a_collector_with_reads_of_its_own_slows_writes_and_no_read_of_the_host() {
    let slow = Nanos::from_micros(400);
    let of = |host: Nanos, collector: Option<Nanos>| {
        let nand = NandTiming { read: host, ..plain().nand };
        let gc = GcConfig { read: collector, ..plain().gc };
        SsdConfig { nand, gc, ..plain() }
    };
    let measured = |config: SsdConfig| {
        let (count, mut rng) = (config.exported_units(), Rng::new(7));
        let mut target = drive(config);
        let alone = times(&mut full(target.model().config().clone()), &[read(0)]);
        let mut places = || units(rng.below(count), 1);
        let writes: Vec<_> = (0..3 * count).map(|_| BlockCommand::write(places())).collect();
        let ended = run_in_turn(&mut target, 32, writes).last().map(|it| it.at);
        (ended.expect("there are writes").since_start(), alone[0])
    };
    let host = plain().nand.read;
    let (together, apart) = (measured(of(slow, None)), measured(of(host, Some(slow))));
    assert_eq!(together.0, apart.0, "the collector reads as slowly in either");
    let quick = measured(of(host, None));
    assert!(apart.0 > quick.0, "and that is what the writes pay");
    assert_eq!((apart.1, together.1 - apart.1), (quick.1, (slow - host).0 / 1_000));
}
