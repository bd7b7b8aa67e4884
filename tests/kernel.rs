//! The models compared with the running kernel: what the modelled ext4 sends its device, if that is
//! the modelled version, and who discards how much at once.

use std::path::Path;

use tests::Need::{Filesystem, Fuse, Loop, Program, Root, Tracing};
use tests::discards::{DISCARD_CASES, compare};
use tests::expectation::{Expectation, assert_met};
use tests::operations::{logs, modelled, real};
use tests::{Need, machine, requires};

/// How often a case is tried.
const TRIES: usize = 3;

/// One log and one run: discards within 15 %, bytes within 10 %. How much is discarded beyond what
/// is freed is left to the lab, which takes a median of several runs.
#[test]
fn the_model_sends_what_the_kernel_sends() {
    let ext4 = [Program("mkfs.ext4"), Filesystem("ext4"), Need::Linux(6, 17)];
    let needs = [&[Root, Loop][..], &ext4].concat();
    if !requires("the_model_sends_what_the_kernel_sends", &needs) {
        return;
    }
    let _beside = machine::beside();
    let log = logs(1).into_iter().find(|log| log.name == "growing").expect("there is one");
    let (model, kernel) = (modelled(&log), real(&log, Path::new("/dev/shm")));
    let within =
        |model: u64, kernel: u64, percent: u64| model.abs_diff(kernel) * 100 <= kernel * percent;
    assert!(within(model.discards, kernel.discards, 15), "{model:?} {kernel:?}");
    assert!(within(model.written.0, kernel.written.0, 10), "{model:?} {kernel:?}");
    assert!(model.discarded > log.freed() && kernel.discarded > log.freed(), "more than is freed");
}

/// Both limits, a plug, and discards within `rm`; the lab has all cases.
#[test]
fn the_models_discard_as_many_and_as_deep_as_the_kernel() {
    let filesystems = [Filesystem("ext4"), Filesystem("xfs"), Need::Linux(6, 10)];
    let programs = [Program("mkfs.ext4"), Program("mkfs.xfs")];
    let needs = [&[Root, Loop, Fuse, Tracing][..], &programs, &filesystems].concat();
    if !requires("the_models_discard_as_many_and_as_deep_as_the_kernel", &needs) {
        return;
    }
    let _alone = machine::alone();
    for name in ["ext4-writeback", "xfs-wbt-off", "blkdiscard-1mib", "blkdiscard-whole"] {
        let case = DISCARD_CASES.iter().find(|case| case.name == name).expect("there is one");
        let compared = || compare(case).expect("the kernel can be traced");
        // The depth is a mean over time, which other load may spoil. A model that is off is off
        // each time.
        let mut found = compared();
        for _ in 1..TRIES {
            if !found.iter().all(Expectation::is_met) {
                found = compared();
            }
        }
        assert_met(&found);
    }
}
