//! The drive against closed forms.

use trimbench_core::Virtual;
use trimbench_core::units::index;

use super::*;

/// Write amplification of greedy collection under uniform random writes, superblocks of `units`
/// mapping units, `alpha` = physical / exported without the reserve. Source: [DESN12], mean field,
/// solved for the valid units `v` of a victim: `alpha (1 - v / n) = H_n - H(v)`.
pub(super) fn greedy_waf(alpha: f64, units: u32) -> f64 {
    let n = f64::from(units);
    let harmonic = |v: f64| {
        let whole: f64 =
            (1..=trimbench_core::units::rounded(v.floor())).map(|i| 1.0 / i as f64).sum();
        whole + v.fract() / (v.floor() + 1.0)
    };
    let total = harmonic(n);
    let (mut low, mut high) = (0.0, n - 1e-6);
    for _ in 0..60 {
        let v = f64::midpoint(low, high);
        if alpha * (1.0 - v / n) < total - harmonic(v) { low = v } else { high = v }
    }
    n / (n - f64::midpoint(low, high))
}

#[test]
fn uniform_random_writes_amplify_as_the_greedy_bound_says() {
    for (over_provisioning, exact) in [(Ppm(70_000), 7.010), (Ppm(280_000), 2.403)] {
        let alpha = 1.0 + over_provisioning.fraction();
        let expected = greedy_waf(alpha, 64);
        assert!((expected - exact).abs() < 0.002, "the formula gives the published {exact}");
        let config = SsdConfig { capacity: Bytes::mib(1024), over_provisioning, ..plain() };
        let units = config.exported_units();
        let mut ssd = config.build().unwrap();
        let mut rng = Rng::new(11);
        ssd.precondition_sequential(Bytes(0), Bytes::mib(1024));
        ssd.precondition_random(units * 8, &mut rng);
        let before = ssd.counters();
        ssd.precondition_random(units * 4, &mut rng);
        let waf = ssd.counters().waf_since(&before).unwrap();
        let error = waf / expected - 1.0;
        assert!(error.abs() < 0.005, "measured {waf}, expected {expected}");
    }
}

/// The collector's open superblock is half full of data that were just found valid, so that they
/// lie in half a superblock more than there is without the reserve: 4 % of the amplification of a
/// drive of 128 superblocks.
#[test]
fn few_superblocks_have_half_of_one_more_for_spare_area() {
    const UNITS: u64 = 256;
    for superblocks in [64_u64, 128, 1_024] {
        let config = SsdConfig {
            capacity: Bytes(superblocks * UNITS * PIECE_BYTES),
            over_provisioning: Ppm(73_700),
            ..plain()
        };
        let geometry = Geometry { superblock: Bytes(UNITS * PIECE_BYTES), ..config.geometry };
        let config = SsdConfig { geometry, ..config };
        let whole =
            (superblocks + config.over_provisioning.of(superblocks * UNITS).div_ceil(UNITS)) as f64;
        let mut ssd = config.build().unwrap();
        let mut rng = Rng::new(11);
        let writes = superblocks * UNITS * 8;
        ssd.precondition_sequential(Bytes(0), Bytes(superblocks * UNITS * PIECE_BYTES));
        ssd.precondition_random(writes, &mut rng);
        let before = ssd.counters();
        ssd.precondition_random(writes * 4, &mut rng);
        let waf = ssd.counters().waf_since(&before).unwrap();
        let off =
            |physical: f64| waf / greedy_waf(physical / superblocks as f64, narrow(UNITS)) - 1.0;
        let (without, with) = (off(whole), off(whole + 0.5));
        assert!(with.abs() < 0.02, "{superblocks}: {with}");
        // By the derivative of the formula, 5.8 over the number of superblocks.
        let predicted = -5.8 / superblocks as f64;
        assert!((without - with - predicted).abs() < 0.015, "{superblocks}: {without}");
    }
}

#[test]
fn trimmed_space_is_over_provisioning() {
    // A quarter trimmed and never written again: alpha_eff = alpha / (1 - t). Source: F6 of the
    // formulas in docs/model/gc.md.
    let config =
        SsdConfig { capacity: Bytes::mib(1024), over_provisioning: Ppm(70_000), ..plain() };
    let units = config.exported_units();
    let mut target = Virtual::new(config.build().unwrap());
    target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(1024));
    let quarter = units / 4;
    let mut rng = Rng::new(5);
    for first in (0..quarter).step_by(8192) {
        times(&mut target, &[BlockCommand::Discard(super::units(first, 8192))]);
    }
    let write = |ssd: &mut Ssd, count: u64, rng: &mut Rng| {
        let unit = |_| PreconditionStep::Write(narrow(quarter + rng.below(units - quarter)));
        ssd.precondition_with((0..count).map(unit));
    };
    write(target.model_mut(), units * 8, &mut rng);
    let before = target.model().counters();
    write(target.model_mut(), units * 4, &mut rng);
    let waf = target.model().counters().waf_since(&before).unwrap();
    let expected = greedy_waf(1.07 / 0.75, 64);
    assert!((waf / expected - 1.0).abs() < 0.005, "measured {waf}, expected {expected}");
}

/// A drive of 4,096 superblocks that was written once, and how many units it exports.
fn filled(over_provisioning: Ppm) -> (Ssd, u64) {
    let config = SsdConfig { capacity: Bytes::mib(1024), over_provisioning, ..plain() };
    let units = config.exported_units();
    let mut ssd = config.build().unwrap();
    ssd.precondition_sequential(Bytes(0), Bytes::mib(1024));
    (ssd, units)
}

#[test]
fn what_is_deallocated_at_random_is_over_provisioning() {
    // Each step trims a random unit in use with probability q and else writes a random unit of all:
    // (1 - 2 q) / (1 - q) of the units are in use then. Source: [FRAN12].
    let (mut ssd, units) = filled(Ppm(280_000));
    let mut is_used = vec![true; index(units)];
    let mut rng = Rng::new(5);
    let mut amplification = |steps: u64| {
        let before = ssd.counters();
        ssd.precondition_with((0..steps).map(|_| {
            let trims = rng.below(5) == 0;
            let mut unit = rng.below(units);
            while trims && !is_used[index(unit)] {
                unit = rng.below(units);
            }
            is_used[index(unit)] = !trims;
            let step = if trims { PreconditionStep::Discard } else { PreconditionStep::Write };
            step(narrow(unit))
        }));
        ssd.counters().waf_since(&before).unwrap()
    };
    amplification(12 * units);
    let (waf, expected) = (amplification(6 * units), greedy_waf(1.28 / (0.6 / 0.8), 64));
    assert!((waf / expected - 1.0).abs() < 0.005, "measured {waf}, expected {expected}");
}

#[test]
fn a_sequential_pass_heals_a_tortured_drive_from_tenth_to_tenth() {
    let (mut ssd, units) = filled(Ppm(70_000));
    ssd.precondition_random(4 * units, &mut Rng::new(11));
    let mut amplification = |tenth: u64| {
        let before = ssd.counters();
        let part = narrow(units * tenth / 10)..narrow(units * (tenth + 1) / 10);
        ssd.precondition_with(part.map(PreconditionStep::Write));
        ssd.counters().waf_since(&before).unwrap()
    };
    let first: Vec<f64> = (0..10).map(&mut amplification).collect();
    // It begins as torture left the drive: otherwise there would be nothing to heal.
    let begin = first[0] / greedy_waf(1.07, 64);
    assert!((0.85..=1.01).contains(&begin), "{begin} of what torture amplifies");
    assert!(first.windows(2).all(|pair| pair[1] < pair[0]), "{first:?}");
    let second: Vec<f64> = (0..10).map(amplification).collect();
    assert!(second.iter().all(|part| (part - 1.0).abs() <= 1e-9), "{second:?}");
}

#[test]
fn sequential_writes_do_not_amplify() {
    for policy in [VictimPolicy::Greedy, VictimPolicy::Fifo, VictimPolicy::CostBenefit] {
        let gc = GcConfig { policy, ..plain().gc };
        let mut ssd = SsdConfig { gc, ..plain() }.build().unwrap();
        for _ in 0..4 {
            ssd.precondition_sequential(Bytes(0), Bytes::mib(64));
        }
        assert_eq!(ssd.counters().waf_since(&DriveCounters::default()), Some(1.0), "{policy:?}");
    }
}

#[test]
fn bandwidth_is_that_of_the_narrowest_part() {
    // Program-bound: 64 KiB in 600 us on one die = 109.2 MB/s. Its channel and link are faster.
    let mut target = Virtual::new(plain().build().unwrap());
    let commands: Vec<_> =
        (0..500).map(|i| BlockCommand::write(super::units(i * 16, 16))).collect();
    times(&mut target, &commands);
    let taken = times(&mut target, &commands).into_iter().max().unwrap();
    let rate = 500.0 * 65_536.0 / taken as f64;
    // The second pass overwrites the first, with free superblocks: erases are not needed yet.
    assert!((rate / 109.2 - 1.0).abs() < 0.02, "{rate} MB/s");
}
