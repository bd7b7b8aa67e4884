//! The modelled ext4 compared with the running kernel's, if that is the modelled version.

use std::path::Path;

use tests::Need::{Filesystem, Loop, Program, Root};
use tests::operations::{logs, modelled, real};
use tests::{Need, requires};

/// As `evidence files.4`, one log and one run: discards within 15 %, bytes within 10 %. How much is
/// discarded beyond what is freed is left to the evidence, which can take a median of several runs.
#[test]
fn the_model_sends_what_the_kernel_sends() {
    let ext4 = [Program("mkfs.ext4"), Filesystem("ext4"), Need::Linux(6, 17)];
    let needs = [&[Root, Loop][..], &ext4].concat();
    if !requires("the_model_sends_what_the_kernel_sends", &needs) {
        return;
    }
    let log = logs(1).into_iter().find(|log| log.name == "growing").expect("there is one");
    let (model, kernel) = (modelled(&log), real(&log, Path::new("/dev/shm")));
    let within =
        |model: u64, kernel: u64, percent: u64| model.abs_diff(kernel) * 100 <= kernel * percent;
    assert!(within(model.discards, kernel.discards, 15), "{model:?} {kernel:?}");
    assert!(within(model.written.0, kernel.written.0, 10), "{model:?} {kernel:?}");
    assert!(model.discarded > log.freed() && kernel.discarded > log.freed(), "more than is freed");
}
