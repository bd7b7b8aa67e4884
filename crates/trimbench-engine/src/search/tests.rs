//! Searches against answers that are known.

use std::convert::Infallible;

use super::*;

const MB: u64 = 1_000_000;
const SEARCH: RateSearch =
    RateSearch { lowest: MB, highest: 1_000 * MB, halvings: 7, confirmations: 3 };

/// What the search finds where rates up to `good` pass and are confirmed up to `confirmed`, and
/// what it tried.
fn searched(good: u64, confirmed: u64) -> (Option<u64>, Vec<(u64, RateLength)>) {
    let mut tried = Vec::new();
    let found = SEARCH.run(|rate, length| {
        tried.push((rate, length));
        let most = if length == RateLength::Confirmed { confirmed } else { good };
        Ok::<_, Infallible>(rate <= most)
    });
    (found.unwrap(), tried)
}

/// Of what was tried the rates that were to be confirmed.
fn confirmations(tried: &[(u64, RateLength)]) -> Vec<u64> {
    let confirmed = tried.iter().filter(|(_, length)| *length == RateLength::Confirmed);
    confirmed.map(|(rate, _)| *rate).collect()
}

#[test]
fn the_search_ends_within_six_percent_below_the_highest_good_rate() {
    use RateLength::{Confirmed, Tried};
    for good in [2, 7, 31, 100, 950].map(|rate| rate * MB) {
        let (found, tried) = searched(good, u64::MAX);
        let found = found.unwrap();
        assert!(found <= good && good as f64 / found as f64 <= 1.056, "{good}: {found}");
        assert_eq!(tried.len(), 10, "two ends, seven halvings, one confirmation");
        assert_eq!(tried.last(), Some(&(found, Confirmed)));
    }
    let RateSearch { lowest, highest, .. } = SEARCH;
    let at_once = vec![(highest, Tried), (highest, Confirmed)];
    assert_eq!(searched(highest, u64::MAX), (Some(highest), at_once));
    assert_eq!(searched(0, u64::MAX), (None, vec![(highest, Tried), (lowest, Tried)]));
}

#[test]
fn what_is_not_confirmed_gives_way_to_the_next_lower_rate() {
    let (found, tried) = searched(100 * MB, 95 * MB);
    let confirmations_of_it = confirmations(&tried);
    assert!(confirmations_of_it.is_sorted_by(|a, b| a > b), "{confirmations_of_it:?}");
    assert_eq!(found, confirmations_of_it.last().copied());
    assert!(found.unwrap() <= 95 * MB, "{found:?}");
    let (none, tried) = searched(100 * MB, 0);
    assert_eq!((none, confirmations(&tried).len()), (None, 3));
}

#[test]
fn a_search_ends_with_the_error_of_a_try() {
    let fails = |rate, _| if rate < 100 * MB { Err(rate) } else { Ok(false) };
    assert_eq!(SEARCH.run(fails), Err(MB));
}

#[test]
fn halving_ends_where_nothing_is_left_to_try() {
    let shortest = |times, least| {
        let mut tried = Vec::new();
        let middle = |it: Bracket<u64>| (it.passes > least).then(|| it.fails.midpoint(it.passes));
        let found = Bracket { passes: 1_000, fails: 0 }.halved(times, middle, |value| {
            tried.push(value);
            Ok::<_, Infallible>(value >= 300)
        });
        (found.unwrap(), tried)
    };
    let three = vec![500, 250, 375];
    assert_eq!(shortest(3, 0), (Bracket { passes: 375, fails: 250 }, three.clone()));
    assert_eq!(shortest(16, 375), (Bracket { passes: 375, fails: 250 }, three));
}
