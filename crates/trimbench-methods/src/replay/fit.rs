//! Fits addresses of a trace to a device: scaling, whole logical blocks, and TRIMs above the
//! device's limit.

use trimbench_core::{Bytes, LbaRange};
use trimbench_trace::{Record, RecordKind};

use super::options::Scaling;
use trimbench_engine::Shape;
use trimbench_engine::device_runner::cut_at_units;

/// Addresses that were scaled are multiples of this where they were before.
const ALIGNMENT: u64 = 4_096;

/// How commands of a trace are fitted to a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    scaling: Scaling,
    /// Bytes of the device that are used, and of the trace.
    pub(super) room: u64,
    span: u64,
    block: u64,
    shape: Shape,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fitted {
    /// Where it goes; `None` if nothing is left of it. For flushes without meaning.
    pub(super) range: Option<(u64, u64)>,
    /// It is not as it was in the trace.
    pub(super) altered: bool,
}

impl Fit {
    /// For the first `room` bytes of a device and a trace that spans `span` bytes.
    pub(super) fn new(scaling: Scaling, room: Bytes, span: Bytes, shape: Shape) -> Self {
        let block = shape.logical_block.bytes().0;
        Self { scaling, room: room.0, span: span.0.max(1), block, shape }
    }

    /// Where a command with a range goes on the device, as `(start, end)` in bytes.
    #[inline]
    pub(super) fn fit(&self, record: &Record) -> Fitted {
        let (start, end) = (record.offset.0, record.end().0);
        let whole = start.is_multiple_of(self.block) && end.is_multiple_of(self.block);
        let as_it_is = self.scaling != Scaling::Linear || self.span == self.room;
        if whole && as_it_is && end <= self.room && start < end {
            return Fitted { range: Some((start, end)), altered: false };
        }
        self.alter(record)
    }

    #[cold]
    fn alter(&self, record: &Record) -> Fitted {
        let (start, length) = self.scale(record.offset.0, record.length.0);
        // A write of part of a block is one of all of it; a TRIM of part of a block is none.
        let (start, end) = if record.kind == RecordKind::Discard {
            let end = (start + length) / self.block * self.block;
            (start.next_multiple_of(self.block), end)
        } else {
            let end = (start + length).next_multiple_of(self.block);
            (start / self.block * self.block, end)
        };
        let end = end.min(self.room / self.block * self.block);
        let range = (start < end && length > 0).then_some((start, end));
        let altered = range != Some((record.offset.0, record.end().0));
        Fitted { range, altered }
    }

    /// Start and length on the device, which may still end beyond it.
    fn scale(&self, start: u64, length: u64) -> (u64, u64) {
        let room = self.room;
        match self.scaling {
            Scaling::Refuse | Scaling::Truncate => (start.min(room), length.min(u64::MAX - room)),
            Scaling::Modulo => {
                let length = length.min(room);
                ((start % room).min(room - length), length)
            }
            Scaling::Linear => {
                let length = length.min(room);
                let scaled = u128::from(start) * u128::from(room) / u128::from(self.span);
                let scaled = u64::try_from(scaled).unwrap_or(u64::MAX).min(room - length);
                let aligned = start.is_multiple_of(ALIGNMENT);
                (if aligned { scaled / ALIGNMENT * ALIGNMENT } else { scaled }, length)
            }
        }
    }

    /// `[start, end)` in pieces that the device takes as one TRIM.
    pub(super) fn pieces(&self, range: (u64, u64)) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Shape { discard_max, origin, granularity, .. } = self.shape;
        cut_at_units(range, discard_max.0, origin.0, granularity.0)
    }

    /// The logical blocks of `[start, end)`.
    #[inline]
    pub(super) fn blocks(&self, (start, end): (u64, u64)) -> LbaRange {
        LbaRange::from_bytes(Bytes(start), Bytes(end - start), self.shape.logical_block)
            .expect("what was fitted is whole logical blocks")
    }
}
