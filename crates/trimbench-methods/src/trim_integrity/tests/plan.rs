//! Options, layout and cases, without a drive.

use std::collections::{BTreeMap, BTreeSet};

use trimbench_core::rng::Rng;
use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, LbaRange, Medium, Support};

use super::drive::method;
use crate::METHODS;
use crate::trim_integrity::cases::plan;
use crate::trim_integrity::layout::Layout;
use crate::trim_integrity::{Cases, TrimIntegrity};
use trimbench_engine::{ASSUMED_RATE, Method as _, MethodDefinition as _, Preset};

fn target(capacity: Bytes, logical_block: u64, granularity: Bytes) -> Capabilities {
    let logical_block = BlockSize::new(Bytes(logical_block)).unwrap();
    Capabilities {
        clock: Clock::Wall,
        medium: Medium::Device { capacity, logical_block },
        discard: Support::Native,
        discard_max: Bytes::gib(2),
        discard_granularity: granularity,
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

#[test]
fn every_case_trims_what_it_says_within_the_region_and_nothing_twice() {
    for (logical_block, granularity) in
        [(512, 4_096), (512, 512), (512, 0), (4_096, 4_096), (4_096, 65_536), (512, 1_536)]
    {
        let method = method(&[("region", "33MiB"), ("guard", "100KiB")]);
        let capabilities = target(Bytes::gib(1), logical_block, Bytes(granularity));
        let alignment = Bytes(granularity / 4_096 * 4_096 / 2);
        let layout = Layout::new(&method, &capabilities, alignment).unwrap();
        assert_eq!(layout.start % layout.granule, layout.offset);
        assert_eq!(layout.length % (64 * layout.granule), 0);
        assert!(layout.span > layout.length + 2 * (100 * 1_024 / logical_block) - 2);
        let mut ids = BTreeSet::new();
        for case in plan(&method) {
            let discards = case.discards(&layout, &mut Rng::new(3));
            let mut blocks = BTreeSet::new();
            for discard in &discards {
                for block in discard.start().0..discard.end().0 {
                    assert!(blocks.insert(block), "{} trims {block} twice", case.id);
                    assert!((layout.start..layout.start + layout.length).contains(&block));
                }
            }
            let share = blocks.len() as f64 / layout.length as f64;
            match case.id.strip_prefix("share-").map(|share| share.trim_end_matches('%')) {
                Some(percent) => {
                    let expected = percent.parse::<f64>().unwrap() / 100.0;
                    assert!((share - expected).abs() < 0.02, "{}: {share}", case.id);
                }
                None => assert!(share > 0.0, "{} trims something", case.id),
            }
            assert!(ids.insert(case.id), "an id for each case");
        }
        assert_eq!(ids.len(), 22);
    }
}

#[test]
fn whole_and_full_share_trim_all_of_the_region() {
    let method = method(&[]);
    let capabilities = target(Bytes::gib(1), 512, Bytes(4_096));
    let layout = Layout::new(&method, &capabilities, Bytes(0)).unwrap();
    for case in plan(&method) {
        let discards = case.discards(&layout, &mut Rng::new(3));
        let blocks: u64 = discards.iter().map(|discard| discard.length().0).sum();
        let all = ["whole", "share-100%"].contains(&case.id.as_str());
        assert_eq!(blocks == layout.length, all, "{}", case.id);
        let middle = layout.start + layout.length / 2;
        if case.id == "across-the-middle" {
            assert!(discards[0].start().0 < middle && middle < discards[0].end().0);
        }
    }
}

#[test]
fn a_discard_is_cut_at_granules_and_covers_all() {
    let method = method(&[]);
    let mut capabilities = target(Bytes::gib(1), 512, Bytes(4_096));
    for most in [512, 4_096, 5_120, 8_192, 1 << 20] {
        capabilities.discard_max = Bytes(most);
        let layout = Layout::new(&method, &capabilities, Bytes(0)).unwrap();
        for (start, end) in [(0, 100), (3, 100), (5, 6), (8, 16), (7, 17)] {
            let pieces: Vec<LbaRange> = layout.split(start, end).collect();
            assert_eq!((pieces[0].start().0, pieces[pieces.len() - 1].end().0), (start, end));
            assert!(pieces.windows(2).all(|pair| pair[0].end() == pair[1].start()));
            assert!(pieces.iter().all(|piece| piece.length().0 * 512 <= most));
            let cuts = pieces.iter().skip(1).map(|piece| piece.start().0);
            assert!(most < 4_096 || cuts.clone().all(|cut| cut % 8 == 0), "{most}: {pieces:?}");
        }
        assert_eq!(layout.split(5, 5).count(), 0);
    }
}

#[test]
fn a_target_that_does_not_fit_is_told_why() {
    let method = method(&[]);
    let fits = |capabilities: &Capabilities| method.fits(capabilities);
    let good = target(Bytes::gib(1), 512, Bytes(4_096));
    assert_eq!(fits(&good), Ok(()));
    let small = target(Bytes::mib(17), 512, Bytes(4_096));
    assert!(fits(&small).unwrap_err().to_string().contains("there are 17MiB"));
    let exact = target(Bytes::mib(18), 512, Bytes(4_096));
    assert_eq!((fits(&exact), method.space()), (Ok(()), Bytes::mib(18)));
    let coarse = target(Bytes::gib(1), 512, Bytes::mib(1));
    assert!(fits(&coarse).unwrap_err().to_string().contains("`--set region=64MiB`"));
    let none = Capabilities { discard: Support::None, ..good.clone() };
    assert!(fits(&none).unwrap_err().to_string().contains("no discards"));
    let directory = Medium::Directory { available: Bytes::gib(1), fs_block: Bytes(4_096) };
    assert!(fits(&Capabilities { medium: directory, ..good }).is_err());
}

#[test]
fn options_have_ranges_and_presets() {
    let resolve = |preset, key: &str, value: &str| {
        let set = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        TrimIntegrity::resolve(preset, &set)
    };
    for preset in Preset::ALL {
        let method = TrimIntegrity::resolve(preset, &BTreeMap::new()).unwrap();
        assert_eq!(method.cases == Cases::Shares, preset == Preset::Published);
        assert!(method.demand(Bytes::gib(1), ASSUMED_RATE).written.0 > method.space().0);
    }
    for (key, value) in [
        ("region", "512KiB"),
        ("guard", "0"),
        ("reads", "1"),
        ("queue-depth", "0"),
        ("cases", "some"),
        ("shares", "101%"),
        ("shares", ""),
        ("piece", "100B"),
        ("regoin", "1GiB"),
    ] {
        assert!(resolve(Preset::Quick, key, value).is_err(), "{key}={value}");
    }
    let shares = resolve(Preset::Quick, "shares", "50%,0%,50%").unwrap().shares;
    assert_eq!(shares.len(), 2, "ascending, each once");
}

#[test]
fn the_method_is_listed_and_its_own_limits_name_its_figures() {
    let info = METHODS.iter().find(|info| info.id == "trim-integrity").unwrap();
    let method = info.resolve(Preset::Quick, &BTreeMap::new()).unwrap().method;
    let figures = method.metrics();
    let limits = method.built_in_limits();
    assert_eq!(limits.len(), 4);
    for limit in limits {
        let limit: trimbench_results::Limit = limit.parse().unwrap();
        limit.check_metrics(&figures).unwrap();
        assert!(limit.value.abs() < f64::EPSILON);
    }
}
