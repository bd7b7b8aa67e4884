use std::fs;

use trimbench_results::{Series, Step};
use trimbench_ssd::BUILT_IN;

use super::{CACHED, PAST_CACHE, PassStep, QUANTITIES, REVIEWS, part, reviews};

/// Reviews with sequential writes past the cache of 400 to 600 MB/s.
fn text(more: &str) -> String {
    let review = |low: u32, high: u32| {
        format!(
            "{{ drive = \"D\", low = {low}, high = {high}, condition = \"w\", source = \"s\" }},"
        )
    };
    let three = [review(400, 500), review(450, 450), review(500, 600)].concat();
    format!(
        "[[quantity]]\nclass = \"generic-sata-tlc\"\nid = \"sequential-past-cache\"\n\
         reviews = [{three}]\n{more}"
    )
}

#[test]
fn ours_beyond_a_factor_of_the_range_fails_on_either_side() {
    let reviewed = reviews(&text("")).unwrap().remove(0);
    for (ours, holds) in
        [(270.0, true), (500.0, true), (890.0, true), (260.0, false), (910.0, false)]
    {
        let figure = reviewed.figure(ours).unwrap();
        assert_eq!((figure.holds(), figure.parts[0].holds), (holds, holds), "{ours}");
    }
}

#[test]
fn a_part_of_a_pass_has_the_mean_of_its_points() {
    let y = (0_u32..200).map(|point| Some(if point < 20 { 5000.0 } else { 500.0 })).collect();
    let means = Series::new("B", "MB/s", (0..200).map(f64::from).collect(), y);
    let curves = PassStep { throughput_mb_per_s_min: None, means, slowest: None };
    let pass = Step::of("fresh", "pass", &curves);
    let of = |share| part(&pass, share).unwrap().to_bits();
    assert_eq!([CACHED, PAST_CACHE].map(of), [5000.0_f64, 500.0].map(f64::to_bits));
}

#[test]
fn fewer_than_three_reviews_need_a_reason() {
    let quantity =
        |fields: &str| text(&format!("[[quantity]]\nclass = \"c\"\nid = \"read-p50\"\n{fields}"));
    assert!(reviews(&quantity("missing = \"none draws it\"")).is_ok());
    let error = reviews(&quantity("")).unwrap_err().to_string();
    assert!(error.contains("fewer than three reviews, and no reason"), "{error}");
    let turned = "reviews = [{ drive = \"D\", low = 2, high = 1, condition = \"w\", \
                  source = \"s\" }]\nmissing = \"m\"";
    let error = reviews(&quantity(turned)).unwrap_err().to_string();
    assert!(error.contains("no range"), "{error}");
    let unknown = quantity("missing = \"m\"").replace("read-p50", "speed");
    assert!(reviews(&unknown).unwrap_err().to_string().contains("`speed` is no quantity"));
}

#[test]
fn the_reviews_are_of_built_in_classes_and_each_has_an_address() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
    let text = fs::read_to_string(format!("{path}{REVIEWS}")).unwrap();
    let all = reviews(&text).unwrap();
    for reviewed in &all {
        let (class, id) = (&reviewed.class, &reviewed.id);
        assert!(BUILT_IN.iter().any(|profile| profile.name == class), "{class}");
        let same = all.iter().filter(|it| (&it.class, &it.id) == (class, id)).count();
        assert_eq!(same, 1, "{class}, {id}");
        assert!(reviewed.reviews.iter().all(|it| it.source.starts_with("http")), "{class}, {id}");
    }
    for quantity in &QUANTITIES {
        assert!(all.iter().any(|it| it.id == quantity.id), "{}", quantity.id);
    }
}
