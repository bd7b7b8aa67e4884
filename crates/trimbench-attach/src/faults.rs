//! Faults that are planted while the device is in use.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A fault, as it is asked for. Addresses and lengths are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LiveFault {
    /// The power goes: the commands under way end with EIO, and so does each one after them, until
    /// [`Self::PowerOn`]. What no flush had made durable may be lost, as the profile's drive loses
    /// it.
    PowerCut,
    /// The power comes back.
    PowerOn,
    /// Each flush ends at once and makes nothing durable; or flushes do again what they say.
    LyingFlush(bool),
    /// These bytes cannot be read (EIO) until they are written; an empty list heals everything.
    Unreadable {
        /// Which.
        ranges: Vec<Range<u64>>,
        /// So many reads of them succeed before.
        good_reads: u32,
    },
    /// Each command takes so many ns of the drive's time longer, and holds up no other one
    /// meanwhile; with 0 no longer.
    Slow(u64),
    /// The same of each discard, beyond what [`Self::Slow`] says.
    SlowDiscards(u64),
    /// The drive does nothing for so many ns of the machine's time, `after` ns from now. It
    /// replaces a stall that is under way or to come: one of 0 ns ends it.
    Stall {
        /// How long until it begins.
        after: u64,
        /// How long it takes.
        span: u64,
    },
    /// Each discard ends at once and frees nothing; or discards free again what they say.
    IgnoredDiscards(bool),
    /// Each discard also frees these bytes before and behind it: whole multiples of 4 KiB. Zeroes
    /// heal the drive; what was lost stays lost.
    NeighbourLost {
        /// Before the first whole unit.
        before: u64,
        /// Behind the last whole unit.
        behind: u64,
    },
    /// Discarded blocks read as what was last written to them, whatever the drive promises; or as
    /// the profile says.
    OldDataAfterDiscard(bool),
}

/// The faults that are planted, beside those of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planted {
    pub(crate) power_is_off: bool,
    pub(crate) flushes_lie: bool,
    pub(crate) discards_are_ignored: bool,
    unreadable: Vec<Range<u64>>,
    good_reads: u32,
}

impl Planted {
    /// From now on these bytes cannot be read, and no others, once they were read `good_reads`
    /// times more.
    pub(crate) fn make_unreadable(&mut self, ranges: Vec<Range<u64>>, good_reads: u32) {
        self.good_reads = good_reads;
        self.unreadable = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    }

    /// These bytes cannot be read, beside those that could not.
    pub(crate) fn add_unreadable(&mut self, range: Range<u64>) {
        self.unreadable.push(range);
        self.good_reads = 0;
    }

    /// Whether these bytes can be read this time.
    pub(crate) fn read(&mut self, range: &Range<u64>) -> bool {
        if self.can_read(range) {
            return true;
        }
        let left = self.good_reads.checked_sub(1);
        self.good_reads = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether all of these bytes can be read.
    fn can_read(&self, range: &Range<u64>) -> bool {
        self.unreadable.iter().all(|bad| range.end <= bad.start || bad.end <= range.start)
    }

    /// A write replaced these bytes: they can be read again, as on a drive that puts a sector
    /// aside.
    pub(crate) fn written(&mut self, range: &Range<u64>) {
        if self.can_read(range) {
            return;
        }
        let pieces = |bad: Range<u64>| {
            [bad.start..bad.end.min(range.start), bad.start.max(range.end)..bad.end]
        };
        self.unreadable = std::mem::take(&mut self.unreadable)
            .into_iter()
            .flat_map(pieces)
            .filter(|piece| !piece.is_empty())
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_again_and_what_lies_beside_it_cannot() {
        let mut planted = Planted::default();
        planted.make_unreadable(vec![100..200, 5..5], 0);
        assert!(planted.can_read(&(0..100)) && planted.can_read(&(200..300)));
        assert!(!planted.can_read(&(199..300)) && !planted.can_read(&(0..101)));
        planted.written(&(120..150));
        assert!(planted.can_read(&(120..150)));
        assert!(!planted.can_read(&(119..121)) && !planted.can_read(&(149..151)));
        planted.written(&(0..1_000));
        assert!(planted.can_read(&(0..1_000)));
    }

    #[test]
    fn reads_fail_after_so_many_good_ones_of_the_same_bytes() {
        let mut planted = Planted::default();
        planted.make_unreadable(vec![100..200, 5..5], 2);
        let reads = [0..100, 100..200, 150..160, 190..300, 0..100, 0..101];
        let [before, first, second, third, beside, fourth] = reads.map(|it| planted.read(&it));
        assert!(before && first && second && beside);
        assert!(!third && !fourth);
    }
}
