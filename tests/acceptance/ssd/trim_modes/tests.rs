use std::fmt::Write as _;

use super::*;
use crate::acceptance::planted::{Planted, failing};

const COSTS: &str = "\"costs\":{\"command\":90000,\"range\":7000,\"per_gib_mapped\":262144000}";

/// A claim's raw output in which everything is as it must be, but for what `change` replaces.
fn planted(change: (&str, &str)) -> Result<Vec<Finding>> {
    let (mut blocking, mut background, mut none, mut ignored) =
        (String::new(), String::new(), String::new(), String::new());
    for ranges in [1, 16, 256] {
        let cost = 90_000 + 7_000 * ranges + 1_000 * 64 * ranges;
        writeln!(
            blocking,
            "{{\"ranges\":{ranges},\"mapped_units\":{},{COSTS},\"delays_ns\":[{cost},{cost}]}}",
            64 * ranges
        )
        .unwrap();
    }
    for size in [1, 2, 4] {
        let units = 16_384 * size;
        let settled = (7_000 + 1_000 * units) * 4;
        writeln!(
            background,
            "{{\"ranges\":1,\"mapped_units\":{units},{COSTS},\"share\":0.25,\
             \"settled_ns\":{settled},\"before_iops\":50000.0,\"during_iops\":37500.0,\
             \"after_iops\":50000.0}}"
        )
        .unwrap();
    }
    for units in [1, 256, 65_536] {
        writeln!(
            none,
            "{{\"units\":{units},{COSTS},\"controller_ns\":1000,\"latency_ns\":12000,\
             \"took_ns\":103000}}"
        )
        .unwrap();
    }
    for (mode, freed, waf) in
        [("never trimmed", 0, 7.4), ("ignored", 0, 7.41), ("queued", 65_536, 1.9)]
    {
        writeln!(ignored, "{{\"mode\":\"{mode}\",\"freed_units\":{freed},\"waf\":{waf}}}").unwrap();
    }
    let outputs = [blocking, background, none, ignored];
    read(&Planted::changed(["blocking", "background", "none", "ignored"], outputs, change).raw())
}

/// What does not hold then.
fn off(change: (&str, &str)) -> Vec<String> {
    failing(&planted(change).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn what_is_as_it_must_be_holds() {
    assert_eq!(off(("nothing", "")), Vec::<String>::new());
}

#[test]
fn each_figure_can_fail() {
    for (change, what) in [
        (("[161000,", "[161001,"), "what a blocking TRIM of 1 ranges adds"),
        (("65564000", "67000000"), "settling time of a background TRIM"),
        (("37500.0", "38500.0"), "foreground beside it"),
        (("\"after_iops\":50000.0", "\"after_iops\":49700.0"), "foreground after it"),
        (("\"took_ns\":103000", "\"took_ns\":103001"), "a TRIM in mode `none`"),
        (("\"ignored\",\"freed_units\":0", "\"ignored\",\"freed_units\":1"), "units that a TRIM"),
        (("7.41", "7.2"), "write amplification with TRIM ignored"),
        (("1.9", "3.8"), "write amplification with TRIM acted on"),
    ] {
        let off = off(change);
        assert!(off.iter().any(|it| it.starts_with(what)), "{change:?}: {off:?}");
    }
}

#[test]
fn a_case_that_is_missing_is_an_error() {
    assert!(planted(("\"ranges\":16", "\"ranges\":17")).is_err());
    assert!(planted(("\"waf\":1.9", "")).is_err());
}
