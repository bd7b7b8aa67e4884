//! What was seen of other load on a real target while the program itself did next to nothing.
//!
//! Whoever can look fills it in; what it means is decided elsewhere. What could not be looked at is
//! `None`: neither quiet nor busy.

use crate::units::{Bytes, Nanos};

/// One look at a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSeen {
    /// How long it took.
    pub window: Nanos,
    /// What the devices below the target did for others.
    pub devices: Option<DevicesUse>,
    /// Reads of our own, one at a time, of what was there.
    pub reads: Option<ReadTimes>,
    /// For so long every program that had something to do waited for I/O; our own reads are left
    /// out. Of the whole machine.
    pub io_stalled: Option<Nanos>,
    /// For so long some program waited for memory. Of the whole machine.
    pub memory_stalled: Option<Nanos>,
}

/// What devices did for others in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevicesUse {
    /// The kernel's names, separated by blanks.
    pub names: String,
    /// Bytes written.
    pub written: Bytes,
    /// Bytes read.
    pub read: Bytes,
}

/// How long reads took, without waits for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimes {
    /// How many.
    pub count: u64,
    /// Their median.
    pub median: Nanos,
    /// Their 99th percentile.
    pub p99: Nanos,
}

impl ReadTimes {
    /// Of these times, in any order; `None` if there are none.
    pub fn of(mut times: Vec<Nanos>) -> Option<Self> {
        times.sort_unstable();
        // The least time that at least this share of all does not exceed.
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).max(1) - 1);
        let (median, p99) = (*at(50)?, *at(99)?);
        Some(Self { count: times.len() as u64, median, p99 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = |count: u64| ReadTimes::of((1..=count).rev().map(Nanos).collect());
        let of =
            |count, median, p99| Some(ReadTimes { count, median: Nanos(median), p99: Nanos(p99) });
        assert_eq!(times(0), None);
        assert_eq!(times(1), of(1, 1, 1));
        assert_eq!(times(100), of(100, 50, 99));
        assert_eq!(times(300), of(300, 150, 297));
    }
}
