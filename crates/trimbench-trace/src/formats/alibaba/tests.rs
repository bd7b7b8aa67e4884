use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Read, Write};

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[record(0, Write, 8_792_731_648, 16_384), record(1000, Read, 0, 4096)],
    );
}
