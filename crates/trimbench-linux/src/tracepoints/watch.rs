//! Watches the requests of devices, for a diagnosis: who caused each, and how long it took.

use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::Nanos;

use crate::clock::MonotonicClock;

use super::requests::{TracedRequest, leaves};
use super::{Tracer, TracingError};

/// Watches from its start until it is dropped. Needs root.
#[derive(Debug)]
pub struct RequestWatch {
    tracer: Tracer,
    devices: Vec<BlockDevice>,
    begin: Nanos,
}

impl RequestWatch {
    /// Begins to watch the disks that do the work of `devices`: those below stacked devices, whole.
    ///
    /// # Errors
    /// See [`TracingError`].
    pub fn start(devices: &[BlockDevice]) -> Result<Self, TracingError> {
        let devices = Self::disks_of(devices);
        let clock = MonotonicClock::start();
        let begin = MonotonicClock::monotonic();
        Ok(Self { tracer: Tracer::start(&devices, clock)?, devices, begin })
    }

    /// The disks that do the work of these devices, each once.
    pub fn disks_of(devices: &[BlockDevice]) -> Vec<BlockDevice> {
        let mut disks: Vec<BlockDevice> = Vec::new();
        for disk in devices.iter().flat_map(leaves) {
            if !disks.contains(&disk) {
                disks.push(disk);
            }
        }
        disks
    }

    /// The disks that are watched; requests name them by their place here.
    pub fn devices(&self) -> &[BlockDevice] {
        &self.devices
    }

    /// What [`crate::monotonic_time`] showed at the beginning, from which the times of requests
    /// count.
    pub fn begin(&self) -> Nanos {
        self.begin
    }

    /// Appends the requests that ended since the last call.
    pub fn take(&mut self, out: &mut Vec<TracedRequest>) {
        self.tracer.take_ended(out);
    }

    /// The same, then those under way, for the end. Requests of the last 0.2 ms may be missing.
    pub fn take_rest(&mut self, out: &mut Vec<TracedRequest>) {
        self.tracer.take_rest(out);
    }

    /// Events that the kernel dropped because its buffers were full, at least. After each loss all
    /// that was under way is forgotten.
    pub fn lost(&self) -> u64 {
        self.tracer.lost()
    }
}
