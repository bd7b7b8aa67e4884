use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Read, Write};

/// Beyond 4 GiB: what 32 bits do not hold.
const LONG: u64 = (4 << 30) + 4096;

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[record(0, Read, 12_910_952 * 512, 65_536), record(1_000_000_000, Write, 4096, LONG)],
    );
}
