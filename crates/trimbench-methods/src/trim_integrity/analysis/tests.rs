use super::*;

fn step(id: &str, promise: TrimPromise, metrics: &[(&str, f64)]) -> Step {
    let mut step = Step::new(id, "trim");
    step.set("promise_code", code(promise));
    for (key, value) in metrics {
        step.measure(key, *value);
    }
    step
}

fn verdict(figures: &[Figure], id: &str) -> String {
    let figure = figures.iter().find(|figure| figure.id == id).unwrap();
    figure.words().unwrap()
}

#[test]
fn codes_stand_for_their_promises() {
    for (number, promise) in CODES.iter().enumerate() {
        assert!((code(*promise) - number as f64).abs() < f64::EPSILON);
        let metrics = [("trimmed_blocks", 1.0)];
        assert_eq!(Totals::of(&[step("a", *promise, &metrics)]).promise, *promise);
    }
}

#[test]
fn figures_are_sums_over_all_cases() {
    let metrics = [
        ("neighbour_blocks", 100.0),
        ("trimmed_blocks", 12.0),
        ("whole_blocks", 10.0),
        ("whole_blocks_zeroes", 6.0),
        ("whole_blocks_old_data", 3.0),
        ("whole_blocks_stale_data", 1.0),
        ("edge_blocks", 2.0),
        ("edge_blocks_old_data", 1.0),
    ];
    let steps = [
        step("a", TrimPromise::Nothing, &metrics),
        step("b", TrimPromise::Nothing, &metrics),
        step("c", TrimPromise::Nothing, &[("neighbour_blocks", 50.0)]),
    ];
    let figures = analyse(&steps);
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    let defined = super::super::metrics::metrics();
    assert!(ids.iter().eq(defined.iter().map(|metric| &metric.id)), "all, in their order");
    let get = |id: &str| figures.iter().find(|figure| figure.id == id).unwrap();
    let headline = get("neighbour-blocks-lost");
    assert!(headline.headline && headline.n == 250);
    assert!((get("trimmed-zeroes-share").value - 60.0).abs() < 1e-9);
    assert!((get("trimmed-old-data-share").value - 40.0).abs() < 1e-9, "stale data is old");
    assert!((get("edge-old-data-blocks").value - 2.0).abs() < 1e-9);
    assert_eq!(
        verdict(&figures, "promise-violations"),
        "no promise; reads zeroes (60 %), old data (40 %)"
    );
}

#[test]
fn shares_of_nothing_are_absent() {
    let figures = analyse(&[step("share-0%", TrimPromise::Zeroes, &[("neighbour_blocks", 9.0)])]);
    assert!(!figures.iter().any(|figure| figure.id.ends_with("-share")));
    assert_eq!(verdict(&figures, "promise-violations"), "nothing was trimmed");
    assert_eq!(verdict(&figures, "neighbour-blocks-lost"), "intact");
    assert_eq!(verdict(&analyse(&[]), "neighbour-blocks-lost"), "nothing was checked");
}

#[test]
fn a_loss_names_its_first_place_and_how_often_it_came() {
    let lost = |id, count, lba| {
        let metrics = [
            ("neighbour_blocks", 100.0),
            ("neighbour_blocks_lost", count),
            ("lost_lba_first", lba),
        ];
        step(id, TrimPromise::Zeroes, &metrics)
    };
    let whole = step("whole", TrimPromise::Zeroes, &[("neighbour_blocks", 100.0)]);
    let mut steps = vec![whole, lost("a", 3.0, 17.0)];
    let text = "data lost that was not trimmed: first in `a` at LBA 17";
    assert_eq!(verdict(&analyse(&steps), "neighbour-blocks-lost"), text);
    steps.push(lost("b", 1.0, 5.0));
    let text = format!("{text} and in 1 other case");
    assert_eq!(verdict(&analyse(&steps), "neighbour-blocks-lost"), text);
    assert!((analyse(&steps)[0].value - 4.0).abs() < 1e-9);
}
