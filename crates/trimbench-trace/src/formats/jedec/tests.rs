use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Discard, Flush, Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[
            record(0, Write, 4096, 8192),
            record(0, Discard, 1024 * 512, LONG),
            record(0, Flush, 0, 0),
            record(0, Write, 0, 512),
            record(0, Discard, 2560, 512),
            record(0, Discard, 2560, 512),
            record(0, Read, 4608, 512),
        ],
    );
}
