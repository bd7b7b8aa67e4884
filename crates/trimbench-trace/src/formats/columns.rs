//! Shared by the formats of columns: units, and the operation as a letter.

use crate::format::shared::Skip;
use crate::record::RecordKind;
use crate::tally::Flaw;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

pub(super) const OPERATION: Skip = Skip::Flaw(Flaw::Operation);

/// What `R` or `W` stands for.
#[inline]
pub(super) fn letter(field: &[u8]) -> Result<RecordKind, Skip> {
    match field {
        b"R" | b"r" => Ok(RecordKind::Read),
        b"W" | b"w" => Ok(RecordKind::Write),
        _ => Err(OPERATION),
    }
}

/// `read` or `write`; `None` for other commands, which formats of these columns do not have.
pub(super) fn either<T>(kind: RecordKind, read: T, write: T) -> Option<T> {
    match kind {
        RecordKind::Read => Some(read),
        RecordKind::Write => Some(write),
        RecordKind::Discard | RecordKind::Flush => None,
    }
}
