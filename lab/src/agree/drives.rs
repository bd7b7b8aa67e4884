//! A filesystem of the running kernel on an attached drive, and the modelled one on the same drive
//! in virtual time.

use ::tests::program::Run;
use anyhow::Result;
use trimbench_core::exit;

use crate::entry::NotMeasured;
use crate::lab::Lab;

pub(super) const SOURCES: &[&str] = &[
    "crates/trimbench-attach",
    "crates/trimbench-block",
    "crates/trimbench-core",
    "crates/trimbench-engine",
    "crates/trimbench-fs",
    "crates/trimbench-linux",
    "crates/trimbench-methods",
    "crates/trimbench-policy",
    "crates/trimbench-results",
    "crates/trimbench-ssd",
    "profiles",
];

/// A filesystem on a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The filesystem, with settings of the modelled one only.
    pub(super) filesystem: (&'static str, &'static str),
    /// The drive, as a target names it.
    pub(super) drive: &'static str,
}

/// Of the drives, for speed and memory.
const CAPACITY: &str = "capacity=4GiB";
/// A loop device has one discard under way and no commands of several ranges.
const AS_A_LOOP_DEVICE: &str = "trim.ranges=1,trim.mode=blocking";

impl Pair {
    pub(super) const ALL: [Self; 6] = {
        let [ext4, xfs, btrfs] = [("ext4", ""), ("xfs", ""), ("btrfs", ",discard=sync")];
        let [rc100, slow] = ["like-rc100", "generic-sata-tlc,trim.command=10ms"];
        [
            Self { filesystem: ext4, drive: rc100 },
            Self { filesystem: ext4, drive: slow },
            Self { filesystem: xfs, drive: rc100 },
            Self { filesystem: xfs, drive: slow },
            Self { filesystem: btrfs, drive: rc100 },
            Self { filesystem: btrfs, drive: slow },
        ]
    };

    pub(super) fn name(self) -> String {
        format!("{} on {}", self.filesystem.0, self.drive)
    }

    /// A run of a method in the kernel, and one of the model.
    pub(super) fn run(self, lab: &Lab<'_>, method: &str, options: &[&str]) -> Result<[Run; 2]> {
        let Self { filesystem: (filesystem, settings), drive } = self;
        let real = format!("{filesystem}:attach:{drive},{CAPACITY}");
        let model = format!("{filesystem}{settings}:sim:{drive},{AS_A_LOOP_DEVICE},{CAPACITY}");
        let run = |target: &str| -> Result<Run> {
            let run = lab.run_to_any_end(method, target, options)?;
            let status = run.output.status;
            if status == Some(exit::INVALID.into()) {
                return Err(NotMeasured(format!("{target}: {}", run.output.complaint())).into());
            }
            run.ended_well()?;
            Ok(run)
        };
        Ok([run(&real)?, run(&model)?])
    }
}
