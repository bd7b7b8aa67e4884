use super::*;

fn amount(discards: u64, bytes: u64) -> Amount {
    Amount { discards, bytes: Bytes(bytes) }
}

/// A drive on which a command takes `command` and a MiB `mib`, in microseconds.
fn learn(line: &mut CostLine, command: u64, mib: u64, amounts: &[(u64, u64)]) {
    for &(discards, mibs) in amounts {
        let took = Nanos::from_micros(command * discards + mib * mibs);
        line.learn(amount(discards, mibs * MIB), took);
    }
}

fn assert_near(found: Nanos, wanted: Nanos, per_cent: u64) {
    let off = found.0.abs_diff(wanted.0);
    assert!(off * 100 <= wanted.0 * per_cent, "{found} for {wanted}");
}

#[test]
fn two_sizes_give_the_line() {
    let mut line = CostLine::default();
    // This project's own disk: 0.2 ms and 0.25 ms a MiB.
    learn(&mut line, 200, 250, &[(1, 4), (2, 8), (1, 64), (10, 640)]);
    let cost = line.cost().unwrap();
    assert_near(cost.command, Nanos::from_micros(200), 2);
    assert_near(cost.mib, Nanos::from_micros(250), 2);
    let longest = cost.longest_within(Nanos::from_micros(1_200)).unwrap();
    assert_near(Nanos(longest.0), Nanos(4 * MIB), 3);
}

#[test]
fn a_command_that_takes_longer_than_the_limit_is_never_short_enough() {
    let mut line = CostLine::default();
    learn(&mut line, 82_400, 10, &[(1, 1), (1, 100)]);
    assert_eq!(line.cost().unwrap().longest_within(Nanos::from_millis(80)), None);
}

#[test]
fn a_change_by_a_factor_of_ten_is_followed_within_some_steps_of_one_size() {
    let mut line = CostLine::default();
    learn(&mut line, 200, 250, &[(1, 4), (1, 64), (1, 4), (1, 64)]);
    learn(&mut line, 2_000, 2_500, &[(1, 64); 8]);
    let expected = line.cost().unwrap().of(amount(1, 64 * MIB));
    assert_near(expected, Nanos::from_millis(162), 5);
    // The short ones have followed too, as far as can be known.
    let short = line.cost().unwrap().of(amount(1, 4 * MIB));
    assert!(short > Nanos::from_millis(5), "{short}");
}

#[test]
fn the_error_is_small_for_a_steady_drive_and_large_for_a_moody_one() {
    let (mut steady, mut moody) = (CostLine::default(), CostLine::default());
    for round in 0..64 {
        learn(&mut steady, 200, 250, &[(1, 4), (1, 64)]);
        learn(&mut moody, 200, 250 + (round % 2) * 500, &[(1, 4), (1, 64)]);
    }
    assert!(steady.error() < Ppm(20_000), "{:?}", steady.error());
    assert!(moody.error() > Ppm(200_000), "{:?}", moody.error());
}

#[test]
fn steps_without_discards_teach_nothing() {
    let mut line = CostLine::default();
    line.learn(amount(0, 0), Nanos::from_secs(1));
    assert_eq!((line.cost(), line.steps()), (None, 0));
}

#[test]
fn a_hiccup_of_short_commands_is_forgotten() {
    let mut line = CostLine::default();
    learn(&mut line, 9_000, 10, &[(1, 4)]);
    learn(&mut line, 200, 250, &[(1, 64), (1, 128)].repeat(20));
    assert_near(line.cost().unwrap().command, Nanos::from_micros(200), 5);
}

/// Of one command of so many MiB.
fn one(mibs: u64) -> Amount {
    amount(1, mibs * MIB)
}

/// A line that has learned these: bytes of a command in MiB, and microseconds.
fn line_of(commands: &[(u64, u64)]) -> CostLine {
    let mut line = CostLine::default();
    for &(mibs, took) in commands {
        line.learn(one(mibs), Nanos::from_micros(took));
    }
    line
}

fn micros_of(line: &CostLine, mibs: u64) -> u64 {
    line.cost().unwrap().of(one(mibs)).0 / 1_000
}

#[test]
fn of_one_length_half_of_the_cost_is_that_of_the_command() {
    let cost = line_of(&[(4, 1_000)]).cost().unwrap();
    assert_eq!(cost.command, Nanos::from_micros(500));
    assert_eq!(cost.mib, Nanos::from_micros(125));
}

#[test]
fn a_step_of_several_commands_is_a_point_of_one() {
    let mut line = CostLine::default();
    line.learn(amount(4, 16 * MIB), Nanos::from_micros(4_000));
    assert_eq!(line.cost(), line_of(&[(4, 1_000)]).cost());
    assert_eq!((line.steps(), line.shortest_length()), (1, Some(Bytes(4 * MIB))));
}

#[test]
fn lengths_make_a_line_when_one_is_twice_the_other() {
    let near = line_of(&[(7, 700), (8, 900)]);
    assert_eq!(near.only_length(), Some(Bytes(7 * MIB)));
    assert_eq!(near.cost().unwrap().command, Nanos::from_micros(350));
    let far = line_of(&[(4, 700), (8, 900)]);
    assert_eq!(far.only_length(), None);
    let cost = far.cost().unwrap();
    assert_eq!([cost.command, cost.mib], [500, 50].map(Nanos::from_micros));
    assert_eq!(CostLine::default().only_length(), None);
    assert_eq!(far.shortest_length(), Some(Bytes(4 * MIB)));
    assert_eq!(far.longest_length(), Some(Bytes(8 * MIB)));
}

#[test]
fn a_point_moves_by_half_and_a_slow_one_counts_twice_a_fast_one_at_most() {
    assert_eq!(micros_of(&line_of(&[(4, 1_000), (4, 2_000)]), 4), 1_500);
    assert_eq!(micros_of(&line_of(&[(4, 10_000), (4, 1_000)]), 4), 1_500);
    let moved = line_of(&[(4, 1_000), (6, 1_000)]);
    assert_eq!(moved.shortest_length(), Some(Bytes(5 * MIB)));
}

#[test]
fn the_error_moves_by_an_eighth_and_no_step_counts_more_than_all_of_what_was_expected() {
    let error = |more: &[(u64, u64)]| line_of(&[&[(4, 1_000)], more].concat()).error();
    assert_eq!(error(&[]), Ppm(0));
    assert_eq!(error(&[(4, 1_200)]), Ppm(25_000));
    assert_eq!(error(&[(4, 9_000)]), Ppm(125_000));
    // Of 1,500 expected, 750 were off.
    assert_eq!(error(&[(4, 2_000), (4, 750)]), Ppm(125_000 - 15_625 + 62_500));
}

#[test]
fn a_first_command_of_another_length_changes_no_other_point() {
    let cost = line_of(&[(4, 1_000), (64, 64_000)]).cost().unwrap();
    assert_eq!([cost.command, cost.mib], [0, 1_050].map(Nanos::from_micros));
}

#[test]
fn a_cost_that_is_off_by_more_than_three_times_moves_all_points() {
    let known = [(4, 1_000), (16, 4_000)];
    let after = |took: u64| {
        let mut line = line_of(&known);
        line.learn(one(16), Nanos(took));
        micros_of(&line, 4)
    };
    // The line goes from 1 ms for 4 MiB to 8 ms for 16 MiB, or from 2 ms.
    assert_eq!(after(12_000_000), 2_333);
    assert_eq!(after(12_000_001), 2_000);
    // From 1 ms to 2 ms, or from 2/3 ms.
    assert!((999..=1_000).contains(&after(1_333_333)), "{}", after(1_333_333));
    assert!((666..=667).contains(&after(1_333_332)), "{}", after(1_333_332));
    // A third length, of which nothing was known, too: by half of the way.
    let third = line_of(&[known.as_slice(), &[(64, 160_000)]].concat()).cost().unwrap();
    assert_eq!(third.mib, Nanos((160_000_000 - 5_500_000) / 60));
}

#[test]
fn points_are_dropped_after_their_time_where_two_others_are_left() {
    let shortest_after = |first: &[(u64, u64)], others: u64| {
        let others = (0..others).map(|at| if at % 2 == 0 { (64, 6_400) } else { (16, 1_600) });
        line_of(&first.iter().copied().chain(others).collect::<Vec<_>>()).shortest_length()
    };
    let (four, sixteen) = (Some(Bytes(4 * MIB)), Some(Bytes(16 * MIB)));
    assert_eq!(shortest_after(&[(4, 400)], KEPT_ALONE - 1), four);
    assert_eq!(shortest_after(&[(4, 400)], KEPT_ALONE), sixteen);
    assert_eq!(shortest_after(&[(4, 400); 2], KEPT - 1), four);
    assert_eq!(shortest_after(&[(4, 400); 2], KEPT), sixteen);
    // One other length makes no line.
    let two = line_of(&[[(4, 400)].as_slice(), &[(64, 6_400); 99]].concat());
    assert_eq!(two.shortest_length(), four);
}

#[test]
fn the_longest_command_within_a_limit_takes_just_that() {
    let cost = DiscardCost { command: Nanos(200), mib: Nanos(250) };
    assert_eq!(cost.longest_within(Nanos(1_200)), Some(Bytes(4 * MIB)));
    assert_eq!(cost.longest_within(Nanos(200)), Some(Bytes(0)));
    assert_eq!(cost.longest_within(Nanos(199)), None);
    let flat = DiscardCost { mib: Nanos(0), ..cost };
    assert_eq!(flat.longest_within(Nanos(200)), Some(Bytes(u64::MAX)));
    assert_eq!(cost.of(amount(3, 2 * MIB)), Nanos(1_100));
}
