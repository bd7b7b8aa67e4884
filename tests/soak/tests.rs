use super::*;

#[test]
fn a_seed_is_an_integer_or_a_commit() {
    assert_eq!(parse_seed("42").unwrap(), 42);
    assert_eq!(parse_seed("709016823456").unwrap(), 709_016_823_456);
    let whole = parse_seed("75f1582eeac3").unwrap();
    assert_eq!(whole, 0x75f_1582);
    assert_eq!(parse_seed("75f1582").unwrap(), whole, "however long it is written");
    for wrong in ["", "75f158", "hello world", "75f1582g"] {
        assert!(parse_seed(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_soak_is_good_only_with_configurations_without_violations_and_with_dead_canaries() {
    let good =
        SoakSummary { configurations: 1, canaries: 2, canaries_found: 2, ..SoakSummary::default() };
    assert!(good.is_good());
    assert!(!SoakSummary { configurations: 0, ..good.clone() }.is_good());
    assert!(!SoakSummary { violations: 1, ..good.clone() }.is_good());
    assert!(!SoakSummary { canaries_found: 1, ..good }.is_good());
}

/// With debug assertions, which the program is built without.
#[test]
fn a_short_soak_holds_and_is_the_same_again() {
    let soak = |numbers: Range<u64>| {
        let series = Series { seed: 1, commands: 20_000, deadline: None };
        let mut summary = SoakSummary::default();
        series.run(numbers, &mut summary).unwrap();
        assert_eq!(summary.violations, 0);
        summary
    };
    let first = soak(0..6);
    assert_eq!(first.configurations, 6);
    assert!(first.searched_both_ways > 0 && first.differing == 0);
    assert!(first.tally.commands == 6 * (20_000 + configuration::TINY_COMMANDS));
    assert_eq!(first, soak(0..6));
    assert_ne!(first.hash, soak(1..7).hash);
}

#[test]
fn every_canary_is_found_by_its_law() {
    let mut summary = SoakSummary { seed: 1, ..SoakSummary::default() };
    plant_canaries(&mut summary).unwrap();
    assert_eq!(summary.canaries, 11);
    assert_eq!(summary.canaries_found, 11);
}

#[test]
fn a_violation_is_printed_with_all_that_finds_it_again() {
    let canary = (Canary::TrimEatsNeighbour, (Size::Small, 50_000));
    let Err(Broken::Violation(violation)) = configuration::plant(1, canary.0, canary.1) else {
        panic!("the canary lives")
    };
    let series = Series { seed: 1, commands: 50_000, deadline: None };
    let text = series.describe(3, &violation);
    let again = format!("cargo xtask soak 1 --configuration 3 --commands {}", violation.commands);
    for part in ["configuration 3 of seed 1, long run: Contents", &again, "capacity:"] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(violation.commands > violation.checked);
}
