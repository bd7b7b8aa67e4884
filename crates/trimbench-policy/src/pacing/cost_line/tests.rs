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
