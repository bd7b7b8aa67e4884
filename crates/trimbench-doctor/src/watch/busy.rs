//! When at least one of many intervals lasted.

use trimbench_core::Nanos;

/// The union of intervals: sorted, and apart from each other.
#[derive(Clone, Debug, Default)]
pub(super) struct BusyIntervals {
    intervals: Vec<(Nanos, Nanos)>,
    /// Length of all intervals before each.
    before: Vec<Nanos>,
    total: Nanos,
}

impl BusyIntervals {
    /// Of these intervals, in any order; empty ones count as instants and are left out.
    pub(super) fn of(mut all: Vec<(Nanos, Nanos)>) -> Self {
        all.retain(|(from, to)| from < to);
        all.sort_unstable();
        let mut intervals: Vec<(Nanos, Nanos)> = Vec::new();
        for (from, to) in all {
            match intervals.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => intervals.push((from, to)),
            }
        }
        let (mut before, mut total) = (Vec::new(), Nanos::ZERO);
        for (from, to) in &intervals {
            before.push(total);
            total += to.saturating_sub(*from);
        }
        Self { intervals, before, total }
    }

    pub(super) fn total(&self) -> Nanos {
        self.total
    }

    /// How much of `[from, to)` lies in intervals.
    pub(super) fn covered(&self, from: Nanos, to: Nanos) -> Nanos {
        self.until(to.max(from)).saturating_sub(self.until(from))
    }

    /// Whether an interval has an instant in `[from, to]`.
    pub(super) fn meets(&self, from: Nanos, to: Nanos) -> bool {
        let next = self.intervals.partition_point(|(_, end)| *end <= from);
        self.intervals.get(next).is_some_and(|(begin, _)| *begin <= to)
    }

    /// How much of the intervals lies before `time`.
    fn until(&self, time: Nanos) -> Nanos {
        let next = self.intervals.partition_point(|(begin, _)| *begin < time);
        let Some(last) = next.checked_sub(1) else { return Nanos::ZERO };
        let (begin, end) = self.intervals[last];
        self.before[last] + end.min(time).saturating_sub(begin)
    }
}

#[cfg(test)]
mod tests;
