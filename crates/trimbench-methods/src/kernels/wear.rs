//! The step of the wear: files come and go until the drive was written several times.

use trimbench_core::{Bytes, Provisioner};
use trimbench_results::Step;

use super::session::{SystemLife, TRIM, WEAR, account};
use trimbench_engine::{MethodError, Several};

/// The metric of the step: bytes written in the drive over those written to it, in the last of the
/// drive writes.
pub(super) const AMPLIFICATION: &str = "write_amplification";

/// Writes the drive several times, in files that replace others, and unmounts. A program trims
/// after each time.
pub(super) fn measure(
    life: &mut SystemLife<'_>,
    provisioner: &mut dyn Provisioner,
) -> Result<Step, MethodError> {
    let mut step = life.step(WEAR);
    let mut after = account(provisioner)?;
    let mut before = after;
    for _ in 0..life.method.drive_writes {
        before = after;
        let files = provisioner.files();
        life.churn.begin(files.now(), life.room);
        life.runner.prepare(files, &mut Several(vec![&mut life.churn]))?;
        if life.system.is_program() {
            life.play(files, TRIM.into())?;
        }
        after = account(provisioner)?;
    }
    let since = |later: Bytes, earlier: Bytes| (later - earlier).0 as f64;
    let (first, last) = (before.wear, after.wear);
    step.set("drive_writes", f64::from(life.method.drive_writes));
    step.measure("host_written_bytes", since(last.host_written, first.host_written));
    step.measure("media_written_bytes", since(last.media_written, first.media_written));
    step.measure("untrimmed_bytes", after.untrimmed.0 as f64);
    if let Some(amplification) = last.amplification_since(first) {
        step.measure(AMPLIFICATION, amplification);
    }
    provisioner.unmount()?;
    Ok(step)
}
