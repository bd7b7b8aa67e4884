//! A filesystem of the running kernel on an attached drive, and the modelled one on the same drive
//! in virtual time.

use ::tests::program::Run;
use anyhow::Result;
use trimbench_core::{Caveat, exit};
use trimbench_results::Step;

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

    /// A run of a method in the kernel, and one of the model, on drives of this capacity.
    ///
    /// A run in the kernel is also taken if it calls itself invalid, as it does beside pauses of
    /// this machine or answers that are later than the model's by more than a twentieth of its 99th
    /// percentile: some ten microseconds. What is compared here are stalls of a hundred
    /// milliseconds and more, each against a placebo that met the same; pauses make them longer,
    /// never more alike. [`doubts`] tells them.
    pub(super) fn run(
        self,
        lab: &Lab<'_>,
        capacity: &str,
        method: &str,
        options: &[&str],
    ) -> Result<[Run; 2]> {
        let Self { filesystem: (filesystem, settings), drive } = self;
        let real = format!("{filesystem}:attach:{drive},capacity={capacity}");
        let model =
            format!("{filesystem}{settings}:sim:{drive},{AS_A_LOOP_DEVICE},capacity={capacity}");
        let run = |target: &str| -> Result<Run> {
            let run = lab.run_to_any_end(method, target, options)?;
            if run.output.status != Some(exit::INVALID.into()) {
                run.ended_well()?;
            }
            Ok(run)
        };
        Ok([run(&real)?, run(&model)?])
    }
}

/// In how many of its steps a run met what makes it invalid.
pub(super) fn doubts(run: &Run) -> String {
    let steps = &run.session.steps;
    let count = |caveat: Caveat| {
        let has = |step: &&Step| step.caveats.iter().any(|id| id == caveat.id());
        let number = steps.iter().filter(has).count();
        (number > 0).then(|| format!("; {} in {number} of {} steps", caveat.id(), steps.len()))
    };
    [Caveat::Paused, Caveat::LateAnswers].into_iter().filter_map(count).collect()
}
