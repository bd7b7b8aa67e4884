use trimbench_core::rng::Rng;
use trimbench_devices::TargetSpec;
use trimbench_results::Action;

use super::{
    BUILT_IN, CAPACITY, DRAWN_SEED, Judged, MADE_UP, SHORT, agreement, drawn, side_by_side,
};

#[test]
fn every_drive_can_be_built_and_is_there_once() {
    let named = BUILT_IN.iter().chain(&MADE_UP).map(|drive| (*drive).to_owned());
    let mut all: Vec<String> = named.chain(drawn(&mut Rng::new(DRAWN_SEED))).collect();
    for drive in &all {
        let target = TargetSpec::parse(&format!("sim:{drive},{CAPACITY}"), None);
        target.unwrap_or_else(|error| panic!("{drive}: {error}"));
    }
    assert!(SHORT.iter().all(|drive| all.iter().any(|other| other == drive)));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

fn judged(drive: &str, action: Action, losses: [f64; 4]) -> Judged {
    Judged { drive: drive.to_owned(), seed: 1, action, losses }
}

#[test]
fn a_choice_costs_what_its_setting_loses_and_either_the_dearer_one() {
    let losses = [1.2, 1.0, 1.1, 2.0];
    for (action, cost) in [
        (Action::MountWithDiscard, Some(1.2)),
        (Action::SmallerDiscardMax { bytes: 1 << 20 }, Some(1.0)),
        (Action::WeeklyFstrim, Some(1.1)),
        (Action::NothingToGain, Some(2.0)),
        (Action::EitherWillDo, Some(1.2)),
        (Action::Unknown, None),
    ] {
        let it = judged("one", action, losses);
        assert_eq!(it.cost(), cost);
        assert_eq!(it.is_best(), cost.is_some_and(|cost| cost <= 1.1), "{cost:?}");
    }
}

#[test]
fn seeds_agree_or_are_counted() {
    let (apart, close) = ([1.0, 1.0, 1.25, 1.0], [1.0, 1.0, 1.2, 1.0]);
    let all = [
        judged("one", Action::MountWithDiscard, apart),
        judged("one", Action::EitherWillDo, apart),
        judged("two", Action::MountWithDiscard, close),
        judged("two", Action::WeeklyFstrim, close),
        judged("three", Action::WeeklyFstrim, apart),
        judged("three", Action::WeeklyFstrim, close),
    ];
    let values: Vec<f64> = agreement(&all).iter().map(|figure| figure.value).collect();
    assert!((values[0] - 1.0).abs() < 1e-9, "only two: {values:?}");
    assert!((values[1] - 400.0 / 6.0).abs() < 1e-9, "{values:?}");
    assert!((values[2] - 50.0).abs() < 1e-9, "one is open: {values:?}");
}

#[test]
fn results_stand_in_order_and_an_error_ends_the_work() {
    let numbers: Vec<u64> = (0..100).collect();
    assert_eq!(side_by_side(&numbers, |it| Ok(2 * it)).unwrap()[99], 198);
    let failed = side_by_side(&numbers, |it| {
        anyhow::ensure!(*it != 50, "fifty");
        Ok(())
    });
    failed.unwrap_err();
}
