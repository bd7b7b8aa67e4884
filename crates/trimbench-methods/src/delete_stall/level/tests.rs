use super::*;

/// A lead of 100 probes; the latency of each, us, is a function of its number.
fn lead(latency: impl Fn(u64) -> u64) -> Level {
    let latencies: Vec<Nanos> = (0..100).map(|probe| Nanos::from_micros(latency(probe))).collect();
    Level::of(&latencies).unwrap()
}

#[test]
fn a_pace_that_falls_or_rises_is_not_flat_and_one_that_scatters_is() {
    assert!(lead(|_| 100).is_flat());
    assert!(lead(|probe| 90 + probe * 7 % 20).is_flat());
    assert!(!lead(|probe| 300 - probe).is_flat());
    assert!(!lead(|probe| 100 + probe).is_flat());
    assert!(!lead(|probe| if probe < 50 { 130 } else { 120 }).is_flat());
    assert!(lead(|probe| if probe < 50 { 1_001 } else { 1_000 }).is_flat(), "0.1 %");
}

#[test]
fn one_stall_does_not_make_a_lead_uneven() {
    assert!(lead(|probe| if probe == 90 { 50_000 } else { 100 }).is_flat());
}

#[test]
fn a_level_may_be_that_of_rest_within_three_standard_errors() {
    // Its parts are 1,000 to 1,009 us: a standard error of 0.96 us.
    let rest = lead(|probe| 1_000 + probe / 10);
    assert!(rest.may_be_that_of(&rest));
    // A level of one value has none, so three are 2.9 us.
    assert!(lead(|_| 1_007).may_be_that_of(&rest));
    assert!(!lead(|_| 1_008).may_be_that_of(&rest));
    assert!(!lead(|_| 1_001).may_be_that_of(&rest));
    let even = lead(|_| 1_000);
    assert!(lead(|_| 1_002).may_be_that_of(&even), "0.2 % is nothing");
    assert!(!lead(|_| 1_003).may_be_that_of(&even));
}

#[test]
fn long_waits_that_do_not_happen_at_rest_are_no_excuse() {
    let rest = lead(|probe| 135 + probe / 10 % 2);
    let stalling = lead(|probe| if probe % 30 == 3 { 500 } else { 135 });
    assert!(stalling.may_be_that_of(&rest), "the means differ by fewer errors than its own");
    assert!(!stalling.is_that_of(&rest));
    assert!(lead(|probe| 135 + probe / 10 % 3 / 2).is_that_of(&rest));
}

#[test]
fn few_probes_tell_nothing() {
    assert_eq!(Level::of(&[Nanos::from_micros(100); 49]), None);
    assert!(Level::of(&[Nanos::from_micros(100); 50]).is_some());
}
