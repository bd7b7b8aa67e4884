//! The client master trace of JESD219A: `Write 8 16`, `Trim 8 16`, `Flush`, in logical blocks of
//! 512 bytes, without stamps. Read liberally, because the standard's text cannot be checked freely:
//! any case, blanks, tabs and commas between fields, a blank in front, CR at the end.

#[cfg(test)]
mod tests;

use crate::format::fields::{Fields, SHAPE};
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{ClockOrigin, Format};
use crate::record::{Record, RecordKind};

use super::columns::{OPERATION, SECTOR};

pub(crate) static FORMAT: Format = Format {
    id: "jedec",
    title: "the client master trace of JESD219A, as text",
    has_discards: true,
    grammar: include_str!("jedec/grammar.txt"),
    sample: " Write 8 16\r\n TRIMS 1024 8388616\r\nflush\r\n\tw\t0,\t1\r\nT 5 1\r\n\
             d 5 1\r\nRead 9 1 \n",
    ..lines::format::<Jedec>()
};

#[derive(Debug, Default)]
struct Jedec;

impl LineFormat for Jedec {
    const CLOCK: Option<ClockOrigin> = None;
    const SHAPE: &'static str = "`Write LBA COUNT`, `Trim LBA COUNT`, `Read LBA COUNT` or `Flush`";

    fn parse(&mut self, line: &[u8], _: &mut Devices) -> Result<Record, Skip> {
        let letters = line.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = line.split_at(letters);
        let kind = operation(word).ok_or(if letters == 0 { SHAPE } else { OPERATION })?;
        let mut fields = Fields::new(rest);
        gap(&mut fields);
        if kind == RecordKind::Flush && fields.rest().is_empty() {
            return command(kind, 0, 0, 0);
        }
        let start = fields.number()?;
        gap(&mut fields);
        let count = fields.number()?;
        gap(&mut fields);
        fields.end()?;
        command(kind, 0, units(start, SECTOR)?, units(count, SECTOR)?)
    }

    fn example(record: &Record) -> Option<String> {
        let operation = match record.kind {
            RecordKind::Read => "Read",
            RecordKind::Write => "Write",
            RecordKind::Discard => "Trims",
            RecordKind::Flush => return Some("Flush".to_owned()),
        };
        let (block, count) = (record.offset.0 / SECTOR, record.length.0 / SECTOR);
        Some(format!("{operation} {block} {count}"))
    }
}

fn operation(word: &[u8]) -> Option<RecordKind> {
    let is = |names: &[&str]| names.iter().any(|it| word.eq_ignore_ascii_case(it.as_bytes()));
    if is(&["write", "w", "writes"]) {
        Some(RecordKind::Write)
    } else if is(&["trims", "trim", "t", "d", "discard"]) {
        Some(RecordKind::Discard)
    } else if is(&["flush", "f"]) {
        Some(RecordKind::Flush)
    } else if is(&["read", "r", "reads"]) {
        Some(RecordKind::Read)
    } else {
        None
    }
}

/// Passes what separates fields.
fn gap(fields: &mut Fields<'_>) {
    fields.blanks();
    while fields.byte(b',').is_ok() {
        fields.blanks();
    }
}
