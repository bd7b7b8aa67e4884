//! `steady-state` beside the closed form of greedy collection \[DESN12\], with a trimmed share as
//! over-provisioning \[FRAN12\].

use tests::theory::greedy;
use trimbench_core::Bytes;
use trimbench_core::units::narrow;
use trimbench_ssd::Profile;

use super::program;

const PROFILE: &str = "plain-nvme-tlc";

/// What of [`PROFILE`] with so much capacity decides its write amplification.
struct Drive {
    /// Physical over exported space, without the superblocks reserved for garbage collection.
    alpha: f64,
    /// A superblock over exported space.
    superblock: f64,
    superblock_units: u32,
}

impl Drive {
    fn new(capacity: Bytes) -> Self {
        let config = Profile::built_in(PROFILE).unwrap().config;
        let (superblock, exported) = (config.geometry.superblock.0, capacity.0);
        // Whole superblocks.
        let physical = (exported + config.over_provisioning.of(exported)).div_ceil(superblock);
        Self {
            alpha: (physical * superblock) as f64 / exported as f64,
            superblock: superblock as f64 / exported as f64,
            superblock_units: narrow(config.superblock_units()),
        }
    }

    /// By the formula, with such a share trimmed and so much more physical space.
    fn amplification(&self, trimmed: f64, more: f64) -> f64 {
        greedy((self.alpha + more) / (1.0 - trimmed), self.superblock_units)
    }
}

#[test]
fn a_settled_steady_state_is_that_of_the_formula_and_the_published_criterion_alone_is_not() {
    let (drive, target) = (Drive::new(Bytes::gib(16)), format!("sim:{PROFILE},capacity=16GiB"));
    let shares = "trimmed-shares=0,10%,25%,30%,50%";
    let settled = program().run("steady-state", &target, &[shares]).unwrap();
    let letter = ["settle-rounds=0", shares];
    let letter = program().run("steady-state", &target, &letter).unwrap();
    let mut most: f64 = 0.0;
    for percent in [0, 10, 25, 30, 50] {
        let suffix = if percent == 0 { String::new() } else { format!("-trimmed-{percent}") };
        let id = format!("write-amplification{suffix}");
        let expected = drive.amplification(f64::from(percent) / 100.0, 0.0);
        let off = settled.value(&id).unwrap() / expected - 1.0;
        assert!(off.abs() <= 0.02, "{percent} % trimmed: off by {off}");
        most = most.max((letter.value(&id).unwrap() / expected - 1.0).abs());
    }
    assert!(most >= 0.03, "at the steady state of [PTS] alone it is off by {most} at most");
}

/// The superblock that is being written counts for half.
#[test]
fn a_drive_of_128_superblocks_has_half_a_superblock_more_than_the_formula_says() {
    let (drive, target) = (Drive::new(Bytes::gib(2)), format!("sim:{PROFILE},capacity=2GiB"));
    let run = program().run("steady-state", &target, &["trimmed-shares=0"]).unwrap();
    let measured = run.value("write-amplification").unwrap();
    let expected = drive.amplification(0.0, drive.superblock / 2.0);
    assert!((measured / expected - 1.0).abs() <= 0.015, "{measured}, not {expected}");
}
