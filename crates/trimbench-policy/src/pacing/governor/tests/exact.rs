//! Single looks and steps, by hand: what the law keeps, and what it answers.

use super::super::*;

const MIB: u64 = 1 << 20;
const MILLI: u64 = 1_000_000;
/// 0.85 % of the time.
const SHARE: i128 = 8_500;

fn at(milliseconds: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(milliseconds))
}

fn amount(discards: u64, mebibytes: u64) -> Amount {
    Amount { discards, bytes: Bytes::mib(mebibytes) }
}

/// Keeps 5 ms for 99 %; the device takes discards of 2 GiB.
fn governor(deadline: Option<Instant>) -> Governor {
    let target = PaceTarget::Latency { target: Nanos::from_millis(5), tolerance: Ppm(10_000) };
    Governor::new(GovernorOptions { target, deadline, device_piece: Bytes::gib(2) })
}

fn sharing(share: u32) -> Governor {
    let target = PaceTarget::Share(Ppm(share));
    Governor::new(GovernorOptions { target, deadline: None, device_piece: Bytes::gib(2) })
}

/// One extent of 1 MiB of ten is next.
fn work() -> Work {
    Work { upcoming: amount(1, 1), remaining: amount(10, 10) }
}

fn request(law: &mut Governor, submitted: u64, completed: u64, stands_for: u64) {
    law.request(SeenRequest {
        submitted: at(submitted),
        completed: at(completed),
        stands_for: Nanos::from_millis(stands_for),
    });
}

/// From 100 ms to 110 ms an extent of 1 MiB was discarded; one request of 6 ms saw it, the sample
/// of 2 ms.
fn after_a_step(deadline: Option<Instant>) -> Governor {
    let mut law = governor(deadline);
    law.next(at(0), work());
    law.foreground(at(50), 1);
    assert_eq!(law.next(at(60), work()), PaceStep::Until(at(100)));
    assert!(matches!(law.next(at(100), work()), PaceStep::Step(_)));
    law.began(at(100));
    request(&mut law, 102, 108, 2);
    law.ended(at(110), amount(1, 1));
    law
}

fn step(late: u64, requests: u64, longest: u64) -> Step {
    let (late, longest) = (Nanos::from_millis(late), Nanos::from_millis(longest));
    Step { began: at(0), late, requests, longest, idle: false, disturbed: false }
}

/// Concludes a step of 10 ms.
fn concluded(law: &mut Governor, step: Step, done: Amount) {
    law.conclude(step, Nanos::from_millis(10), done);
}

#[test]
fn the_account_of_a_step_adds_up() {
    let mut law = after_a_step(None);
    let ms = Nanos::from_millis;
    let account = GovernorAccount {
        steps: 1,
        floor_steps: 0,
        busy: ms(110),
        late: ms(2),
        idle: ms(0),
        discarding: ms(10),
        requests: 1,
    };
    assert_eq!(law.account(), account);
    // Earned with time, spent by the late request.
    assert_eq!(law.credit, i128::from(110 * MILLI) * SHARE - credit(ms(2)));
    assert_eq!(law.late_of_work, Ppm(200_000));
    // 200 ms after the step the foreground counts as idle.
    law.foreground(at(310), 0);
    law.keep(at(310));
    law.keep(at(350));
    assert_eq!((law.account().busy, law.account().idle), (ms(110), ms(240)));
    law.foreground(at(360), 1);
    law.keep(at(370));
    assert_eq!((law.account().busy, law.account().idle), (ms(120), ms(250)));
}

#[test]
fn credit_is_kept_and_owed_up_to_a_limit() {
    let mut law = governor(None);
    law.keep(at(0));
    (1..=200).for_each(|round| law.foreground(at(150 * round), 1));
    // What 20 s earn.
    assert_eq!(law.credit, credit(Nanos::from_millis(170)));
    law.spends = Nanos::from_secs(1);
    law.foreground(at(30_150), 1);
    assert!(law.credit > credit(Nanos::from_millis(170)), "twice what the next step spends");
    law.spend(Nanos::from_secs(10_000));
    law.foreground(at(30_160), 1);
    assert_eq!(law.credit, -credit(Nanos::from_secs(600)));
}

#[test]
fn a_step_waits_until_its_late_time_is_earned() {
    let mut law = after_a_step(None);
    law.foreground(at(300), 1);
    // It spends 2 ms as the one before: 10 ms by the line, of which a fifth is late.
    let missing = 2 * credit(Nanos::from_millis(2)) - i128::from(300 * MILLI) * SHARE;
    let wait = Nanos(u64::try_from(missing / SHARE).unwrap() + 1);
    assert_eq!(law.next(at(300), work()), PaceStep::Until(later(at(300), wait)));
    assert_eq!(law.spends, Nanos::from_millis(2));
    // Not longer than until the foreground counts as idle.
    assert!(wait > Nanos::from_millis(150));
    law.last_request_at = at(200);
    assert_eq!(law.next(at(300), work()), PaceStep::Until(at(400)));
}

#[test]
fn the_floor_begins_a_step_whatever_is_owed_and_counts_it() {
    let mut law = after_a_step(None);
    request(&mut law, 111, 119, 100_000);
    law.foreground(at(10_000), 1);
    // The step of 10 ms that began at 100 ms is a thousandth of 10 s.
    assert_eq!(law.next(at(10_000), work()), PaceStep::Until(at(10_100)));
    law.foreground(at(10_099), 1);
    assert!(matches!(law.next(at(10_100), work()), PaceStep::Step(_)));
    law.began(at(10_100));
    assert_eq!((law.account().steps, law.account().floor_steps), (2, 1));
    law.ended(at(10_101), amount(1, 1));
    law.credit = credit(Nanos::from_secs(9));
    law.foreground(at(30_000), 1);
    assert!(matches!(law.next(at(30_000), work()), PaceStep::Step(_)));
    law.began(at(30_000));
    assert_eq!(law.account().floor_steps, 1, "this one was paid for");
}

#[test]
fn a_forecast_says_what_the_rest_takes_and_how_much_of_it_is_late() {
    let law = after_a_step(None);
    // 11 commands of 5 ms and 10 MiB of 5 ms: a piece of 8 MiB divides them.
    let said = law.forecast(at(110), amount(10, 10)).unwrap();
    assert_eq!([said.cost.command, said.cost.mib], [Nanos::from_millis(5); 2]);
    // A fifth of 105 ms is late, which is 0.85 % of the time.
    assert_eq!(said.time, Nanos(21 * MILLI * 10_000 / 85));
    assert_eq!(said.late, Ppm(8_500));
    assert_eq!((said.error, said.overtakes), (Ppm(0), None));
    let idle = law.forecast(at(310), amount(10, 10)).unwrap();
    assert_eq!((idle.time, idle.late), (Nanos::from_millis(105), Ppm(0)));
    assert_eq!(governor(None).forecast(at(0), amount(10, 10)), None);
}

#[test]
fn a_forecast_with_a_deadline_is_until_then_if_that_can_be() {
    let said = |deadline| {
        let said = after_a_step(Some(at(deadline))).forecast(at(110), amount(10, 10)).unwrap();
        (said.time, said.late)
    };
    assert_eq!(said(1_110), (Nanos::from_secs(1), Ppm(21_000)));
    assert_eq!(said(160), (Nanos::from_millis(105), Ppm(200_000)));
    let paced = (Nanos(21 * MILLI * 10_000 / 85), Ppm(8_500));
    assert_eq!(said(60_000), paced);
    assert_eq!(said(110), paced, "it is over");
}

#[test]
fn late_time_outside_of_steps_is_that_of_the_foreground() {
    let mut law = after_a_step(None);
    request(&mut law, 111, 119, 11);
    // 11 of 110 ms, beside the 2 ms of the step.
    assert_eq!(law.own_late_share(), Ppm(100_000));
    // It leaves no room: the slowest pace.
    let said = law.forecast(at(110), amount(10, 10)).unwrap();
    assert_eq!(said.time, Nanos::from_secs(105));
    assert_eq!(said.late, Ppm(100_200));
}

#[test]
fn a_deadline_raises_the_share_to_what_the_rest_needs() {
    let rate = |deadline: u64| {
        let mut law = after_a_step(Some(at(deadline)));
        law.set_rate(at(110), amount(10, 10));
        law.rate
    };
    // A fifth of 105 ms within 1 s, and within 100 s.
    assert_eq!(rate(1_110), Ppm(21_000));
    assert_eq!(rate(100_110), Ppm(8_500));
    let mut law = sharing(10_000);
    law.line.learn(amount(1, 1), Nanos::from_millis(10));
    law.options.deadline = Some(at(1_000));
    law.set_rate(at(0), amount(1, 1));
    assert_eq!(law.rate, Ppm(10_000));
    law.set_rate(at(0), amount(10, 10));
    assert_eq!(law.rate, Ppm(100_000));
}

#[test]
fn the_rest_begins_when_it_earns_what_it_spends() {
    let mut law = after_a_step(None);
    // The rest of 105 ms spends 21 ms and earns 0.8925 ms.
    let least = credit(Nanos::from_millis(21)) - i128::from(105 * MILLI) * SHARE;
    law.credit = least;
    assert!(!law.rest_pays_for_itself(amount(10, 10)));
    law.credit = least + 1;
    assert!(law.rest_pays_for_itself(amount(10, 10)));
    law.account.requests = 0;
    assert!(!law.rest_pays_for_itself(amount(10, 10)), "nobody says what is late");
    assert!(!sharing(10_000).rest_pays_for_itself(amount(10, 10)));
}

#[test]
fn a_step_without_requests_spends_what_its_length_exceeds_the_target_by() {
    let late = |law: &mut Governor, requests: u64, took: u64| {
        law.foreground(at(1_000), 1);
        let before = law.account().late;
        law.began(at(1_000));
        (0..requests).for_each(|_| request(law, 1_000, 1_001, 1));
        law.ended(at(1_000 + took), amount(1, 1));
        law.account().late - before
    };
    assert_eq!(late(&mut governor(None), 0, 8), Nanos::from_millis(8), "nobody was ever seen");
    assert_eq!(late(&mut after_a_step(None), 0, 8), Nanos::from_millis(3));
    assert_eq!(late(&mut after_a_step(None), 0, 4), Nanos(0));
    assert_eq!(late(&mut after_a_step(None), 1, 8), Nanos(0));
    assert_eq!(late(&mut sharing(10_000), 1, 8), Nanos::from_millis(8));
}

#[test]
fn a_step_that_discarded_nothing_or_was_idle_spends_nothing() {
    let mut law = after_a_step(None);
    law.foreground(at(300), 1);
    law.began(at(300));
    law.ended(at(320), amount(0, 0));
    law.began(at(900));
    request(&mut law, 901, 908, 5);
    law.ended(at(920), amount(1, 1));
    assert_eq!(law.account().late, Nanos::from_millis(2));
    assert_eq!(law.account().requests, 2);
    // An idle step is no sign of a foreground.
    assert_eq!(law.last_request_at, at(320));
}

#[test]
fn a_request_as_long_as_the_target_is_in_time() {
    let mut law = after_a_step(None);
    request(&mut law, 120, 125, 3);
    assert_eq!(law.account().late, Nanos::from_millis(2));
    request(&mut law, 125, 125, 3);
    assert_eq!(law.account().requests, 2, "a latency of nothing is none");
    law.request(SeenRequest {
        submitted: at(130),
        completed: later(at(135), Nanos(1)),
        stands_for: Nanos::from_millis(3),
    });
    assert_eq!(law.account().late, Nanos::from_millis(5));
}

#[test]
fn the_usual_latency_is_a_moving_mean_of_requests_outside_of_steps() {
    let mut law = after_a_step(None);
    assert_eq!(law.usual, Nanos(0));
    request(&mut law, 120, 124, 1);
    assert_eq!(law.usual, Nanos::from_millis(4));
    request(&mut law, 130, 132, 1);
    assert_eq!(law.usual, Nanos(4_000_000 - 250_000 + 125_000));
}

#[test]
fn a_wait_counts_from_the_start_of_the_step() {
    let mut law = governor(None);
    law.foreground(at(90), 1);
    law.began(at(100));
    request(&mut law, 95, 104, 1);
    assert_eq!(law.step.unwrap().longest, Nanos::from_millis(4));
    request(&mut law, 101, 103, 1);
    let step = law.step.unwrap();
    assert_eq!((step.longest, step.requests), (Nanos::from_millis(4), 2));
    assert_eq!(step.late, Nanos::from_millis(1));
}

#[test]
fn a_request_within_an_idle_step_doubles_the_time_to_idle_once() {
    let mut law = governor(None);
    law.next(at(0), work());
    law.began(at(1_000));
    law.foreground(at(1_001), 0);
    assert_eq!(law.idle_after, IDLE_AFTER);
    law.foreground(at(1_002), 3);
    law.foreground(at(1_003), 3);
    assert_eq!(law.idle_after, Nanos(2 * IDLE_AFTER.0));
    assert_eq!(law.last_request_at, at(1_003));
    law.ended(at(1_010), amount(1, 1));
    // A minute of steps without one halves it, not below the start.
    let idle_after = [(1, 59), (2, 1), (3, 60)].map(|(number, seconds)| {
        let began = at(1_000_000 * number);
        law.began(began);
        law.ended(later(began, Nanos::from_secs(seconds)), amount(1, 1));
        law.idle_after
    });
    assert_eq!(idle_after, [Nanos(2 * IDLE_AFTER.0), IDLE_AFTER, IDLE_AFTER]);
}

#[test]
fn idle_begins_when_its_time_has_passed() {
    let mut law = governor(None);
    law.next(at(0), work());
    law.foreground(at(100), 1);
    assert!(!law.is_idle(at(299)) && law.is_idle(at(300)));
}

#[test]
fn only_a_step_of_four_long_pieces_seen_by_three_shows_whether_requests_overtake() {
    let fresh = || {
        let mut law = governor(None);
        law.line.learn(amount(1, 8), Nanos::from_millis(2));
        law
    };
    let waits = |step: Step, done: Amount| {
        let mut law = fresh();
        concluded(&mut law, step, done);
        law.waits
    };
    assert_eq!(waits(step(0, 3, 2), amount(4, 16)), Some(Ppm(200_000)));
    assert_eq!(waits(step(0, 2, 2), amount(4, 16)), None);
    assert_eq!(waits(step(0, 3, 2), amount(3, 16)), None);
    assert_eq!(waits(step(0, 3, 2), amount(4, 15)), None);
    assert_eq!(waits(Step { idle: true, ..step(0, 3, 2) }, amount(4, 16)), None);
    let mut unknown = governor(None);
    concluded(&mut unknown, step(0, 3, 2), amount(4, 16));
    assert_eq!(unknown.waits, None);
    // A moving mean, by a quarter.
    let mut law = fresh();
    let found = [2, 10, 10].map(|longest| {
        concluded(&mut law, step(0, 3, longest), amount(4, 32));
        (law.waits.unwrap().0, law.overtakes().unwrap())
    });
    assert_eq!(found, [(200_000, true), (400_000, true), (550_000, false)]);
    law.waits = Some(Ppm(500_000));
    assert_eq!(law.overtakes(), Some(false));
}

#[test]
fn the_late_part_of_a_step_is_a_mean_of_eight() {
    let late_of_work = |steps: u64, late: u64| {
        let mut law = governor(None);
        (law.account.steps, law.late_of_work) = (steps, Ppm(100_000));
        concluded(&mut law, step(late, 1, 1), amount(1, 1));
        law.late_of_work
    };
    assert_eq!(late_of_work(1, 4), Ppm(400_000));
    assert_eq!(late_of_work(4, 4), Ppm(175_000));
    assert_eq!(late_of_work(8, 4), Ppm(137_500));
    assert_eq!(late_of_work(99, 4), Ppm(137_500));
    // A step makes no more late than four times its length.
    assert_eq!(late_of_work(1, 99), Ppm(4_000_000));
}

#[test]
fn the_budget_doubles_while_nobody_is_late_and_is_halved_by_who_is() {
    let mut law = governor(None);
    let mut budgets = [0, 0, 0, 0, 0, 0, 1, 1].map(|late| {
        concluded(&mut law, step(late, 1, 1), amount(1, 1));
        assert_eq!(law.was_late, late > 0);
        law.budget.0 / MILLI
    });
    assert_eq!(budgets, [8, 16, 32, 64, 100, 100, 50, 25]);
    budgets = budgets.map(|_| {
        concluded(&mut law, step(1, 1, 1), amount(1, 1));
        law.budget.0 / MILLI
    });
    assert_eq!(budgets, [12, 6, 4, 4, 4, 4, 4, 4]);
}

#[test]
fn pieces_grow_while_few_are_late_and_shrink_while_more_are_than_may_be() {
    let scale = |late_of_work: u32, late: u64, piece: Option<Bytes>| {
        let mut law = governor(None);
        (law.late_of_work, law.account.steps, law.piece) = (Ppm(late_of_work), 8, piece);
        concluded(&mut law, step(late, 1, 1), amount(1, 1));
        law.piece_scale
    };
    let piece = Some(Bytes::mib(8));
    assert_eq!(scale(0, 0, piece), Ppm(825_000));
    // 7/8 of the mean before: at half of 8,500 nothing grows.
    assert_eq!(scale(4_857, 0, piece), Ppm(825_000));
    assert_eq!(scale(4_858, 0, piece), WITHIN);
    assert_eq!(scale(0, 1, piece), Ppm(700_000));
    assert_eq!(scale(0, 1, None), WITHIN);
    let bound = |from: u32, late: u64| {
        let mut law = governor(None);
        law.piece_scale = Ppm(from);
        concluded(&mut law, step(late, 1, 1), amount(1, 1));
        law.piece_scale
    };
    assert_eq!(bound(990_000, 0), Ppm::ONE);
    assert_eq!(bound(65_000, 1), SCALE_MIN);
}

/// Knows 0.2 ms a command and 0.25 ms a MiB, and a usual latency of 1 ms.
fn knowing() -> Governor {
    let mut law = governor(None);
    law.usual = Nanos::from_millis(1);
    law.line.learn(amount(1, 4), Nanos::from_micros(1_200));
    law.line.learn(amount(1, 64), Nanos::from_micros(16_200));
    law
}

#[test]
fn a_piece_is_the_longest_that_fits_the_target_beside_the_usual_latency() {
    // (5 - 1 - 0.2) / 0.25 = 15.2 MiB; four fifths of it, in 256 KiB.
    let chosen = |before: Option<Bytes>, change: &dyn Fn(&mut Governor)| {
        let mut law = knowing();
        law.piece = before;
        change(&mut law);
        law.choose_piece();
        law.piece
    };
    let mib = |mebibytes| Some(Bytes::mib(mebibytes));
    assert_eq!(chosen(None, &|_| {}), mib(12));
    // What is less than an eighth off stays.
    assert_eq!(chosen(mib(11), &|_| {}), mib(11));
    assert_eq!(chosen(mib(10), &|_| {}), mib(12));
    assert_eq!(chosen(mib(14), &|_| {}), mib(12));
    assert_eq!(chosen(mib(13), &|_| {}), mib(13));
    // The device takes no longer ones.
    assert_eq!(chosen(None, &|law| law.options.device_piece = Bytes::mib(12)), None);
    assert_eq!(chosen(None, &|law| law.options.device_piece = Bytes(12 * MIB + 1)), mib(12));
    // One step says little.
    assert_eq!(chosen(mib(8), &|law| law.line = CostLine::default()), mib(8));
    let once = |law: &mut Governor| {
        law.line = CostLine::default();
        law.line.learn(amount(1, 64), Nanos::from_micros(16_200));
    };
    assert_eq!(chosen(mib(8), &once), mib(8));
    let short = |law: &mut Governor| law.piece_scale = Ppm(1);
    // Of 0.4 MiB the command is two thirds.
    assert_eq!(chosen(None, &short), Some(Bytes::kib(256)));
}

#[test]
fn where_nobody_overtakes_short_pieces_are_tried_after_twice_as_many_steps_each_time() {
    let mut law = knowing();
    law.waits = Some(Ppm::ONE);
    let mut tried = Vec::new();
    for steps in 0..64 {
        law.account.steps = steps;
        law.choose_piece();
        if law.piece.is_some() {
            tried.push((steps, law.piece));
        }
    }
    // The shortest command that was seen.
    let four = Some(Bytes::mib(4));
    assert_eq!(tried, [(4, four), (8, four), (16, four), (32, four)]);
    // As long as the device's own: nothing to try.
    law.account.steps = 1_000;
    law.options.device_piece = Bytes::mib(4);
    assert_eq!(law.piece_to_try(), None);
}

#[test]
fn what_is_no_longer_than_a_first_piece_is_not_cut_to_try_it() {
    let tried = |longest: u64| {
        let mut law = governor(None);
        law.line.learn(amount(1, 1), Nanos::from_millis(1));
        law.line.learn(amount(1, longest), Nanos::from_millis(2));
        (law.waits, law.account.steps) = (Some(Ppm::ONE), 100);
        law.piece_to_try()
    };
    assert_eq!(tried(8), None);
    assert_eq!(tried(9), Some(Bytes::mib(1)));
}

#[test]
fn commands_of_one_length_are_tried_twice_as_long() {
    let tried = |waits: u32| {
        let mut law = governor(None);
        law.line.learn(amount(1, 16), Nanos::from_millis(1));
        (law.waits, law.account.steps) = (Some(Ppm(waits)), 100);
        law.piece_to_try()
    };
    assert_eq!(tried(100_000), Some(Bytes::mib(32)));
    assert_eq!(tried(900_000), Some(Bytes::mib(16)));
}

#[test]
fn extents_count_as_commands_and_one_more_for_each_piece_in_them() {
    let mut law = governor(None);
    assert_eq!(law.in_pieces(amount(3, 20)), amount(5, 20));
    law.piece = None;
    assert_eq!(law.in_pieces(amount(3, 20)), amount(3, 20));
    assert_eq!(law.in_pieces(amount(3, 4096)), amount(5, 4096));
    assert_eq!(knowing().expected(amount(2, 8)), Nanos(3 * 200_000 + 8 * 250_000));
    assert_eq!(governor(None).expected(amount(2, 8)), Nanos(0));
}

#[test]
fn a_step_is_cut_within_the_target_or_within_the_budget_where_pieces_are_overtaken() {
    let longest = |law: &Governor, idle: bool| {
        let StepExtent::Cost { budget, longest, .. } = law.limit(idle).extent else {
            panic!("by cost");
        };
        (budget.0 / MILLI, longest.map(|it| it.0 / MIB))
    };
    let mut law = knowing();
    (law.budget, law.piece) = (Nanos::from_millis(40), None);
    // (4 - 0.2) / 0.25, (40 - 0.2) / 0.25, and (100 - 0.2) / 0.25 MiB.
    assert_eq!(longest(&law, false), (40, Some(15)));
    law.waits = Some(Ppm(0));
    assert_eq!(longest(&law, false), (40, Some(159)));
    law.waits = Some(Ppm::ONE);
    assert_eq!(longest(&law, false), (40, Some(15)));
    assert_eq!(longest(&law, true), (100, Some(399)));
    law.piece = Some(Bytes::mib(8));
    assert_eq!(longest(&law, true), (100, Some(8)));
    // Of one length, four times of it while nobody is late.
    let mut law = governor(None);
    law.piece = None;
    law.line.learn(amount(1, 16), Nanos::from_millis(1));
    law.line.learn(amount(1, 16), Nanos::from_millis(1));
    assert_eq!(longest(&law, false).1, Some(112));
    law.line.learn(amount(1, 16), Nanos::from_millis(100));
    assert_eq!(longest(&law, false).1, Some(64));
    law.was_late = true;
    assert_eq!(longest(&law, false).1, None);
}

#[test]
fn the_first_step_is_one_extent_or_a_part_of_8_mib() {
    let limit = governor(None).limit(false);
    let StepExtent::Cost { budget, longest, .. } = limit.extent else { panic!("by cost") };
    assert_eq!((budget, longest, limit.piece), (Nanos(0), Some(FIRST_PIECE), Some(FIRST_PIECE)));
    let small = GovernorOptions { device_piece: FIRST_PIECE, ..governor(None).options };
    assert_eq!(Governor::new(small).piece(), None);
    assert_eq!(sharing(10_000).piece(), None);
}

#[test]
fn a_share_of_the_time_is_spent_by_all_of_a_step() {
    let mut law = sharing(10_000);
    assert_eq!(law.expected_to_spend(work()), Nanos(0), "nobody knows");
    law.line.learn(amount(1, 1), Nanos::from_millis(10));
    // All of the rest is shorter than the budget of 100 ms, of 20 extents it is not.
    assert_eq!(law.expected_to_spend(Work { remaining: amount(5, 5), ..work() }).0 / MILLI, 50);
    assert_eq!(law.expected_to_spend(Work { remaining: amount(20, 20), ..work() }).0 / MILLI, 100);
    let long = Work { upcoming: amount(15, 15), remaining: amount(20, 20) };
    assert_eq!(law.expected_to_spend(long).0 / MILLI, 150);
    assert_eq!((law.budget_min(), law.budget_max()), (BUDGET_MAX, BUDGET_MAX));
    let slow = PaceTarget::Latency { target: Nanos::from_secs(1), tolerance: Ppm(10_000) };
    law.options.target = slow;
    assert_eq!(law.budget_max(), Nanos::from_millis(800));
}
