//! Random commands against an oracle, with every invariant checked.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trimbench_core::settings::Named as _;
use trimbench_core::{Target, Virtual};

use super::*;
use crate::config::{SlcCacheConfig, SlcMode, VictimPolicy, WhenFull};
use trimbench_core::rng::Rng;

#[derive(Clone, Debug)]
enum Step {
    Write(u64, u64, u8),
    Discard(u64, u64),
    Read(u64, u64),
    Flush,
    Wait(u64),
}

const UNITS: u64 = 16_384;

fn step() -> impl Strategy<Value = Step> {
    let span = (0..UNITS - 300, 1..300_u64);
    prop_oneof![
        5 => (span.clone(), 0..=100_u8)
            .prop_map(|((first, count), percent)| Step::Write(first, count, percent)),
        2 => span.clone().prop_map(|(first, count)| Step::Discard(first, count)),
        2 => span.prop_map(|(first, count)| Step::Read(first, count)),
        1 => Just(Step::Flush),
        1 => (1..400_u64).prop_map(Step::Wait),
    ]
}

/// No cache, either kind of SLC cache with each way of being full, compression, hot data apart or
/// a mapping cache; collected by any policy.
fn kind() -> impl Strategy<Value = SsdConfig> {
    let modes = prop_oneof![Just(SlcMode::Fixed), Just(SlcMode::Dynamic)];
    let [direct, fold] = [WhenFull::Direct, WhenFull::Fold].map(Just);
    let fulls = prop_oneof![direct, fold, Just(WhenFull::Reorganise)];
    let size = 10_000..250_000_u32;
    let caches = (modes, fulls, size, 2..=4_u32, 0..300_u64, any::<bool>());
    let cached = caches.prop_map(|(mode, when_full, size, bits_per_cell, idle, keeps)| {
        let reorganises = when_full == WhenFull::Reorganise;
        let mode = if reorganises { SlcMode::Dynamic } else { mode };
        let keeps = reorganises || keeps && mode == SlcMode::Dynamic;
        let minimum = if keeps { 10_000 } else { 0 };
        let slc_cache = SlcCacheConfig {
            size: Ppm(size),
            minimum: Ppm(minimum),
            bits_per_cell,
            fold_idle_after: Nanos::from_millis(idle),
            ..super::slc_cache::cache(mode, when_full)
        };
        SsdConfig { slc_cache: Some(slc_cache), ..plain() }
    });
    let dramless = (1..=16_u64, 0..3_u32).prop_map(|(pages, log)| {
        let config = super::mapping_cache::dramless(pages);
        let page = Bytes(4_096 << log);
        let cache = config.mapping_cache.map(|cache| crate::config::MappingCacheConfig {
            size: Bytes(pages * page.0),
            page,
            ..cache
        });
        let geometry = Geometry { dies: 1 << log, ..config.geometry };
        SsdConfig { mapping_cache: cache, geometry, ..config }
    });
    let kinds = prop_oneof![
        2 => dramless,
        1 => Just(plain()),
        3 => cached,
        1 => Just(super::compression::compressing()),
        1 => Just(super::gc::separating()),
    ];
    let policies = prop_oneof![
        Just(VictimPolicy::Greedy),
        Just(VictimPolicy::Fifo),
        Just(VictimPolicy::CostBenefit),
        (1..4_u32).prop_map(VictimPolicy::DChoices),
    ];
    (kinds, policies).prop_map(|(config, policy)| {
        let gc = crate::config::GcConfig { policy, ..config.gc };
        SsdConfig { gc, ..config }
    })
}

fn mode() -> impl Strategy<Value = TrimMode> {
    let modes = TrimMode::NAMES.iter().map(|(_, mode)| *mode);
    prop::sample::select(modes.filter(|mode| mode.frees()).collect::<Vec<_>>())
}

/// Runs the steps with up to eight commands outstanding; the completion times.
fn run(target: &mut Virtual<Ssd>, steps: &[Step], held: &mut BTreeSet<u64>) -> Vec<u64> {
    let mut out = Vec::new();
    let mut submitted = 0_usize;
    for step in steps {
        let command = match *step {
            Step::Write(first, count, percent) => {
                held.extend(first..first + count);
                let data = Data::Compressible(percent);
                BlockCommand::Write { range: units(first, count), data }
            }
            Step::Discard(first, count) => {
                held.retain(|unit| !(first..first + count).contains(unit));
                BlockCommand::Discard(units(first, count))
            }
            Step::Read(first, count) => BlockCommand::Read(units(first, count)),
            Step::Flush => BlockCommand::Flush,
            Step::Wait(millis) => {
                let deadline = target.now() + Nanos::from_millis(millis);
                while target.now() < deadline {
                    target.reap(deadline, &mut out);
                }
                continue;
            }
        };
        target.submit(Tag(narrow(submitted as u64)), command).unwrap();
        submitted += 1;
        while submitted - out.len() >= 8 {
            target.reap(Instant::NEVER, &mut out);
        }
    }
    while out.len() < submitted {
        target.reap(Instant::NEVER, &mut out);
    }
    out.iter().map(|completion| completion.at.since_start().0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_invariant_holds_and_the_oracle_agrees(
        steps in prop::collection::vec(step(), 50..400),
        mode in mode(),
        kind in kind(),
        full in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let config = SsdConfig { trim: trim(mode), ..kind };
        let fresh = || {
            let mut target = Virtual::new(config.clone().build().unwrap());
            if full {
                target.model_mut().precondition_sequential(Bytes(0), Bytes::mib(64));
                target.model_mut().precondition_random(20_000, &mut Rng::new(seed));
            }
            target
        };
        let mut target = fresh();
        let mut held: BTreeSet<u64> = if full { (0..UNITS).collect() } else { BTreeSet::new() };
        let times = run(&mut target, &steps, &mut held);
        target.model_mut().check();
        prop_assert_eq!(target.model_mut().mapped_units(), held.len() as u64);
        for unit in (0..UNITS).step_by(97) {
            let holds = target.model_mut().holds_data(Bytes(unit * PIECE_BYTES));
            prop_assert_eq!(holds, held.contains(&unit));
        }
        // The same again: the same times, to the nanosecond.
        let again = run(&mut fresh(), &steps, &mut BTreeSet::new());
        prop_assert_eq!(times, again);
    }
}
