//! The text output of blkparse for blktrace's events:
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//!   device cpu sequence   seconds       pid  event RWBS sector + sectors [process]
//! ```
//!
//! An event of no bytes has no sector. The rest of the line after the sectors is ignored, and so is
//! the summary at the end.

#[cfg(test)]
mod tests;

use trimbench_core::Bytes;

use crate::format::buffer::Buffer;
use crate::format::digits::{decimal, padded};
use crate::format::fields::{Fields, SHAPE};
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{
    ClockOrigin, Event, Format, PrintOptions, Printed, Printer, ReadOptions, Writing,
};
use crate::latency::LatencyEvent;
use crate::record::{Record, RecordKind};
use crate::source::TraceError;
use crate::tally::Ignored;

use super::columns::{OPERATION, SECTOR};

pub(crate) static FORMAT: Format = Format {
    id: "blkparse",
    title: "text output of blkparse",
    has_discards: true,
    timestamps: "1 ns",
    grammar: include_str!("blkparse/grammar.txt"),
    sample: "  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n  \
             8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n  \
             8,0    0        3     1.500000001     0  m   N cfq697 insert_request\n  \
             8,0    0        3     2.500000001     0  Q  DS 0 + 8388616 [a (b) c]\n\
             259,0 0 3 2.500000001 0 D FN [swapper/0]\n  \
             8,0    0        3     2.600000001     0  Q FWS [kworker/1:1H]\n  \
             8,0    0        3     2.600000002     0  Q  RA 8 + 8\n\
             CPU0 (sda):\n Reads Queued:         144,     1404KiB\t Writes Queued:         740\n\
             \nTotal (sda):\nThroughput (R/W): 1KiB/s / 2KiB/s\nEvents (sda): 3 entries\n\
             Skips: 0 \n",
    writing: Writing::Text(Printer { heading: |_| b"", line: print }),
    ..lines::format::<Blkparse>()
};

/// How the lines of a summary begin, without the blanks in front.
const SUMMARY: [&[u8]; 12] = [
    b"CPU",
    b"Total",
    b"Reads ",
    b"Read ",
    b"Writes ",
    b"Write ",
    b"PC ",
    b"IO unplugs",
    b"Throughput",
    b"Events",
    b"Skips",
    b"Input file",
];

/// Lines of blkparse.
#[derive(Debug, Default)]
struct Blkparse {
    event: Event,
    /// Whether issues and completions are told.
    latencies: bool,
    told: Option<LatencyEvent>,
}

impl LineFormat for Blkparse {
    const ENDS_LINES: bool = true;
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Trace);
    const SHAPE: &'static str =
        "`major,minor cpu sequence seconds pid event RWBS sector + sectors`, as blkparse prints";

    fn open(_: &mut Buffer, options: &ReadOptions) -> Result<Self, TraceError> {
        Ok(Self { event: options.event, latencies: options.latencies, told: None })
    }

    fn latency(&mut self) -> Option<LatencyEvent> {
        self.told.take()
    }

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        self.told = None;
        let mut fields = Fields::new(line);
        if !line[0].is_ascii_digit() {
            let summary = SUMMARY.iter().any(|start| line.starts_with(start));
            return Err(if summary { Skip::Ignored(Ignored::Text) } else { SHAPE });
        }
        fields.number()?;
        fields.byte(b',')?;
        fields.number()?;
        let device = &line[..line.len() - fields.rest().len()];
        // The minor number is padded on its right, the processor's on its left.
        fields.blanks();
        fields.number_word()?;
        fields.number_word()?;
        let stamp = fields.seconds()?;
        fields.blanks();
        fields.number_word()?;
        let action = fields.word();
        let wanted: &[u8] = match self.event {
            Event::Queue => b"Q",
            Event::Issue => b"D",
        };
        if self.latencies && matches!(action, b"D" | b"C") && devices.is_read(device) {
            self.told = told(action, stamp, fields.rest());
        }
        if action != wanted {
            return Err(Skip::Ignored(match action {
                b"" => return Err(SHAPE),
                b"m" => Ignored::Notice,
                _ => Ignored::OtherEvent,
            }));
        }
        let operation = fields.word();
        let flushes = operation.contains(&b'F');
        if !matches!(fields.rest(), [b'0'..=b'9' | b'-', ..]) {
            let what = if operation.contains(&b'N') && !flushes {
                Ignored::Passthrough
            } else {
                Ignored::Empty
            };
            devices.check(device)?;
            return if flushes {
                command(RecordKind::Flush, stamp, 0, 0)
            } else {
                Err(Skip::Ignored(what))
            };
        }
        let sector = fields.number_word()?;
        if fields.byte(b'+').is_err() {
            // Bytes of a command stand in parentheses behind its length in bytes.
            let bytes = matches!(fields.rest(), [b'(' | b'[', ..] | []);
            return Err(if bytes { Skip::Ignored(Ignored::Passthrough) } else { SHAPE });
        }
        fields.blanks();
        let sectors = fields.number_word()?;
        devices.check(device)?;
        command(kind(operation)?, stamp, units(sector, SECTOR)?, units(sectors, SECTOR)?)
    }
}

/// What an issue or a completion says, from its RWBS on; `None` if it is no command with a range.
fn told(action: &[u8], stamp: u64, rest: &[u8]) -> Option<LatencyEvent> {
    let mut fields = Fields::new(rest);
    let operation = fields.word();
    let (sector, kind) = (fields.number_word().ok()?, kind(operation).ok()?);
    fields.byte(b'+').ok()?;
    fields.blanks();
    let sectors = fields.number_word().ok()?;
    let bytes = |count| units(count, SECTOR).ok().map(Bytes);
    let (offset, length) = (bytes(sector)?, bytes(sectors)?);
    Some(match action {
        b"D" => LatencyEvent::Issued(kind, offset, length, stamp),
        _ => LatencyEvent::Completed(kind, offset, length, stamp),
    })
}

/// What RWBS says is done.
fn kind(operation: &[u8]) -> Result<RecordKind, Skip> {
    let has = |letter| operation.contains(&letter);
    if has(b'D') {
        Ok(RecordKind::Discard)
    } else if has(b'W') {
        Ok(RecordKind::Write)
    } else if has(b'R') {
        Ok(RecordKind::Read)
    } else if has(b'F') {
        Ok(RecordKind::Flush)
    } else if has(b'N') {
        Err(Skip::Ignored(Ignored::Passthrough))
    } else {
        Err(OPERATION)
    }
}

/// A line as blkparse prints an event `Q`; device, processor and process are made up.
fn print(text: &mut Vec<u8>, record: &Record, options: PrintOptions) -> Printed {
    if !(record.offset.0 | record.length.0).is_multiple_of(SECTOR) {
        return Printed::Inexpressible;
    }
    text.extend_from_slice(b"  8,0    0 ");
    padded(text, options.number, 8, b' ');
    text.push(b' ');
    padded(text, record.time.0 / 1_000_000_000, 5, b' ');
    text.push(b'.');
    padded(text, record.time.0 % 1_000_000_000, 9, b'0');
    let operation: &[u8] = match record.kind {
        RecordKind::Read => b"     0  Q   R ",
        RecordKind::Write => b"     0  Q   W ",
        RecordKind::Discard => b"     0  Q   D ",
        RecordKind::Flush => b"     0  Q  FN [trimbench]\n",
    };
    text.extend_from_slice(operation);
    if record.kind == RecordKind::Flush {
        return Printed::Exact;
    }
    decimal(text, record.offset.0 / SECTOR);
    text.extend_from_slice(b" + ");
    decimal(text, record.length.0 / SECTOR);
    text.extend_from_slice(b" [trimbench]\n");
    Printed::Exact
}
