//! blktrace's binary events (`linux/blktrace_api.h`, version 7), a file in the order of its clock.
//!
//! ```text
//! byte  0  u32 magic 0x65617400 | version      24  u32 bytes
//!       4  u32 sequence                        28  u32 action: event, and category << 16
//!       8  u64 nanoseconds                     32  u32 pid   36  u32 device: major << 20 | minor
//!      16  u64 sector of 512 bytes             40  u32 cpu   44  u16 error   46  u16 length of
//! ```
//!
//! what follows, which is not looked at. All in the byte order of the machine that recorded.
//!
//! Bytes have 32 bits: a longer TRIM is several events, as it is several commands. A write that
//! carries a flush, before its data or with it, is a write here.

mod merge;
#[cfg(test)]
mod tests;

use trimbench_core::{Bytes, Nanos};

use crate::format::buffer::Buffer;
use crate::format::shared::{Shared, Skip, command, units};
use crate::format::{BATCH, ClockOrigin, Detection, Event, Format, Reading, Writing, excerpt};
use crate::latency::LatencyEvent;
use crate::record::{Record, RecordKind};
use crate::source::{TraceError, TracePosition};
use crate::tally::{Flaw, Ignored};

use super::columns::SECTOR;
use merge::Merge;

pub(crate) static FORMAT: Format = Format {
    id: "blktrace",
    title: "blktrace's binary events",
    has_discards: true,
    timestamps: "1 ns",
    grammar: include_str!("blktrace/grammar.txt"),
    sample: "",
    detection: Detection::Beginning("its magic number, in either byte order", is_magic),
    clock: Some(ClockOrigin::Event),
    reading: Reading::Merged(|buffers, options| Box::new(Merge::new(buffers, options))),
    writing: Writing::Example(example),
};

/// Bytes of an event, without what follows it.
const EVENT: usize = 48;
const MAGIC: u32 = 0x6561_7407;

/// Events, in the low half of the action.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;

/// Categories, in the high half of the action.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const PASSTHROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

/// A file of events.
struct Blktrace {
    buffer: Buffer,
    /// The event that is a command.
    wanted: u32,
    /// Whether the first event had its most significant bytes first.
    big_endian: Option<bool>,
    /// The stamp of the first event that is no notice.
    first: Option<u64>,
    /// The stamp of the last command, or of the first event.
    last: u64,
    /// Whether issues and completions are told: it is the only file of the trace.
    latencies: bool,
    /// The text of the device of the last command: formatting it each time would take long.
    device: (u32, String),
}

/// The fields of an event that are looked at.
#[derive(Clone, Copy, Debug)]
struct Fields {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    following: usize,
}

impl Blktrace {
    fn new(buffer: Buffer, event: Event, latencies: bool) -> Self {
        let wanted = match event {
            Event::Queue => QUEUE,
            Event::Issue => ISSUE,
        };
        let device = (0, "0,0".to_owned());
        Self { buffer, wanted, big_endian: None, first: None, last: 0, latencies, device }
    }

    fn name(&self) -> &str {
        self.buffer.name()
    }

    /// The stamp of the first event that is no notice, if one was seen.
    fn first(&self) -> Option<u64> {
        self.first
    }

    /// Which byte order the file has, once an event was seen.
    fn big_endian(&self) -> Option<bool> {
        self.big_endian
    }

    /// Puts the next commands into `batch`; none at the end. Their time is the file's.
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while batch.len() < BATCH {
            let window = self.buffer.available();
            if window.len() < EVENT {
                if !self.buffer.ended() {
                    self.buffer.fill()?;
                    continue;
                }
                if !window.is_empty() {
                    self.flaw(Flaw::Cut, shared)?;
                    let rest = self.buffer.available().len();
                    self.buffer.consume(rest);
                }
                break;
            }
            let event: &[u8; EVENT] = window[..EVENT].try_into().expect("it was cut to length");
            let fields = match Fields::read(event, &mut self.big_endian) {
                Ok(fields) => fields,
                Err(flaw) => {
                    self.flaw(flaw, shared)?;
                    self.resume()?;
                    continue;
                }
            };
            let length = EVENT + fields.following;
            if window.len() < length {
                if self.buffer.ended() {
                    self.flaw(Flaw::Cut, shared)?;
                    let rest = self.buffer.available().len();
                    self.buffer.consume(rest);
                    break;
                }
                self.buffer.fill()?;
                continue;
            }
            match self.record(fields, shared) {
                Ok(record) => batch.push(record),
                Err(Skip::Ignored(what)) => shared.tally.ignore(what),
                Err(Skip::Flaw(flaw)) => {
                    self.flaw(flaw, shared)?;
                    if flaw == Flaw::Order
                        && let Ok(record) =
                            self.record(Fields { time: self.last, ..fields }, shared)
                    {
                        batch.push(record);
                    }
                }
            }
            self.buffer.consume(length);
        }
        Ok(())
    }

    #[inline]
    fn record(&mut self, fields: Fields, shared: &mut Shared) -> Result<Record, Skip> {
        let Fields { time, action, .. } = fields;
        if action & NOTIFY != 0 {
            return Err(Skip::Ignored(Ignored::Notice));
        }
        if self.first.is_none() {
            (self.first, self.last) = (Some(time), time);
        }
        if self.latencies && matches!(action & 0xffff, ISSUE | COMPLETE) {
            let (major, minor) = (fields.device >> 20, fields.device & 0xf_ffff);
            if shared.devices.is_read(format!("{major},{minor}").as_bytes()) {
                shared.latency(told(fields));
            }
        }
        if action & 0xffff != self.wanted {
            return Err(Skip::Ignored(Ignored::OtherEvent));
        }
        if action & PASSTHROUGH != 0 {
            return Err(Skip::Ignored(Ignored::Passthrough));
        }
        if fields.device != self.device.0 {
            let (major, minor) = (fields.device >> 20, fields.device & 0xf_ffff);
            self.device = (fields.device, format!("{major},{minor}"));
        }
        shared.devices.check(self.device.1.as_bytes())?;
        let kind = match kind(fields) {
            Some(kind) => kind,
            // Neither the one nor the other and of no bytes: what the block layer tells itself.
            None if fields.bytes == 0 => return Err(Skip::Ignored(Ignored::Empty)),
            None => return Err(Skip::Flaw(Flaw::Operation)),
        };
        if time < self.last {
            return Err(Skip::Flaw(Flaw::Order));
        }
        let offset = if kind == RecordKind::Flush { 0 } else { units(fields.sector, SECTOR)? };
        let record = command(kind, time, offset, u64::from(fields.bytes))?;
        self.last = time;
        Ok(record)
    }

    /// Counts what is wrong with the event at the beginning of the window, or ends with it.
    #[cold]
    fn flaw(&self, flaw: Flaw, shared: &mut Shared) -> Result<(), TraceError> {
        if shared.lenient {
            shared.tally.flaw(flaw);
            return Ok(());
        }
        let window = self.buffer.available();
        let bytes = excerpt(&window[..window.len().min(4)]);
        let (found, expected) = match flaw {
            Flaw::Cut => (format!("{} bytes of an event", window.len()), "the whole event"),
            Flaw::Magic => (format!("`{bytes}`"), "an event of blktrace's version 7"),
            Flaw::ByteOrder => ("an event of the other byte order".to_owned(), "one byte order"),
            Flaw::Beyond => ("a range beyond 2^64".to_owned(), "ranges below 2^64"),
            Flaw::Order => (
                "a stamp before that of the command before".to_owned(),
                "events in the order of time: sort them by `blkparse -d`",
            ),
            Flaw::Device => (
                "a command of another device".to_owned(),
                "the device of the commands before: choose one",
            ),
            _ => ("an operation that is none".to_owned(), "a read, write, discard or flush"),
        };
        let (name, place) = (self.name().to_owned(), TracePosition::Byte(self.buffer.position()));
        Err(TraceError::Broken { name, place, found, expected })
    }

    /// Goes on to what may be the next event.
    #[cold]
    fn resume(&mut self) -> Result<(), TraceError> {
        let magic = match self.big_endian {
            Some(true) => MAGIC.to_be_bytes(),
            _ => MAGIC.to_le_bytes(),
        };
        self.buffer.consume(1);
        loop {
            let window = self.buffer.available();
            if let Some(at) = memchr::memmem::find(window, &magic) {
                self.buffer.consume(at);
                return Ok(());
            }
            if self.buffer.ended() {
                let rest = window.len();
                self.buffer.consume(rest);
                return Ok(());
            }
            // The last bytes may be the beginning of one.
            let passed = window.len().saturating_sub(magic.len() - 1);
            self.buffer.consume(passed);
            self.buffer.fill()?;
        }
    }
}

/// What is done.
#[inline]
fn kind(Fields { action, bytes, .. }: Fields) -> Option<RecordKind> {
    match action {
        _ if action & DISCARD != 0 => Some(RecordKind::Discard),
        _ if action & FLUSH != 0 && bytes == 0 => Some(RecordKind::Flush),
        _ if action & WRITE != 0 => Some(RecordKind::Write),
        _ if action & READ != 0 => Some(RecordKind::Read),
        _ => None,
    }
}

/// What an issue or a completion says; `None` if it is no command with a range.
fn told(fields: Fields) -> Option<LatencyEvent> {
    if fields.action & PASSTHROUGH != 0 || fields.bytes == 0 {
        return None;
    }
    let kind = kind(fields)?;
    let offset = Bytes(units(fields.sector, SECTOR).ok()?);
    let length = Bytes(u64::from(fields.bytes));
    Some(match fields.action & 0xffff {
        ISSUE => LatencyEvent::Issued(kind, offset, length, fields.time),
        _ => LatencyEvent::Completed(kind, offset, length, fields.time),
    })
}

impl Fields {
    /// The fields in the byte order that its magic shows, which must be that of the file.
    #[inline]
    fn read(event: &[u8; EVENT], order: &mut Option<bool>) -> Result<Self, Flaw> {
        let magic = u32::from_le_bytes([event[0], event[1], event[2], event[3]]);
        let big_endian = match magic {
            MAGIC => false,
            _ if magic.swap_bytes() == MAGIC => true,
            _ => return Err(Flaw::Magic),
        };
        if *order.get_or_insert(big_endian) != big_endian {
            return Err(Flaw::ByteOrder);
        }
        let half = |at: usize| {
            let bytes = [event[at], event[at + 1]];
            if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
        };
        let word = |at: usize| {
            let bytes = [event[at], event[at + 1], event[at + 2], event[at + 3]];
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let double = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if big_endian { first << 32 | second } else { second << 32 | first }
        };
        Ok(Self {
            time: double(8),
            sector: double(16),
            bytes: word(24),
            action: word(28),
            device: word(36),
            following: usize::from(half(46)),
        })
    }
}

/// The record with the stamps of a trace, which begins at `zero`.
#[inline]
fn since(record: Record, zero: u64) -> Record {
    Record { time: Nanos(record.time.0.saturating_sub(zero)), ..record }
}

/// `0x65617400 | version`, in either byte order.
fn is_magic(start: &[u8]) -> bool {
    matches!(start, [_, b't', b'a', b'e', ..] | [b'e', b'a', b't', _, ..])
}

/// An event of what is queued, as a little-endian processor writes it; its length must have 32
/// bits.
fn example(record: &Record) -> Option<Vec<u8>> {
    const DEVICE: u32 = 8 << 20;
    let kind = match record.kind {
        RecordKind::Read => READ,
        RecordKind::Write => WRITE,
        RecordKind::Flush => FLUSH,
        RecordKind::Discard => DISCARD | WRITE,
    };
    let length = u32::try_from(record.length.0).ok()?;
    let mut event = [MAGIC, 0].map(u32::to_le_bytes).concat();
    event.extend([record.time.0, record.offset.0 / SECTOR].map(u64::to_le_bytes).concat());
    // Bytes, action, process, device, processor; then the error and what follows it, nothing.
    event.extend([length, kind | QUEUE, 42, DEVICE, 0, 0].map(u32::to_le_bytes).concat());
    Some(event)
}
