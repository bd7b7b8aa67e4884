use crate::read::tests::{assert_sample, record};
use crate::record::RecordKind::{Discard, Read, Write};

#[test]
fn the_sample_is_read() {
    assert_sample(
        &super::FORMAT,
        &[
            record(146_559_796, Write, 0, 4096),
            record(146_609_386, Read, 4096, 8182),
            record(2_000_000_000, Discard, 8192, 4096),
        ],
    );
}
