//! Text traces: shared by all line formats. A format parses a line ([`Parser`]); this module reads
//! the file, splits lines, keeps the clock and counts.

use trimbench_core::Nanos;

use crate::format::Format;
use crate::record::Record;
use crate::source::{TraceError, TracePosition};
use crate::tally::{Flaw, Ignored};

use super::blkparse::Blkparse;
use super::buffer::Buffer;
use super::columns::{Alibaba, Midas, Msr, Spc, Tencent};
use super::detect::excerpt;
use super::iolog::{Iolog, Version};
use super::jedec::Jedec;
use super::strictness::{Devices, Shared, Skip};
use super::{BATCH, Event, Inner, ReadOptions, Wait};

/// What a line is.
pub(super) trait Parser: Send {
    /// Whether its stamps begin with the trace; else the first command is at 0.
    const FROM_ZERO: bool;
    /// The shape of a line, as "expected ...".
    const SHAPE: &'static str;
    /// Whether programs write it, so that a command in a last line without an end is half of one: a
    /// number in it may have lost digits.
    const ENDS_LINES: bool = false;

    /// The record of a line, which has no blank at either end. Its time is that of the file.
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip>;

    /// Whether this may be what stands above the columns.
    fn heading(_line: &[u8]) -> bool {
        false
    }
}

/// The lines of a file.
struct Lines<P> {
    buffer: Buffer,
    parser: P,
    /// Of the last line that was looked at, from 1.
    line: u64,
}

/// A line of a file.
#[derive(Clone, Copy)]
struct TextLine<'a> {
    file: &'a str,
    /// From 1.
    number: u64,
    text: &'a [u8],
    /// Whether a line feed ends it.
    ended: bool,
}

/// The reader of a file of this format, and whether its records have stamps.
///
/// # Panics
/// If the format is no text.
pub(super) fn open(
    format: Format,
    buffer: Buffer,
    options: &ReadOptions,
) -> Result<(Box<dyn Inner>, bool), TraceError> {
    let lines = match format {
        Format::Jedec => Lines::boxed(buffer, Jedec),
        Format::Iolog => return open_iolog(buffer, options.wait),
        Format::Blkparse => Lines::boxed(buffer, Blkparse { event: options.event }),
        Format::Msr => Lines::boxed(buffer, Msr),
        Format::Alibaba => Lines::boxed(buffer, Alibaba),
        Format::Tencent => Lines::boxed(buffer, Tencent),
        Format::Spc => Lines::boxed(buffer, Spc),
        Format::Midas => Lines::boxed(buffer, Midas),
        Format::Trimbench | Format::Blktrace => unreachable!("they are no text"),
    };
    Ok((lines, format != Format::Jedec))
}

impl<P: Parser + 'static> Lines<P> {
    fn boxed(buffer: Buffer, parser: P) -> Box<dyn Inner> {
        Box::new(Self { buffer, parser, line: 0 })
    }
}

impl<P: Parser> Inner for Lines<P> {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while batch.len() < BATCH {
            let window = self.buffer.available();
            let mut used = 0;
            while batch.len() < BATCH {
                let Some(length) = memchr::memchr(b'\n', &window[used..]) else { break };
                let text = &window[used..used + length];
                used += length + 1;
                self.line += 1;
                let (file, number) = (self.buffer.name(), self.line);
                take(
                    &mut self.parser,
                    TextLine { file, number, text, ended: true },
                    batch,
                    shared,
                )?;
            }
            self.buffer.consume(used);
            if used > 0 {
                continue;
            }
            if !self.buffer.ended() {
                self.refill(shared)?;
                continue;
            }
            let text = self.buffer.available();
            if text.is_empty() {
                break;
            }
            self.line += 1;
            let (file, number) = (self.buffer.name(), self.line);
            take(&mut self.parser, TextLine { file, number, text, ended: false }, batch, shared)?;
            self.buffer.consume(text.len());
        }
        Ok(())
    }
}

impl<P: Parser> Lines<P> {
    /// Reads on behind what is available, which is the beginning of one line. If that is longer
    /// than the window, the line is passed.
    fn refill(&mut self, shared: &mut Shared) -> Result<(), TraceError> {
        let before = self.buffer.available().len();
        self.buffer.fill()?;
        if self.buffer.available().len() > before || self.buffer.ended() {
            return Ok(());
        }
        self.line += 1;
        if !shared.lenient {
            let (file, number) = (self.buffer.name(), self.line);
            let line = TextLine { file, number, text: self.buffer.available(), ended: false };
            return Err(wrong::<P>(line, Flaw::Long));
        }
        shared.tally.flaw(Flaw::Long);
        loop {
            let window = self.buffer.available();
            if let Some(end) = memchr::memchr(b'\n', window) {
                self.buffer.consume(end + 1);
                return Ok(());
            }
            self.buffer.consume(window.len());
            if self.buffer.ended() {
                return Ok(());
            }
            self.buffer.fill()?;
        }
    }
}

/// Whether all of these lines can be those of a format.
pub(crate) fn fits(format: Format, lines: &[&[u8]]) -> bool {
    match format {
        Format::Jedec => all::<Jedec>(Jedec, lines),
        Format::Blkparse => all::<Blkparse>(Blkparse { event: Event::Queue }, lines),
        Format::Msr => all::<Msr>(Msr, lines),
        Format::Alibaba => all::<Alibaba>(Alibaba, lines),
        Format::Tencent => all::<Tencent>(Tencent, lines),
        Format::Spc => all::<Spc>(Spc, lines),
        // Integers alone are too little to know it by.
        Format::Midas => lines.iter().any(|it| it.contains(&b'.')) && all::<Midas>(Midas, lines),
        // They are known by how they begin.
        Format::Trimbench | Format::Blktrace | Format::Iolog => false,
    }
}

fn all<P: Parser>(mut parser: P, lines: &[&[u8]]) -> bool {
    let options = ReadOptions::default();
    let mut seen = false;
    let fit = lines.iter().enumerate().all(|(index, line)| {
        if index == 0 && P::heading(line) {
            return true;
        }
        // A line of many devices is a line all the same.
        let line = parser.line(line, &mut Shared::new(&options).devices);
        seen |= !matches!(line, Err(Skip::Ignored(Ignored::Text)));
        !matches!(line, Err(Skip::Flaw(Flaw::Shape | Flaw::Operation)))
    });
    fit && seen
}

/// Takes one line: into the batch, into the counts, or as an error.
#[inline]
fn take<P: Parser>(
    parser: &mut P,
    line: TextLine<'_>,
    batch: &mut Vec<Record>,
    shared: &mut Shared,
) -> Result<(), TraceError> {
    let line = TextLine { text: line.text.trim_ascii(), ..line };
    if line.text.is_empty() || (line.number == 1 && P::heading(line.text)) {
        shared.tally.ignore(Ignored::Text);
        return Ok(());
    }
    let flaw = match parser.line(line.text, &mut shared.devices) {
        Ok(_) if P::ENDS_LINES && !line.ended => Flaw::Cut,
        Ok(mut record) => {
            let (time, right) = shared.clock.stamp(record.time.0, !P::FROM_ZERO);
            record.time = time;
            if right {
                batch.push(record);
                return Ok(());
            }
            if shared.lenient {
                batch.push(record);
            }
            Flaw::Order
        }
        Err(Skip::Ignored(what)) => {
            shared.tally.ignore(what);
            return Ok(());
        }
        Err(Skip::Flaw(flaw)) => flaw,
    };
    if !shared.lenient {
        return Err(wrong::<P>(line, flaw));
    }
    shared.tally.flaw(flaw);
    Ok(())
}

#[cold]
fn wrong<P: Parser>(line: TextLine<'_>, flaw: Flaw) -> TraceError {
    let expected = match flaw {
        Flaw::Negative => "numbers that are not negative",
        Flaw::Beyond => "numbers and ranges below 2^64",
        Flaw::Order => "a stamp that is not before that of the command before",
        Flaw::Device => "the device of the commands before: choose one",
        Flaw::LateStamp => "no first wait this late: say what `wait` means",
        Flaw::Long => "a line of less than 256 KiB",
        Flaw::Cut => "an end of the line: the file is cut off",
        _ => P::SHAPE,
    };
    let found = format!("`{}`", excerpt(line.text));
    let (name, place) = (line.file.to_owned(), TracePosition::Line(line.number));
    TraceError::Broken { name, place, found, expected }
}

/// Reads the first line of an iolog, and whether it has stamps.
fn open_iolog(mut buffer: Buffer, wait: Wait) -> Result<(Box<dyn Inner>, bool), TraceError> {
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
    let has_waits = || memchr::memmem::find(window, b" wait ").is_some();
    let timed = version == Version::Three || wait == Wait::Fio || has_waits();
    let used = end.map_or(window.len(), |end| end + 1);
    buffer.consume(used);
    let parser = Iolog { version, wait, timed, now: Nanos::ZERO };
    Ok((Box::new(Lines { buffer, parser, line: 1 }), timed))
}
