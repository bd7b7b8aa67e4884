use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Discard, Flush, Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[
            record(119_000, Read, 503_808, 4096),
            record(20_101_000, Write, 1, 2),
            record(20_109_000, Flush, 0, 0),
            record(20_110_000, Flush, 0, 0),
            record(20_111_000, Discard, 0, LONG),
        ],
    );
}
