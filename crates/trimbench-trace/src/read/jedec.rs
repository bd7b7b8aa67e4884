//! The client master trace of JESD219A: `Write 8 16`, `Trim 8 16`, `Flush`, in logical blocks of
//! 512 bytes, without stamps. Read liberally, because the standard's text cannot be checked freely:
//! any case, blanks, tabs and commas between fields, a blank in front, CR at the end.

use crate::record::{Record, RecordKind};
use crate::tally::Flaw;

use super::fields::{Fields, SHAPE};
use super::strictness::{Devices, Skip, command, units};
use super::text::Parser;

/// Bytes of a logical block.
const SECTOR: u64 = 512;

/// Lines of the master trace.
#[derive(Debug)]
pub(super) struct Jedec;

impl Parser for Jedec {
    const FROM_ZERO: bool = true;
    const SHAPE: &'static str = "`Write LBA COUNT`, `Trim LBA COUNT`, `Read LBA COUNT` or `Flush`";

    fn line(&mut self, line: &[u8], _: &mut Devices) -> Result<Record, Skip> {
        let letters = line.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = line.split_at(letters);
        let kind = operation(word).ok_or(if letters == 0 {
            SHAPE
        } else {
            Skip::Flaw(Flaw::Operation)
        })?;
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
