use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Read, Write};

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[
            record(551_706_000, Write, 20_941_264 * 512, 8192),
            record(1_500_000_000, Read, 4096, 512),
        ],
    );
}
