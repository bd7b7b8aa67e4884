//! Curves of a load while it runs: throughput against address, IOPS against time.
//!
//! Every command counts in one point; a point is a mean over its range, never a sample.

use trimbench_core::units::index;
use trimbench_core::{BlockCommand, BlockSize, Bytes, FileCommand, Instant, Nanos};
use trimbench_results::{Series, Step, steps};

use crate::runner::{Observer, Sample};

#[cfg(test)]
mod tests;

/// Points of a curve over addresses.
const POINTS: u64 = 400;
/// Parts of a point, of which the slowest is kept beside the mean.
const PARTS: u64 = 8;
/// A curve over time has this many points or more, up to twice as many.
const SLICES: usize = 16;

steps! {
    /// The curves of a sequential pass.
    #[derive(Clone, Debug)]
    pub struct PassStep {
        /// throughput of the slowest part
        measured throughput_mb_per_s_min: Option<f64>;
        /// throughput against the address
        series means: Option<Series> = "throughput-address";
        /// the same of the slowest part of each point
        series slowest: Option<Series> = "throughput-address-min";
    }

    /// The curves of a load.
    #[derive(Clone, Debug)]
    pub struct RateStep {
        /// IOPS against time
        series by_time: Option<Series> = "iops-time";
        /// IOPS against what was accessed
        series by_bytes: Option<Series> = "iops-accessed";
    }
}

/// Throughput of a sequential pass against the address.
///
/// Sources show it as the rate at which each part of the span was written, so a part's time is that
/// from the end of the part before to its own end, by the last completion of each.
#[derive(Debug)]
pub struct PassSeries {
    begun: Instant,
    logical_block: BlockSize,
    /// Bytes of a part; the last may be shorter.
    part: u64,
    /// Bytes that ended in each part, and when the last of them did.
    parts: Vec<(u64, Instant)>,
}

impl PassSeries {
    /// A pass over `[0, span)` in pieces of `piece` bytes, from `begun` on.
    pub fn new(span: Bytes, piece: Bytes, logical_block: BlockSize, begun: Instant) -> Self {
        let pieces = span.pieces(piece);
        let part = pieces.div_ceil(POINTS * PARTS) * piece.0;
        let parts = vec![(0, begun); index(span.0.div_ceil(part))];
        Self { begun, logical_block, part, parts }
    }

    /// Notes the curve of the means and that of the slowest parts.
    pub fn store(&self, step: &mut Step) {
        let parts = self.rates();
        let per_point = index(PARTS);
        let (mut x, mut means, mut slowest) = (Vec::new(), Vec::new(), Vec::new());
        for (number, point) in parts.chunks(per_point).enumerate() {
            let bytes: f64 = point.iter().map(|part| part.0).sum();
            let seconds: f64 = point.iter().map(|part| part.1).sum();
            let middle = (number as f64 + 0.5) * self.part as f64 * per_point as f64;
            x.push(middle / 1e9);
            means.push((seconds > 0.0).then(|| bytes / 1e6 / seconds));
            let rates = point.iter().filter(|part| part.1 > 0.0).map(|part| part.0 / 1e6 / part.1);
            slowest.push(rates.reduce(f64::min));
        }
        step.store(&PassStep {
            throughput_mb_per_s_min: slowest.iter().flatten().copied().reduce(f64::min),
            means: Series::new("GB", "MB/s", x.clone(), means),
            slowest: Series::new("GB", "MB/s", x, slowest),
        });
    }

    /// Bytes and seconds of each part. A part that ended no later than the one before has taken no
    /// time of its own; its bytes count in the next.
    fn rates(&self) -> Vec<(f64, f64)> {
        let (mut before, mut carried) = (self.begun, 0);
        let mut rates = Vec::with_capacity(self.parts.len());
        for &(bytes, ended) in &self.parts {
            carried += bytes;
            if ended > before {
                rates.push((carried as f64, ended.since(before).seconds()));
                (before, carried) = (ended, 0);
            } else {
                rates.push((0.0, 0.0));
            }
        }
        if let (Some(last), true) = (rates.iter_mut().rev().find(|part| part.1 > 0.0), carried > 0)
        {
            last.0 += carried as f64;
        }
        rates
    }
}

impl PassSeries {
    #[inline]
    fn wrote(&mut self, start: u64, length: Bytes, ended: Instant) {
        let part = &mut self.parts[index(start / self.part)];
        part.0 += length.0;
        part.1 = part.1.max(ended);
    }
}

impl Observer<BlockCommand> for PassSeries {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        if let BlockCommand::Write { range, .. } = sample.command {
            let start = range.start().0 * self.logical_block.bytes().0;
            self.wrote(start, range.length().bytes(self.logical_block), sample.completed);
        }
    }
}

/// Of a pass over a file: its offsets are the addresses.
impl Observer<FileCommand> for PassSeries {
    #[inline]
    fn observe(&mut self, sample: &Sample<FileCommand>) {
        if let FileCommand::Write { offset, length, .. } = sample.command {
            self.wrote(offset.0, length, sample.completed);
        }
    }
}

/// IOPS of a load against time, in slices of equal numbers of commands.
#[derive(Debug)]
pub struct RateCurve {
    begun: Instant,
    /// Commands of a slice; doubles when there are too many slices.
    slice: u64,
    in_slice: u64,
    last: Instant,
    /// When each slice ended.
    ends: Vec<Instant>,
}

impl RateCurve {
    /// A load from `begun` on, of `expected` commands or more.
    pub fn new(expected: u64, begun: Instant) -> Self {
        let slice = (expected / SLICES as u64).max(1);
        Self { begun, slice, in_slice: 0, last: begun, ends: Vec::new() }
    }

    /// Notes IOPS against time and against what was accessed, by commands of `access` bytes; the
    /// axes begin at `seconds` and `gigabytes`.
    pub fn store(&self, step: &mut Step, seconds: f64, gigabytes: f64, access: Bytes) {
        let slices = self.slices();
        let y: Vec<Option<f64>> = slices.iter().map(|slice| Some(slice.2)).collect();
        let time = slices.iter().map(|slice| seconds + slice.1.since(self.begun).seconds());
        let bytes = slices.iter().map(|slice| gigabytes + slice.0 * access.0 as f64 / 1e9);
        step.store(&RateStep {
            by_time: Series::new("s", "IOPS", time.collect(), y.clone()),
            by_bytes: Series::new("GB", "IOPS", bytes.collect(), y),
        });
    }

    /// The middle (in commands since the beginning), the end and the IOPS of each slice. A rest
    /// that fills half a slice is one of its own; less counts in the slice before, for the last
    /// commands alone are no load, and a point of them would look like a fall.
    fn slices(&self) -> Vec<(f64, Instant, f64)> {
        let mut ended: Vec<(Instant, u64)> =
            self.ends.iter().map(|end| (*end, self.slice)).collect();
        match ended.last_mut() {
            Some((end, count)) if 2 * self.in_slice < self.slice => {
                (*end, *count) = (self.last, *count + self.in_slice);
            }
            _ if self.in_slice > 0 => ended.push((self.last, self.in_slice)),
            _ => {}
        }
        let (mut before, mut commands) = (self.begun, 0);
        let mut slices = Vec::new();
        for (end, count) in ended {
            let seconds = end.since(before).seconds();
            if seconds > 0.0 {
                let middle = commands as f64 + count as f64 / 2.0;
                slices.push((middle, end, count as f64 / seconds));
                before = end;
            }
            commands += count;
        }
        slices
    }
}

impl Observer<BlockCommand> for RateCurve {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        self.last = self.last.max(sample.completed);
        if let BlockCommand::Discard(_) = sample.command {
            return;
        }
        self.in_slice += 1;
        if self.in_slice == self.slice {
            self.in_slice = 0;
            self.ends.push(self.last);
            if self.ends.len() == 2 * SLICES {
                // Every other end stays: two slices become one.
                self.ends = self.ends.iter().skip(1).step_by(2).copied().collect();
                self.slice *= 2;
            }
        }
    }
}

/// Throughput of a load against time, in slices of equal length.
#[derive(Debug)]
pub struct SliceCurve {
    begun: Instant,
    logical_block: BlockSize,
    slice: Nanos,
    /// Bytes that ended in each slice.
    slices: Vec<u64>,
}

impl SliceCurve {
    /// `count` slices of a load from `begun` on; what ends later is not counted.
    pub fn new(begun: Instant, slice: Nanos, count: usize, logical_block: BlockSize) -> Self {
        Self { begun, logical_block, slice, slices: vec![0; count] }
    }

    /// MB/s against the middle of each slice.
    pub fn curve(&self) -> Option<Series> {
        let seconds = self.slice.seconds();
        let x = (0..self.slices.len()).map(|slice| (slice as f64 + 0.5) * seconds).collect();
        let y = self.slices.iter().map(|bytes| Some(*bytes as f64 / 1e6 / seconds)).collect();
        Series::new("s", "MB/s", x, y)
    }
}

impl Observer<BlockCommand> for SliceCurve {
    #[inline]
    fn observe(&mut self, sample: &Sample<BlockCommand>) {
        if let BlockCommand::Read(range) | BlockCommand::Write { range, .. } = sample.command {
            let slice = index(sample.completed.since(self.begun).0 / self.slice.0);
            if let Some(bytes) = self.slices.get_mut(slice) {
                *bytes += range.length().bytes(self.logical_block).0;
            }
        }
    }
}
