//! `MiDAS`.

#[cfg(test)]
mod tests;

use crate::format::fields::{Fields, SHAPE};
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::record::{Record, RecordKind};

use super::columns::OPERATION;

/// Bytes of a block.
const FOUR_KIB: u64 = 4096;

pub(crate) static FORMAT: Format = Format {
    id: "midas",
    title: "MiDAS [MIDAS23]",
    has_discards: true,
    timestamps: "as printed",
    grammar: "`seconds type block bytes [stream]`: types 0 read, 1 write, 3 TRIM; blocks of 4 KiB; \
              streams are ignored.",
    sample: "0.146559796 1 0 4096 \n0.146609386 0 1 8182 0\n2 3 2 4096\n",
    ..lines::format::<Midas>()
};

#[derive(Debug, Default)]
struct Midas;

impl LineFormat for Midas {
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Trace);
    const SHAPE: &'static str = "`seconds 0, 1 or 3 block bytes [stream]`";

    fn parse(&mut self, line: &[u8], _: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let stamp = fields.seconds()?;
        if !matches!(fields.rest(), [b' ' | b'\t', ..]) {
            return Err(SHAPE);
        }
        fields.blanks();
        let kind = match fields.word() {
            b"0" => RecordKind::Read,
            b"1" => RecordKind::Write,
            b"3" => RecordKind::Discard,
            _ => return Err(OPERATION),
        };
        let start = fields.number_word()?;
        let length = fields.number_word()?;
        if !fields.rest().is_empty() {
            fields.number_word()?;
            fields.end()?;
        }
        command(kind, stamp, units(start, FOUR_KIB)?, length)
    }

    /// Four whole numbers could be anything.
    fn is_distinct(lines: &[&[u8]]) -> bool {
        lines.iter().any(|line| line.contains(&b'.'))
    }

    fn example(record: &Record) -> Option<String> {
        let operation = match record.kind {
            RecordKind::Read => 0,
            RecordKind::Write => 1,
            RecordKind::Discard => 3,
            RecordKind::Flush => return None,
        };
        let (block, length) = (record.offset.0 / FOUR_KIB, record.length.0);
        let (seconds, nanos) = (record.time.0 / 1_000_000_000, record.time.0 % 1_000_000_000);
        Some(format!("{seconds}.{nanos:09} {operation} {block} {length}"))
    }
}
