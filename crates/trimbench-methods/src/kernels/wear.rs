//! The step of the wear: files come and go until the drive was written several times.

use trimbench_core::Provisioner;
use trimbench_results::Step;

use super::session::{SystemLife, TRIM, WEAR, account};
use super::steps::KernelsWearStep;
use trimbench_engine::{MethodError, Several};

/// Writes the drive several times, in files that replace others, and unmounts. A program trims
/// after each time.
pub(super) fn measure(
    life: &mut SystemLife<'_>,
    provisioner: &mut dyn Provisioner,
) -> Result<Step, MethodError> {
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
    let (first, last) = (before.wear, after.wear);
    let wear = KernelsWearStep {
        room_bytes: life.room,
        drive_writes: life.method.drive_writes,
        host_written_bytes: last.host_written - first.host_written,
        media_written_bytes: last.media_written - first.media_written,
        untrimmed_bytes: after.untrimmed,
        write_amplification: last.amplification_since(first),
    };
    provisioner.unmount()?;
    Ok(life.step(WEAR, &wear))
}
