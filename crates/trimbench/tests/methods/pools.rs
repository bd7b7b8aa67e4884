//! `delete-storm` on modelled pools of drives that discard as `OpenZFS` and FreeBSD do.

use anyhow::Result;
use tests::expectation::assert_met;
use tests::pools::{SMALL, manners, policies, trim_rates};
use tests::program::Run;

use super::program;

fn run(target: &str, options: &[&str]) -> Result<Run> {
    program().run("delete-storm", target, options)
}

#[test]
fn number_and_size_of_discards_are_those_of_the_rules_of_zfs_and_freebsd() {
    assert_met(&manners(SMALL, &run).unwrap());
}

#[test]
fn a_limited_rate_takes_its_time_and_skipped_space_is_accounted_for() {
    assert_met(&policies(SMALL, &run).unwrap());
}

#[test]
fn a_rate_of_zpool_trim_makes_it_longer_by_the_waits_between_its_discards() {
    assert_met(&trim_rates(&run).unwrap());
}
