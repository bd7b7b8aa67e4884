//! The text output of blkparse for blktrace's events:
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//!   device cpu sequence   seconds       pid  event RWBS sector + sectors [process]
//! ```
//!
//! An event of no bytes has no sector. The rest of the line after the sectors is ignored, and so is
//! the summary at the end.

use crate::record::{Record, RecordKind};
use crate::tally::{Flaw, Ignored};

use super::Event;
use super::fields::{Fields, SHAPE};
use super::strictness::{Devices, Skip, command, units};
use super::text::Parser;

/// Bytes of a sector.
const SECTOR: u64 = 512;
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
#[derive(Debug)]
pub(super) struct Blkparse {
    pub(super) event: Event,
}

impl Parser for Blkparse {
    const ENDS_LINES: bool = true;
    const FROM_ZERO: bool = true;
    const SHAPE: &'static str =
        "`major,minor cpu sequence seconds pid event RWBS sector + sectors`, as blkparse prints";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
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
        Err(Skip::Flaw(Flaw::Operation))
    }
}
