use super::*;

/// How often each of `count` places comes in so many draws.
fn drawn(pattern: Pattern, count: u64, draws: u64) -> Vec<u64> {
    let places = Places::new(pattern, count);
    let mut rng = Rng::new(7);
    let mut hits = vec![0; usize::try_from(count).unwrap()];
    for _ in 0..draws {
        hits[usize::try_from(places.draw(&mut rng)).unwrap()] += 1;
    }
    hits
}

/// The sum of squared differences from what is expected, each over what is expected: about the
/// degrees of freedom, with a deviation of the root of twice as many.
fn chi_squared(hits: &[u64], expected: &[f64]) -> f64 {
    hits.iter().zip(expected).map(|(hits, mean)| (*hits as f64 - mean).powi(2) / mean).sum()
}

#[test]
fn ranks_follow_zipfs_law_for_exponents_below_at_and_above_one() {
    const PLACES: u64 = 200;
    const DRAWS: u64 = 400_000;
    for thousandths in [200, 600, 1_000, 1_500] {
        let mut hits = drawn(Pattern::Zipf { thousandths }, PLACES, DRAWS);
        let factor = scatter(PLACES);
        // In the order of the ranks.
        hits = (0..PLACES)
            .map(|rank| hits[usize::try_from(rank * factor % PLACES).unwrap()])
            .collect();
        let weight = |rank: u64| (rank as f64).powf(-f64::from(thousandths) / 1_000.0);
        let total: f64 = (1..=PLACES).map(weight).sum();
        let expected: Vec<f64> =
            (1..=PLACES).map(|rank| DRAWS as f64 * weight(rank) / total).collect();
        let found = chi_squared(&hits, &expected);
        let (freedom, deviation) = (199.0, (2.0_f64 * 199.0).sqrt());
        assert!((found - freedom).abs() < 4.0 * deviation, "{thousandths}: {found}");
    }
}

#[test]
fn hot_places_have_their_share_and_within_a_zone_all_are_alike() {
    let pattern: Pattern = "hot-20%-80%".parse().unwrap();
    let hits = drawn(pattern, 100, 200_000);
    let expected: Vec<f64> = (0..100).map(|it| if it < 20 { 8_000.0 } else { 500.0 }).collect();
    let found = chi_squared(&hits, &expected);
    assert!((found - 99.0).abs() < 4.0 * 198.0_f64.sqrt(), "{found}");
    let scattered = drawn("hot-20%-80%-scattered".parse().unwrap(), 100, 200_000);
    let is_hot = |hits: &&u64| **hits > 4_000;
    assert_eq!(scattered.iter().filter(is_hot).count(), 20);
    for tenth in scattered.chunks(10) {
        assert_eq!(tenth.iter().filter(is_hot).count(), 2, "{scattered:?}");
    }
    let cold = drawn("hot-60%-0%".parse().unwrap(), 10, 1_000);
    assert!(cold[..6].iter().all(|hits| *hits == 0) && cold[6..].iter().all(|hits| *hits > 0));
}

#[test]
fn every_place_is_reached_by_one_rank() {
    for count in [1, 2, 3, 10, 97, 4_096, 30_030] {
        let factor = scatter(count);
        let mut places: Vec<u64> = (0..count).map(|rank| rank * factor % count).collect();
        places.sort_unstable();
        assert!(places.iter().copied().eq(0..count), "{count}");
    }
    // One place is all there is.
    assert_eq!(drawn(Pattern::Zipf { thousandths: 600 }, 1, 10), [10]);
    assert_eq!(
        drawn(Pattern::Hot { places: Ppm(10_000), accesses: Ppm(0), scattered: true }, 1, 10),
        [10]
    );
}

#[test]
fn patterns_are_read_as_they_are_shown_and_others_are_refused() {
    for text in [
        "uniform",
        "zipf-0.6",
        "zipf-1",
        "zipf-0.001",
        "zipf-2",
        "hot-20%-80%",
        "hot-1%-0%",
        "hot-1%-0%-scattered",
        "zones-1GiB-8",
        "zones-47MiB-1-trimmed",
    ] {
        assert_eq!(text.parse::<Pattern>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "zipf",
        "zipf-",
        "zipf-0",
        "zipf-2.001",
        "zipf--1",
        "zipf-nan",
        "zipf-0.0001",
        "hot-20%",
        "hot-0%-80%",
        "hot-100%-80%",
        "hot-20%-101%",
        "hot-20.5%-80%",
        "hot",
        "cold",
        "zones-1GiB",
        "zones-0-1",
        "zones-1GiB-0",
        "zones-1GiB-1025",
        "zones-1GiB-8-discarded",
    ] {
        let refused = text.parse::<Pattern>().unwrap_err().to_string();
        assert!(refused.contains("as `hot-20%-80%`"), "{text}: {refused}");
    }
}
