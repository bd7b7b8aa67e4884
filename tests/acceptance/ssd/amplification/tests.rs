use std::collections::BTreeSet;

use super::*;

const CELL: Cell = Cell {
    policy: Policy::Greedy,
    traffic: Traffic::Uniform,
    capacity_gib: 8,
    units: 1024,
    over_provisioning: 70,
};

#[test]
fn space_is_counted_in_whole_superblocks_without_the_reserve() {
    let measured =
        Measured { cell: CELL, exported: 1 << 21, superblocks: 2192, parts: vec![2.0, 3.0] };
    assert!((measured.alpha(0.0) - 2192.0 / 2048.0).abs() < 1e-12);
    assert!((measured.alpha(0.5) - 2192.5 / 2048.0).abs() < 1e-12);
    assert!((measured.amplification() - 2.5).abs() < 1e-12);
    let json = serde_json::to_string(&measured).unwrap();
    assert_eq!(serde_json::from_str::<Measured>(&json).unwrap(), measured);
}

#[test]
fn deallocation_trims_only_what_is_in_use_and_keeps_its_share() {
    let mut steps = Steps::new(Traffic::Deallocating(20), 1_000);
    let (mut rng, mut used) = (Rng::new(1), (0..1_000).collect::<BTreeSet<u32>>());
    let (mut trims, mut sum) = (0_u32, 0);
    for step in 0..200_000 {
        match steps.next(&mut rng) {
            PreconditionStep::Discard(unit) => {
                assert!(used.remove(&unit), "{unit} is in use");
                trims += 1;
            }
            PreconditionStep::Write(unit) => {
                used.insert(unit);
            }
        }
        if step >= 100_000 {
            sum += used.len();
        }
    }
    assert!((39_000..41_000).contains(&trims), "{trims}");
    // (1 - 2q) / (1 - q) of them.
    assert!((740..760).contains(&(sum / 100_000)), "{}", sum / 100_000);
}

#[test]
fn skewed_and_trimmed_traffic_goes_where_it_should() {
    let mut rng = Rng::new(2);
    let mut written = |traffic| {
        let mut steps = Steps::new(traffic, 1_000);
        let units = (0..10_000).map(|_| match steps.next(&mut rng) {
            PreconditionStep::Write(unit) => unit,
            PreconditionStep::Discard(unit) => panic!("{unit} is trimmed"),
        });
        (units.collect::<Vec<_>>(), steps.trimmed())
    };
    let (skewed, trimmed) = written(Traffic::HotCold(80));
    let hot = skewed.iter().filter(|&&unit| unit < 200).count();
    assert!((7_800..8_200).contains(&hot), "{hot}");
    assert_eq!((trimmed, skewed.iter().max()), (0, Some(&999)));
    let (rest, trimmed) = written(Traffic::Trimmed(25));
    assert_eq!((trimmed, rest.iter().min(), rest.iter().max()), (250, Some(&250), Some(&999)));
}
