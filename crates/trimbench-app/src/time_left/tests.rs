use trimbench_core::{Instant, Nanos};

use super::*;

fn emulated(method: &'static str, prior: f64) -> SessionCost {
    SessionCost { method, emulated: true, prior }
}

fn real(prior: f64) -> SessionCost {
    SessionCost { method: "delete-stall", emulated: false, prior }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

/// So many of ten steps done, and seconds of the target's clock.
fn stage(done: usize, now: f64, left: f64) -> Stage<'static> {
    let now = Instant::from_start(Nanos::from_seconds(now));
    Stage { done, total: 10, text: "", now, left: Nanos::from_seconds(left) }
}

#[test]
fn sessions_side_by_side_take_the_longest_first_and_real_ones_wait() {
    let costs = || vec![emulated("a", 3.0), emulated("b", 2.0), emulated("c", 2.0), real(10.0)];
    near(TimeLeft::new(costs(), 1, false).left(0.0), 17.0);
    near(TimeLeft::new(costs(), 2, false).left(0.0), 14.0);
    near(TimeLeft::new(costs(), 8, false).left(0.0), 13.0);
}

#[test]
fn what_ended_sessions_took_corrects_the_others_first_those_of_the_same_method() {
    let costs =
        vec![emulated("a", 4.0), emulated("a", 4.0), emulated("b", 4.0), emulated("a", 0.0)];
    let mut estimate = TimeLeft::new(costs, 1, false);
    estimate.begin(0, 0.0);
    estimate.end(0, false, 8.0);
    let all = (TRUST + 8.0) / (TRUST + 4.0);
    let same = (TRUST * all + 8.0) / (TRUST + 4.0);
    near(estimate.left(8.0), 4.0 * same + 4.0 * (TRUST * all + 0.0) / TRUST);
    // A session that does not fit takes no time and says nothing of the others.
    let before = estimate.left(8.0);
    estimate.begin(3, 8.0);
    estimate.end(3, true, 8.0);
    near(estimate.left(8.0), before);
}

#[test]
fn a_real_session_counts_down_what_its_method_says() {
    let mut estimate = TimeLeft::new(vec![real(100.0), real(50.0)], 4, false);
    near(estimate.left(0.0), 150.0);
    estimate.begin(0, 0.0);
    near(estimate.left(10.0), 140.0);
    estimate.stage(0, &stage(5, 60.0, 40.0), 60.0);
    near(estimate.left(60.0), 90.0);
    near(estimate.left(65.0), 85.0);
    // The step takes 32 s longer than the 8 s that were planned for it, which is the mean of seven.
    near(estimate.left(100.0), 4.0 * (8.0 + 32.0 / 7.0) + 50.0);
    estimate.stage(0, &stage(6, 101.0, 60.0), 101.0);
    near(estimate.left(101.0), 110.0);
}

#[test]
fn an_emulated_session_is_judged_by_its_own_pace_the_more_the_longer_it_runs() {
    let mut estimate = TimeLeft::new(vec![emulated("a", 10.0)], 1, false);
    estimate.begin(0, 0.0);
    near(estimate.left(1.0), 9.0);
    near(estimate.left(20.0), 10.0 * OVERDUE);
    for (done, took) in [(1, 4.0), (9, 36.0)] {
        let share = f64::from(done) / 10.0;
        let now = share * 100.0;
        estimate.stage(0, &stage(usize::try_from(done).unwrap(), now, 100.0 - now), took);
        let all = (TRUST + took) / (TRUST + 10.0 * share);
        let pace = (TRUST * all + took) / (TRUST + 10.0 * share);
        let planned = 10.0 * pace * (1.0 - share);
        let own = took / share * (1.0 - share);
        near(estimate.left(took), planned * (1.0 - share) + own * share);
    }
    // A session four times as slow as planned: the estimate is near that by now.
    assert!((3.9..4.1).contains(&estimate.left(36.0)), "{}", estimate.left(36.0));
}

#[test]
fn the_page_is_part_of_the_run() {
    let mut estimate = TimeLeft::new(vec![emulated("a", 1.0), emulated("b", 0.0)], 1, true);
    near(estimate.left(0.0), 1.0 + PAGE_BASE + PAGE);
    estimate.begin(0, 0.0);
    estimate.end(0, false, 1.0);
    let page = PAGE_BASE + PAGE;
    near(estimate.left(1.0), page);
    estimate.close(1.0);
    near(estimate.left(1.0 + page / 2.0), page / 2.0);
    near(estimate.left(9.0), page * OVERDUE);
}
