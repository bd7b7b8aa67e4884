//! The queue of one drive: five classes, each with a minimum and a maximum of requests that the
//! drive has at once.
//!
//! The next request comes from the first class below its minimum, else from the first below its
//! maximum, in the order of [`Class`]. The maximum of asynchronous writes grows with the share of
//! dirty data, from the class's minimum to its maximum between 30 % and 60 %. Within a class the
//! order is that of arrival; ZFS sorts asynchronous ones by address, which is the same for the runs
//! written here. Sources: \[FBZFS\] and \[OPENZFS\] `vdev_queue.c`.

use std::collections::VecDeque;

use super::config::QueueLimits;

#[cfg(test)]
mod tests;

/// Why a drive is given something; the first is the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Someone waits for data.
    SyncRead,
    /// Someone waits until it is written.
    SyncWrite,
    /// Data that may be wanted soon.
    AsyncRead,
    /// A transaction group is written.
    AsyncWrite,
    /// A discard.
    Trim,
}

impl Class {
    const ALL: [Self; 5] =
        [Self::SyncRead, Self::SyncWrite, Self::AsyncRead, Self::AsyncWrite, Self::Trim];
}

/// What waits for one drive.
#[derive(Debug)]
pub(crate) struct ClassQueue<T> {
    limits: QueueLimits,
    waiting: [VecDeque<T>; 5],
    active: [u32; 5],
}

impl<T> ClassQueue<T> {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        Self { limits, waiting: Default::default(), active: [0; 5] }
    }

    pub(crate) fn add(&mut self, class: Class, item: T) {
        self.waiting[class as usize].push_back(item);
    }

    /// The next one for the drive; it counts as active until [`Self::ended`]. `async_writes` is how
    /// many asynchronous writes may be active at present.
    pub(crate) fn take(&mut self, async_writes: u32) -> Option<T> {
        if self.active.iter().sum::<u32>() >= self.limits.total {
            return None;
        }
        let below = |limit: &dyn Fn(Class) -> u32| {
            Class::ALL.into_iter().find(|&class| {
                let number = class as usize;
                !self.waiting[number].is_empty() && self.active[number] < limit(class)
            })
        };
        let least = |class: Class| self.limits.classes[class as usize].least;
        let most = |class: Class| match class {
            Class::AsyncWrite => async_writes,
            _ => self.limits.classes[class as usize].most,
        };
        let class = below(&least).or_else(|| below(&most))? as usize;
        self.active[class] += 1;
        self.waiting[class].pop_front()
    }

    /// One of them is done.
    ///
    /// # Panics
    /// If none of the class is active.
    pub(crate) fn ended(&mut self, class: Class) {
        assert!(self.active[class as usize] > 0, "what ends was taken");
        self.active[class as usize] -= 1;
    }

    /// Active and waiting ones that are no discards.
    pub(crate) fn foreground(&self) -> u64 {
        let trim = Class::Trim as usize;
        let active: u32 = self.active[..trim].iter().sum();
        let waiting: usize = self.waiting[..trim].iter().map(VecDeque::len).sum();
        u64::from(active) + waiting as u64
    }

    /// Discards, active and waiting.
    pub(crate) fn trims(&self) -> u64 {
        let trim = Class::Trim as usize;
        u64::from(self.active[trim]) + self.waiting[trim].len() as u64
    }
}
