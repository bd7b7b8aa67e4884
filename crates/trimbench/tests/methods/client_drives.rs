//! What client drives give back after TRIM and a rest.

use tests::client_drives::REVIEWED;
use tests::expectation::assert_met;

use super::program;

#[test]
fn client_drives_give_back_after_a_rest_what_a_reviewer_measured() {
    for drive in &REVIEWED {
        assert_met(&drive.expectations(&program()).unwrap());
    }
}
