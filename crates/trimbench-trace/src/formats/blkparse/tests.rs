use trimbench_core::Nanos;

use crate::format::ReadOptions;
use crate::read::tests::{assert_sample, latencies, record};
use crate::record::RecordKind::{Discard, Flush, Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

#[test]
fn issues_and_completions_are_paired_of_the_device_that_is_read() {
    let text = b"  8,0 0 1 0.000000000 7 Q R 0 + 8 [a]\n\
                   8,0 0 2 0.000001000 7 D R 0 + 8 [a]\n\
                   8,16 0 3 0.000001000 7 D DS 0 + 8 [a]\n\
                   8,16 0 4 0.000002000 7 C R 0 + 8 [0]\n\
                   8,0 1 5 0.000101000 0 C R 0 + 8 [0]\n\
                   8,0 0 6 0.000200000 7 D DS 64 + 8 [a]\n\
                   8,0 0 7 0.000210000 7 D R 8 + 8 [a]\n\
                   8,0 1 8 0.000300000 0 C DS 64 + 8 [0]\n\
                   8,0 1 9 0.000510000 0 C R 8 + 8 [0]\n";
    let options = ReadOptions { latencies: true, ..ReadOptions::default() };
    let found = latencies(text, &options).unwrap();
    assert_eq!(found.of(Read, false).longest(), Nanos(100_000));
    assert_eq!(found.of(Read, true).longest(), Nanos(300_000));
    assert_eq!(found.of(Discard, true).longest(), Nanos(100_000));
    assert_eq!(found.unpaired(), 0);
}

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[
            record(0, Write, 223_490 * 512, 4096),
            record(2_500_000_001, Discard, 0, LONG),
            record(2_600_000_001, Flush, 0, 0),
            record(2_600_000_002, Read, 4096, 4096),
        ],
    );
}
