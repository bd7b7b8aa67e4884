//! A control group that limits the processor time of a process.

use std::io;

use crate::control_group::{ControlGroup, Controller};

/// In which the quota is given, in microseconds.
const PERIOD: u32 = 100_000;

/// The group. It is removed when this is dropped: the processes in it must have ended.
#[derive(Debug)]
pub struct ProcessorQuota(ControlGroup);

impl ProcessorQuota {
    /// A group whose processes together get so many percent of one processor.
    pub fn of_percent(percent: u32) -> io::Result<Self> {
        let group = ControlGroup::new(Controller::Processor)?;
        let quota = PERIOD * percent / 100;
        if group.version() == 1 {
            group.set("cpu.cfs_period_us", &PERIOD.to_string())?;
            group.set("cpu.cfs_quota_us", &quota.to_string())?;
        } else {
            group.set("cpu.max", &format!("{quota} {PERIOD}"))?;
        }
        Ok(Self(group))
    }

    /// Puts a process with all its threads into the group.
    pub fn hold(&self, process: u32) -> io::Result<()> {
        self.0.hold(process)
    }
}
