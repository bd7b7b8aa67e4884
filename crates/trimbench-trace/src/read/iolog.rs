//! fio's iolog, versions 2 and 3.
//!
//! Version 3: `stamp file action [offset length]`, timestamps in microseconds since fio's start, as
//! fio writes them (`log_io_u` in its `iolog.c`, as seen in 3.33).
//!
//! Version 2 has no timestamps but `file wait amount length`. The documentation says: microseconds
//! since the previous wait, and less than 100 do not count. fio itself treats them as milliseconds
//! since its own start (`read_iolog_get`). The file does not say which is meant: [`Wait`].

use trimbench_core::Nanos;

use crate::record::{Record, RecordKind};
use crate::tally::{Flaw, Ignored};

use super::Wait;
use super::fields::{Fields, SHAPE};
use super::strictness::{Devices, Skip, command, units};
use super::text::Parser;

/// Microseconds of a wait that does not count.
const SHORT: u64 = 100;

/// Which iolog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Three,
}

/// Lines of an iolog.
#[derive(Debug)]
pub(super) struct Iolog {
    pub(super) version: Version,
    pub(super) wait: Wait,
    /// Whether the trace has stamps.
    pub(super) timed: bool,
    /// The sum of the waits, in version 2.
    pub(super) now: Nanos,
}

impl Parser for Iolog {
    const ENDS_LINES: bool = true;
    const FROM_ZERO: bool = true;
    const SHAPE: &'static str = "`[microseconds] file action [offset length]`, as fio writes them";

    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
        let mut fields = Fields::new(line);
        let stamp = match self.version {
            Version::Two => self.now.0,
            Version::Three => units(fields.number_word()?, 1_000)?,
        };
        let file = fields.word();
        let kind = match fields.word() {
            b"read" => RecordKind::Read,
            b"write" => RecordKind::Write,
            b"trim" => RecordKind::Discard,
            b"sync" | b"datasync" | b"sync_file_range" | b"syncfs" => RecordKind::Flush,
            b"add" | b"open" | b"close" if fields.rest().is_empty() => {
                return Err(Skip::Ignored(Ignored::FileAction));
            }
            b"wait" if self.version == Version::Two => {
                let amount = fields.number_word()?;
                return Err(self.pass(amount).unwrap_or_else(|skip| skip));
            }
            b"" => return Err(SHAPE),
            _ => return Err(Skip::Flaw(Flaw::Operation)),
        };
        let offset = fields.number_word()?;
        let length = fields.number_word()?;
        fields.end()?;
        devices.check(file)?;
        command(kind, stamp, offset, length)
    }
}

impl Iolog {
    /// Moves the clock by a wait, which is no record.
    fn pass(&mut self, amount: u64) -> Result<Skip, Skip> {
        if !self.timed {
            return Err(Skip::Flaw(Flaw::LateStamp));
        }
        let now = match self.wait {
            Wait::Documented if amount < SHORT => return Ok(Skip::Ignored(Ignored::ShortWait)),
            Wait::Documented => {
                self.now.0.checked_add(units(amount, 1_000)?).ok_or(Skip::Flaw(Flaw::Beyond))?
            }
            Wait::Fio => self.now.0.max(units(amount, 1_000_000)?),
        };
        self.now = Nanos(now);
        Ok(Skip::Ignored(Ignored::Wait))
    }
}
