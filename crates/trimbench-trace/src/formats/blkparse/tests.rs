use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Discard, Flush, Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

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
