//! fio's iolog, versions 2 and 3.
//!
//! Version 3: `stamp file action [offset length]`, timestamps in microseconds since fio's start, as
//! fio writes them (`log_io_u` in its `iolog.c`, as seen in 3.33).
//!
//! Version 2 has no timestamps but `file wait amount length`. The documentation says: microseconds
//! since the previous wait, and less than 100 do not count. fio itself treats them as milliseconds
//! since its own start (`read_iolog_get`). The file does not say which is meant: [`Wait`].

#[cfg(test)]
mod tests;

use trimbench_core::Nanos;

use crate::format::buffer::Buffer;
use crate::format::digits::decimal;
use crate::format::fields::{Fields, SHAPE};
use crate::format::lines::{self, LineFormat};
use crate::format::shared::{Devices, Skip, command, units};
use crate::format::{
    ClockOrigin, Detection, Format, PrintOptions, Printed, Printer, ReadOptions, Wait, Writing,
    excerpt,
};
use crate::record::{Record, RecordKind};
use crate::source::{TraceError, TracePosition};
use crate::tally::{Flaw, Ignored};

use super::columns::OPERATION;

pub(crate) static FORMAT: Format = Format {
    id: "iolog",
    title: "fio's iolog, version 2 or 3",
    has_discards: true,
    timestamps: "1 us (version 3), waits (version 2)",
    grammar: include_str!("iolog/grammar.txt"),
    sample: "fio version 3 iolog\n21 /d add\n114 /d open\n119 /d read 503808 4096\n\
             20101 /d write 1 2\n20109 /d sync 3940352 0\n20110 /d datasync 0 0\n\
             20111 /d trim 0 4294971392\n20112 /d close\n",
    detection: Detection::Beginning("its first line", |start| start.starts_with(b"fio version ")),
    writing: Writing::Text(Printer { heading, line: print }),
    ..lines::format::<Iolog>()
};

/// Microseconds of a wait that does not count.
const SHORT: u64 = 100;

/// Which iolog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    Two,
    Three,
}

/// Lines of an iolog.
#[derive(Debug, Default)]
struct Iolog {
    version: Version,
    wait: Wait,
    /// Whether the trace has stamps.
    is_timed: bool,
    /// The sum of the waits, in version 2.
    now: Nanos,
}

impl LineFormat for Iolog {
    const ENDS_LINES: bool = true;
    const CLOCK: Option<ClockOrigin> = Some(ClockOrigin::Trace);
    const HEADER_LINES: u64 = 1;
    const SHAPE: &'static str = "`[microseconds] file action [offset length]`, as fio writes them";

    /// Reads the first line, and whether the file has timestamps.
    fn open(buffer: &mut Buffer, options: &ReadOptions) -> Result<Self, TraceError> {
        let window = buffer.available();
        let end = memchr::memchr(b'\n', window);
        let first = &window[..end.unwrap_or(window.len())];
        let version = match first.trim_ascii() {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            other => {
                return Err(TraceError::Broken {
                    name: buffer.name().to_owned(),
                    place: TracePosition::Line(1),
                    found: format!("`{}`", excerpt(other)),
                    expected: "`fio version 2 iolog` or `fio version 3 iolog`",
                });
            }
        };
        let wait = options.wait;
        let has_waits = || memchr::memmem::find(window, b" wait ").is_some();
        let is_timed = version == Version::Three || wait == Wait::Fio || has_waits();
        let used = end.map_or(window.len(), |end| end + 1);
        buffer.consume(used);
        Ok(Self { version, wait, is_timed, now: Nanos::ZERO })
    }

    fn is_timed(&self) -> bool {
        self.is_timed
    }

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip> {
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
            _ => return Err(OPERATION),
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
        if !self.is_timed {
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

/// fio wants the file named and opened.
fn heading(is_timed: bool) -> &'static [u8] {
    if is_timed {
        b"fio version 3 iolog\n0 trace add\n0 trace open\n"
    } else {
        b"fio version 2 iolog\ntrace add\ntrace open\n"
    }
}

fn print(text: &mut Vec<u8>, record: &Record, options: PrintOptions) -> Printed {
    if options.is_timed {
        decimal(text, record.time.0 / 1_000);
        text.push(b' ');
    }
    let action: &[u8] = match record.kind {
        RecordKind::Read => b"trace read ",
        RecordKind::Write => b"trace write ",
        RecordKind::Discard => b"trace trim ",
        RecordKind::Flush => b"trace sync ",
    };
    text.extend_from_slice(action);
    decimal(text, record.offset.0);
    text.push(b' ');
    decimal(text, record.length.0);
    text.push(b'\n');
    let is_rounded = options.is_timed && !record.time.0.is_multiple_of(1_000);
    if is_rounded { Printed::Rounded } else { Printed::Exact }
}
