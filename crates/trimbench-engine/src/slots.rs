//! Slots for emulated drives that are measured concurrently: processors and memory.
//!
//! No result depends on it: a session that waits for a slot runs later, which does not affect its
//! virtual clock.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use trimbench_core::Bytes;

#[cfg(test)]
mod tests;

/// So many drives at a time, and so much memory for their tables.
#[derive(Debug)]
pub struct Slots {
    total: Free,
    free: Mutex<Free>,
    returned: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    jobs: usize,
    memory: Bytes,
}

/// Room for one drive, until it is dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    slots: &'a Slots,
    memory: Bytes,
}

impl Slots {
    /// Room for `jobs` drives, at least one, whose tables take `memory` in all.
    pub fn new(jobs: usize, memory: Bytes) -> Self {
        let total = Free { jobs: jobs.max(1), memory };
        Self { total, free: Mutex::new(total), returned: Condvar::new() }
    }

    /// Waits for room for a drive whose tables take `memory`. A drive that needs more than there is
    /// in all gets all of it.
    pub fn take(&self, memory: Bytes) -> Permit<'_> {
        let memory = memory.min(self.total.memory);
        let mut free = self.lock();
        while !free.has(memory) {
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        self.permit(free, memory)
    }

    /// The same if there is room now.
    pub fn try_take(&self, memory: Bytes) -> Option<Permit<'_>> {
        let free = self.lock();
        free.has(memory).then(|| self.permit(free, memory))
    }

    fn permit(&self, mut free: MutexGuard<'_, Free>, memory: Bytes) -> Permit<'_> {
        free.jobs -= 1;
        free.memory -= memory;
        Permit { slots: self, memory }
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Free {
    fn has(self, memory: Bytes) -> bool {
        self.jobs > 0 && self.memory >= memory
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut free = self.slots.lock();
        free.jobs += 1;
        free.memory += self.memory;
        self.slots.returned.notify_all();
    }
}
