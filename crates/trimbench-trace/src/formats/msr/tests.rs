use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Read, Write};

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[record(0, Read, 383_496_192, 32_768), record(1_332_052_600, Write, 2_822_144, 4096)],
    );
}
