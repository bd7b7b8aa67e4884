use trimbench_core::Nanos;

use crate::format::ReadOptions;
use crate::read::tests::{assert_sample, latencies, record};
use crate::record::RecordKind::{Read, Write};

#[test]
fn the_response_time_is_a_latency_where_it_is_asked_for() {
    let options = ReadOptions { latencies: true, ..ReadOptions::default() };
    let found = latencies(super::FORMAT.sample.as_bytes(), &options).unwrap();
    assert_eq!(found.of(Read, false).longest(), Nanos(41_300));
    assert_eq!(found.of(Write, false).longest(), Nanos(211_000));
    assert_eq!(found.unpaired(), 0);
    assert_eq!(latencies(super::FORMAT.sample.as_bytes(), &ReadOptions::default()), None);
}

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[record(0, Read, 383_496_192, 32_768), record(1_332_052_600, Write, 2_822_144, 4096)],
    );
}
