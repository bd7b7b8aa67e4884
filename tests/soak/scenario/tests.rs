use std::collections::BTreeSet;

use trimbench_core::settings::Named as _;
use trimbench_core::{Bytes, Nanos};
use trimbench_ssd::TrimMode;

use super::*;

fn scenarios(size: Size) -> impl Iterator<Item = Scenario> {
    (0..2_000).map(move |seed| Scenario::draw(&Rng::new(seed), size))
}

#[test]
fn every_drive_that_is_drawn_can_be_built() {
    for size in [Size::Tiny, Size::Small] {
        for scenario in scenarios(size) {
            let checked = scenario.drive.check();
            assert!(checked.is_ok(), "{checked:?}: {scenario:#?}");
        }
    }
}

#[test]
fn every_feature_is_drawn_alone_and_not_at_all() {
    let mut seen = BTreeSet::new();
    for Scenario { drive, load, faults, .. } in scenarios(Size::Small) {
        seen.insert(format!("{:?}", drive.trim.mode));
        seen.insert(format!("{:?}", drive.contents.reads));
        seen.insert(format!("{:?}", drive.media));
        seen.insert(format!("{:?}", load.start));
        let cache = drive.slc_cache.map(|cache| (cache.mode, cache.when_full));
        seen.insert(format!("cache {cache:?}"));
        seen.insert(format!("compression {}", drive.compression.is_some()));
        seen.insert(format!("mapping cache {}", drive.mapping_cache.is_some()));
        seen.insert(format!("apart {}", drive.gc.separate_hot));
        seen.insert(format!("suspends {}", drive.nand.suspend.is_some()));
        seen.insert(format!("bounded {}", drive.trim.background_bound.is_some()));
        seen.insert(format!("{:?}", drive.trim.arbitration));
        seen.insert(format!("protection {}", drive.power_loss_protection));
        seen.insert(format!("granular {}", drive.trim.granularity > drive.mapping_unit));
        seen.insert(format!("large units {}", drive.mapping_unit.0 > PIECE));
        seen.insert(format!("misaligned {}", drive.trim.alignment.0 > 0));
        seen.insert(format!("bursts {}", drive.gc.burst.is_some()));
        seen.insert(format!("pages {}", drive.gc.read_bytes.is_some()));
        seen.insert(format!("reads of its own {}", drive.gc.read.is_some()));
        seen.insert(format!("paces {}", drive.gc.pace > Nanos::ZERO));
        seen.insert(format!("rests {}", drive.gc.idle_share < Ppm(1_000_000)));
        seen.insert(format!("levels {}", drive.gc.level_every.is_some()));
        seen.insert(format!("roots {}", drive.gc.policy == VictimPolicy::CostBenefitRoot));
        seen.insert(format!("absorbs {}", drive.buffer_overwrites));
        seen.insert(format!("frees early {}", drive.buffer_frees_early));
        seen.insert(format!("metadata {}", drive.metadata > Ppm(0)));
        seen.insert(format!("metadata of {:?}", drive.metadata_of));
        seen.insert(format!("jitters {}", drive.host.jitter > Nanos::ZERO));
        seen.insert(format!("uncharged {}", drive.trim.uncharged > Bytes(0)));
        seen.insert(format!("late {}", drive.trim.latency > Nanos::ZERO));
        seen.insert(format!("tails {}", drive.trim.tail_chance > Ppm(0)));
        seen.insert(format!("freezes {}", faults.freeze_on_discard.0 > 0));
        seen.insert(format!("fails {}", faults.fail_from.is_some()));
    }
    // The modes, three arbitrations, three reads, two media, three starts, five caches and none,
    // and both of 26.
    assert_eq!(seen.len(), TrimMode::NAMES.len() + 3 + 3 + 2 + 3 + 6 + 2 * 26, "{seen:?}");
}

#[test]
fn a_seed_always_draws_the_same_and_another_one_something_else() {
    let draw = |seed| Scenario::draw(&Rng::new(seed), Size::Tiny);
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn scaled_numbers_reach_both_ends_and_nothing_beyond() {
    let mut rng = Rng::new(1);
    for (low, high) in [(1, 1), (1, 9), (3, 4), (0, 5), (100, 1_000)] {
        let drawn: BTreeSet<u64> = (0..20_000).map(|_| scaled(&mut rng, low, high)).collect();
        assert_eq!(drawn.first(), Some(&low.max(1)));
        assert_eq!(drawn.last(), Some(&high));
    }
}
