use super::*;

#[test]
fn equal_seeds_give_equal_numbers_for_ever() {
    // Pinned: a dependency that changes these numbers changes every published result.
    let mut rng = Rng::new(42);
    let drawn: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
    assert_eq!(
        drawn,
        [15_021_278_609_987_233_951, 5_881_210_131_331_364_753, 18_149_643_915_985_481_100]
    );
}

#[test]
fn a_split_depends_on_seed_and_label_only() {
    let mut used = Rng::new(7);
    used.bits();
    assert_eq!(used.split("gc").bits(), Rng::new(7).split("gc").bits());
    assert_ne!(Rng::new(7).split("gc").bits(), Rng::new(7).split("load").bits());
    assert_ne!(Rng::new(7).split("gc").bits(), Rng::new(8).split("gc").bits());
}

#[test]
fn exponential_spans_have_the_mean_and_the_tail_they_should() {
    let mut rng = Rng::new(1);
    let n = 400_000_u32;
    let mean = Nanos(1_000_000);
    let spans: Vec<u64> = (0..n).map(|_| rng.exponential(mean).0).collect();
    let average = spans.iter().map(|&span| span as f64).sum::<f64>() / f64::from(n);
    assert!((average / 1e6 - 1.0).abs() < 0.01, "{average}");
    // P(X > 2 mean) = e^-2 = 0.13534; the standard error here is 0.0005.
    let tail = spans.iter().filter(|&&span| span > 2_000_000).count() as f64 / f64::from(n);
    assert!((tail - 0.135_34).abs() < 0.002, "{tail}");
}

#[test]
fn below_reaches_every_value_evenly() {
    let mut rng = Rng::new(3);
    let mut counts = [0_u32; 7];
    for _ in 0..70_000 {
        counts[crate::units::index(rng.below(7))] += 1;
    }
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
}

#[test]
fn a_shuffle_reaches_every_order_evenly() {
    let mut rng = Rng::new(5);
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..60_000 {
        let mut items = [0, 1, 2];
        rng.shuffle(&mut items);
        *counts.entry(items).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
}
