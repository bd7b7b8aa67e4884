//! Shared by the readers of all formats: strictness, the counts of errors, the chosen device, and
//! the clock.

use trimbench_core::{Bytes, Nanos};

use crate::latency::{LatencyEvent, TraceLatencies};
use crate::record::{Record, RecordKind};
use crate::tally::{Flaw, Ignored, ReadCounts};

use super::ReadOptions;

/// Why a line or an event is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    /// It is right, and no command.
    Ignored(Ignored),
    /// It is wrong.
    Flaw(Flaw),
}

/// What the readers of all files of a trace share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tally: ReadCounts,
    pub(crate) lenient: bool,
    pub(crate) devices: Devices,
    pub(crate) clock: Clock,
    /// Only if they are asked for.
    pub(crate) latencies: Option<Box<TraceLatencies>>,
}

/// Which device is read.
#[derive(Debug)]
pub(crate) struct Devices {
    wanted: Option<Vec<u8>>,
    /// That of the first command, if none was named.
    first: Option<Vec<u8>>,
}

/// Makes stamps of a trace out of a file's.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    zero: Option<u64>,
    last: u64,
}

impl Shared {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        let wanted = options.device.as_ref().map(|device| device.as_bytes().to_vec());
        Self {
            tally: ReadCounts::default(),
            lenient: options.lenient,
            devices: Devices { wanted, first: None },
            clock: Clock::default(),
            latencies: options.latencies.then(Box::default),
        }
    }

    /// Takes in what was said of a latency.
    #[inline]
    pub(crate) fn latency(&mut self, event: Option<LatencyEvent>) {
        if let (Some(latencies), Some(event)) = (&mut self.latencies, event) {
            latencies.add(event);
        }
    }
}

impl Devices {
    /// Whether commands of this device are read, as far as is known before the next command.
    pub(crate) fn is_read(&self, device: &[u8]) -> bool {
        self.wanted.as_ref().or(self.first.as_ref()).is_none_or(|it| it == device)
    }

    /// Whether commands of this device are read.
    #[inline]
    pub(crate) fn check(&mut self, device: &[u8]) -> Result<(), Skip> {
        if let Some(wanted) = &self.wanted {
            let other = Skip::Ignored(Ignored::OtherDevice);
            return if wanted == device { Ok(()) } else { Err(other) };
        }
        match &self.first {
            Some(first) if first == device => Ok(()),
            Some(_) => Err(Skip::Flaw(Flaw::Device)),
            None => {
                self.first = Some(device.to_vec());
                Ok(())
            }
        }
    }
}

impl Clock {
    /// The stamp of a command, from a file's in nanoseconds. Where the file's clock did not begin
    /// with the trace (`absolute`), the first command is at 0. A stamp before the last one is a
    /// flaw, and what is given beside it is the last one.
    #[inline]
    pub(crate) fn stamp(&mut self, stamp: u64, absolute: bool) -> (Nanos, bool) {
        let zero = *self.zero.get_or_insert(if absolute { stamp } else { 0 });
        match stamp.checked_sub(zero) {
            Some(time) if time >= self.last => {
                self.last = time;
                (Nanos(time), true)
            }
            _ => (Nanos(self.last), false),
        }
    }
}

/// A command of any kind, with its range checked. The time is still the file's.
#[inline]
pub(crate) fn command(
    kind: RecordKind,
    time: u64,
    offset: u64,
    length: u64,
) -> Result<Record, Skip> {
    let (offset, length) = if kind == RecordKind::Flush { (0, 0) } else { (offset, length) };
    if offset.checked_add(length).is_none() {
        return Err(Skip::Flaw(Flaw::Beyond));
    }
    if length == 0 && kind != RecordKind::Flush {
        return Err(Skip::Ignored(Ignored::Empty));
    }
    Ok(Record { time: Nanos(time), kind, offset: Bytes(offset), length: Bytes(length) })
}

/// `count` units of `unit` bytes or nanoseconds.
#[inline]
pub(crate) fn units(count: u64, unit: u64) -> Result<u64, Skip> {
    count.checked_mul(unit).ok_or(Skip::Flaw(Flaw::Beyond))
}
