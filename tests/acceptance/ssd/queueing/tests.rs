use std::fmt::Write as _;

use super::*;
use crate::acceptance::planted::{Planted, failing};

/// A claim's raw output in which everything is as it must be, but for what `change` replaces.
fn planted(change: (&str, &str)) -> Result<Vec<Finding>> {
    let mut poisson = String::new();
    for (gap, wait) in [(166_666, 10_714.3), (83_333, 37_500.2), (55_555, 225_020.0)] {
        writeln!(
            poisson,
            "{{\"service_ns\":50000,\"alone_ns\":50008,\"gap_ns\":{gap},\"reads\":1000,\
             \"mean_latency_ns\":{}}}",
            50_008.0 + wait
        )
        .unwrap();
    }
    let mut ceilings = String::new();
    for of in ["link", "channels", "reads", "programs", "erases"] {
        writeln!(
            ceilings,
            "{{\"of\":\"{of}\",\"servers\":8,\"bytes\":1000,\"span_ns\":1000,\
             \"bytes_per_second\":8.0e9}}"
        )
        .unwrap();
    }
    let mut arrays = String::new();
    for case in &parts::CASES {
        for depth in [1, 32, 128] {
            let figures = "{\"iops\":1000.0,\"mean_ns\":2000.0,\"p99_ns\":5000}";
            writeln!(
                arrays,
                "{{\"case\":\"{}\",\"read_depth\":{depth},\"drive\":{figures},\
                 \"exact\":{figures}}}",
                case.name
            )
            .unwrap();
        }
    }
    let mut depths = String::new();
    for depth in [1_u32, 8, 11, 12, 24] {
        let iops = (f64::from(depth) / 111e-6).min(1e5);
        writeln!(
            depths,
            "{{\"queue_depth\":{depth},\"service_ns\":10000,\"iops\":{iops},\
             \"mean_latency_ns\":{}}}",
            f64::from(depth) / iops * 1e9
        )
        .unwrap();
    }
    let outputs = [poisson, ceilings, arrays, depths];
    read(&Planted::changed(["poisson", "ceilings", "arrays", "depths"], outputs, change).raw())
}

/// What does not hold then.
fn off(change: (&str, &str)) -> Vec<String> {
    failing(&planted(change).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn what_is_as_it_must_be_holds() {
    assert_eq!(off(("nothing", "")), Vec::<String>::new());
    assert_eq!(planted(("nothing", "")).unwrap().len(), 3 + 5 + 3 * parts::CASES.len() + 3);
}

#[test]
fn each_figure_can_fail() {
    for (change, what) in [
        // 2.5 % of a wait of 225 us.
        (("275028", "280700"), "mean wait of a die at a load of 0.9"),
        (("8.0e9", "8.1e9"), "ceiling of the link"),
        (("\"iops\":1000.0", "\"iops\":1021.0"), "reads: IOPS over that of an exact simulation"),
        (("\"mean_ns\":2000.0", "\"mean_ns\":1959.0"), "reads: mean over that"),
        (("\"p99_ns\":5000", "\"p99_ns\":5101"), "reads: p99 over that"),
    ] {
        let off = off(change);
        assert!(off.len() == 1 && off[0].starts_with(what), "{change:?}: {off:?}");
    }
    // A throughput below the law is also one that its latency does not explain.
    assert_eq!(off(("\"iops\":72072", "\"iops\":70072")).len(), 2);
    let late = off(("\"iops\":99099", "\"iops\":98000"));
    assert_eq!(late.len(), 2, "{late:?}");
}

#[test]
fn a_part_that_is_missing_is_an_error() {
    assert!(planted(("\"of\":\"link\"", "\"off\":\"link\"")).is_err());
    assert!(planted(("\"read_depth\":1,", "")).is_err());
}
