use super::*;
use crate::acceptance::planted::{Planted, failing};

/// What a fit prints of one value.
fn found(key: &str, determined: &str, [best, low, high]: [f64; 3]) -> String {
    format!(
        "{{\"parameters\":[{{\"key\":\"{key}\",\"determined\":\"{determined}\",\"value\":\"best\",\
         \"low\":\"low\",\"high\":\"high\",\"numbers\":[{best},{low},{high}]}}]}}"
    )
}

#[test]
fn a_value_is_the_profiles_if_it_is_near_or_its_interval_holds_it_or_nothing_is_known() {
    let known = Profile::built_in(SHORT).unwrap().config.trim.command.0 as f64;
    let fails = |determined: &str, shares: [f64; 3]| {
        let planted = Planted::new();
        let text = found("trim.command", determined, shares.map(|share| share * known));
        planted.capture(SHORT, 0, &text);
        !failing(&read(&planted.raw_of(Form::Short)).unwrap()).is_empty()
    };
    assert!(!fails("yes", [1.019, 1.018, 1.02]));
    assert!(!fails("yes", [1.3, 0.9, 1.7]));
    assert!(!fails("no", [7.0, 2.0, 9.0]));
    assert!(fails("yes", [1.021, 1.01, 1.03]));
    assert!(fails("yes", [0.9, 0.8, 0.95]));
}

#[test]
fn a_value_that_the_profile_lacks_is_an_error() {
    let planted = Planted::new();
    planted.capture(SHORT, 0, &found("slc_cache.read", "yes", [1.0; 3]));
    assert!(read(&planted.raw_of(Form::Short)).is_err());
}

#[test]
fn the_values_begin_elsewhere_and_within_their_ranges() {
    let drives = VENDORS.into_iter().map(|drive| (drive, free_of_vendor(drive, Form::Full)));
    let named = NAMED.into_iter().map(|(drive, values, _)| (drive, &OF_NAMED[..values]));
    for (drive, free) in drives.chain(named) {
        let known = Profile::built_in(drive).unwrap();
        for (key, range, begin) in free {
            let value = known.values.iter().find(|value| value.key == *key).unwrap();
            let (known, begin) = (number(&value.value).unwrap(), number(begin).unwrap());
            let (low, high) = range.split_once("..").unwrap();
            assert!((number(low).unwrap()..=number(high).unwrap()).contains(&begin), "{key}");
            assert!((begin / known).ln().abs() > 0.05, "{drive}, {key}");
        }
    }
}

#[test]
fn the_published_figures_are_those_of_the_table() {
    let text = published("vendor1").unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].ends_with(",creation-alone-nodiscard-buffered,970.4,1/s,1"), "{text}");
    assert!(rows[2].ends_with(",duration-of-transactions-discard-buffered,148.8,s,1"), "{text}");
}
