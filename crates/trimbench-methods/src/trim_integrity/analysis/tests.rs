use trimbench_results::HarmStep;

use super::super::steps::TrimEdgesStep;
use super::*;

fn step(id: &str, promise: TrimPromise, blocks: TrimBlocksStep) -> Step {
    let case = TrimIntegrityStep { promise_code: code(promise), blocks, ..Default::default() };
    Step::of(id, "trim", &case)
}

/// So many untrimmed blocks, and nothing else.
fn neighbours(count: u64) -> TrimBlocksStep {
    TrimBlocksStep { neighbour_blocks: count, harm: neighbours_lost(0), ..Default::default() }
}

/// So many untrimmed blocks are lost, and there is no other harm.
fn neighbours_lost(count: u64) -> HarmStep {
    HarmStep {
        neighbour_blocks_lost: Some(count),
        rewritten_blocks_lost: Some(0),
        trimmed_blocks_foreign: Some(0),
        trimmed_blocks_against_promise: Some(0),
        unwritten_blocks: Some(0),
    }
}

fn verdict(figures: &[Figure], id: &str) -> String {
    let figure = figures.iter().find(|figure| figure.id == id).unwrap();
    figure.words().unwrap()
}

#[test]
fn codes_stand_for_their_promises() {
    for (number, promise) in CODES.iter().enumerate() {
        assert_eq!(code(*promise), number as u64);
        let step = step("a", *promise, neighbours(1));
        assert_eq!(Totals::of(&[StepOf::read(&step).unwrap()]).promise, *promise);
    }
}

#[test]
fn figures_are_sums_over_all_cases() {
    let blocks = TrimBlocksStep {
        trimmed_blocks: 12,
        whole_blocks: 10,
        whole_blocks_zeroes: 6,
        whole_blocks_old_data: 3,
        whole_blocks_stale_data: 1,
        edges: Some(TrimEdgesStep { edge_blocks: 2, edge_blocks_old_data: 1 }),
        ..neighbours(100)
    };
    let steps = [
        step("a", TrimPromise::Nothing, blocks),
        step("b", TrimPromise::Nothing, blocks),
        step("c", TrimPromise::Nothing, neighbours(50)),
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
    let figures = analyse(&[step("share-0%", TrimPromise::Zeroes, neighbours(9))]);
    assert!(!figures.iter().any(|figure| figure.id.ends_with("-share")));
    assert_eq!(verdict(&figures, "promise-violations"), "nothing was trimmed");
    assert_eq!(verdict(&figures, "neighbour-blocks-lost"), "intact");
    assert_eq!(verdict(&analyse(&[]), "neighbour-blocks-lost"), "nothing was checked");
}

#[test]
fn a_loss_names_its_first_place_and_how_often_it_came() {
    let lost = |id, count, lba| {
        let (harm, lost_lba_first) = (neighbours_lost(count), Some(lba));
        let blocks = TrimBlocksStep { harm, lost_lba_first, ..neighbours(100) };
        step(id, TrimPromise::Zeroes, blocks)
    };
    let whole = step("whole", TrimPromise::Zeroes, neighbours(100));
    let mut steps = vec![whole, lost("a", 3, 17)];
    let text = "data lost that was not trimmed: first in `a` at LBA 17";
    assert_eq!(verdict(&analyse(&steps), "neighbour-blocks-lost"), text);
    steps.push(lost("b", 1, 5));
    let text = format!("{text} and in 1 other case");
    assert_eq!(verdict(&analyse(&steps), "neighbour-blocks-lost"), text);
    assert!((analyse(&steps)[0].value - 4.0).abs() < 1e-9);
}

#[test]
fn a_loss_of_which_the_record_does_not_say_where_is_counted_and_not_judged() {
    let blocks = TrimBlocksStep { harm: neighbours_lost(2), ..neighbours(100) };
    let lost = &analyse(&[step("a", TrimPromise::Zeroes, blocks)])[0];
    assert!((lost.value - 2.0).abs() < 1e-9);
    assert_eq!(lost.verdict, None);
}

#[test]
fn a_step_that_lacks_the_count_of_a_harm_does_not_say_that_nothing_was_lost() {
    let blocks = TrimBlocksStep { harm: HarmStep::default(), ..neighbours(100) };
    let figures = analyse(&[step("a", TrimPromise::Zeroes, blocks)]);
    assert_eq!(verdict(&figures, "neighbour-blocks-lost"), "nothing was checked");
}
