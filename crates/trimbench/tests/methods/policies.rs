//! `policy`: what each policy of its standard preset costs.

use tests::expectation::assert_met;
use tests::policies::{compared, expectations};

use super::program;

#[test]
fn every_policy_is_charged_with_both_costs_and_its_bytes_are_accounted_for() {
    let target = "ext4:sim:generic-nvme-tlc,capacity=2GiB";
    let run = program().run("policy", target, &[&compared()]).unwrap();
    assert_met(&expectations(&run).unwrap());
}
