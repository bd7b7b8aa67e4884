use trimbench_core::{Bytes, Nanos};

use super::{StepPlace, StepTable as _, unit_of};
use crate::{LatencyHistogram, Series, Step};

crate::steps! {
    /// Percentiles.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Percentiles {
        /// the median
        measured p50: f64;
        /// the tail
        measured p99: Option<f64>;
    }

    /// All kinds of rows.
    #[derive(Clone, Debug, PartialEq)]
    struct Row {
        /// bytes of a discard
        set size_bytes: Bytes;
        /// whether it is served
        measured is_served: bool;
        /// how many
        measured count: Option<u32>;
        /// latencies
        histogram latency: Option<LatencyHistogram>;
        /// the worst
        series worst: Option<Series> = "worst-ms";
        /// of reads
        part read: Percentiles = "read_s_";
        /// of writes
        part write: Option<Percentiles> = "write_s_";
    }
}

fn row() -> Row {
    let mut latency = LatencyHistogram::new();
    latency.record(Nanos(1_000));
    Row {
        size_bytes: Bytes(4_096),
        is_served: true,
        count: Some(7),
        latency: Some(latency),
        worst: Series::new("s", "ms", vec![0.0, 1.0], vec![Some(2.0), None]),
        read: Percentiles { p50: 0.001, p99: None },
        write: None,
    }
}

#[test]
fn a_step_holds_what_its_table_says_and_gives_it_back() {
    let step = Step::of("a", "row", &row());
    assert_eq!(step.parameters.keys().collect::<Vec<_>>(), ["size_bytes"]);
    assert_eq!(step.metrics.keys().collect::<Vec<_>>(), ["count", "is_served", "read_s_p50"]);
    assert_eq!(step.series.keys().collect::<Vec<_>>(), ["worst-ms"]);
    assert_eq!(step.read::<Row>().unwrap(), row());
}

#[test]
fn what_must_be_there_and_is_not_is_an_error_that_names_it() {
    let mut step = Step::of("a", "row", &row());
    step.metrics.remove("read_s_p50");
    assert_eq!(step.read::<Row>().unwrap_err().to_string(), "step `a` lacks `read_s_p50`");
}

#[test]
fn a_number_that_is_not_finite_is_not_stored() {
    let read = Percentiles { p50: f64::NAN, p99: Some(f64::INFINITY) };
    assert!(Step::of("a", "row", &Row { read, ..row() }).read::<Row>().is_err());
}

#[test]
fn what_is_no_count_is_not_read_as_one() {
    for damaged in [-1.0, 4_294_967_296.0, 1e300] {
        let mut step = Step::of("a", "row", &row());
        step.metrics.insert("count".to_owned(), damaged);
        assert_eq!(step.read::<Row>().unwrap().count, None, "{damaged}");
    }
}

#[test]
fn rows_say_where_a_value_stands_and_whether_it_is_always_there() {
    let rows = Row::rows("");
    let shown = |key: &str| {
        let row = rows.iter().find(|row| row.key == key).unwrap();
        (row.place, row.always, row.help.as_str())
    };
    assert_eq!(shown("size_bytes"), (StepPlace::Set, true, "bytes of a discard"));
    assert_eq!(shown("worst-ms"), (StepPlace::Series, false, "the worst"));
    assert_eq!(shown("read_s_p50"), (StepPlace::Measured, true, "the median"));
    assert_eq!(shown("write_s_p50"), (StepPlace::Measured, false, "the median"));
}

#[test]
fn the_unit_stands_in_the_key() {
    let units = ["size_bytes", "latency_s_p99", "throughput_mb_per_s_min", "count", "window_s"];
    assert_eq!(units.map(unit_of), ["B", "s", "MB/s", "", "s"]);
    assert_eq!(unit_of("discarded_bytes_per_s"), "B/s");
    assert_eq!(unit_of("window_steady"), "");
}
