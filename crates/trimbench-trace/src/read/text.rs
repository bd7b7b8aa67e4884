//! Traces of lines: what the formats of text share. A format says what a line is ([`Parser`]); this
//! reads the file, finds lines, keeps the clock and counts.

use trimbench_core::Nanos;

use crate::format::{Format, excerpt};
use crate::record::Record;
use crate::source::{Place, TraceError};
use crate::tally::{Flaw, Ignored};

use super::blkparse::Blkparse;
use super::buffer::Buffer;
use super::columns::{Alibaba, Midas, Msr, Spc, Tencent};
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

/// A text of several parts, one file each.
pub(super) struct Texts {
    parts: Vec<Part>,
    at: usize,
    timed: bool,
}

/// A file with the parser of its lines. One enum, so that the loop over lines is compiled for each.
enum Part {
    Jedec(Lines<Jedec>),
    Blkparse(Lines<Blkparse>),
    Iolog(Lines<Iolog>),
    Msr(Lines<Msr>),
    Alibaba(Lines<Alibaba>),
    Tencent(Lines<Tencent>),
    Spc(Lines<Spc>),
    Midas(Lines<Midas>),
}

/// The lines of a file.
struct Lines<P> {
    buffer: Buffer,
    parser: P,
    /// Of the last line that was looked at, from 1.
    line: u64,
}

impl Texts {
    pub(super) fn new(
        format: Format,
        buffers: Vec<Buffer>,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let mut timed = format != Format::Jedec;
        let mut parts = Vec::new();
        for buffer in buffers {
            let part = match format {
                Format::Jedec => Part::Jedec(Lines::new(buffer, Jedec)),
                Format::Blkparse => {
                    Part::Blkparse(Lines::new(buffer, Blkparse { event: options.event }))
                }
                Format::Iolog => {
                    let (lines, stamps) = open_iolog(buffer, options.wait)?;
                    timed &= stamps;
                    Part::Iolog(lines)
                }
                Format::Msr => Part::Msr(Lines::new(buffer, Msr)),
                Format::Alibaba => Part::Alibaba(Lines::new(buffer, Alibaba)),
                Format::Tencent => Part::Tencent(Lines::new(buffer, Tencent)),
                Format::Spc => Part::Spc(Lines::new(buffer, Spc)),
                Format::Midas => Part::Midas(Lines::new(buffer, Midas)),
                Format::Trimbench | Format::Blktrace => unreachable!("they are no text"),
            };
            parts.push(part);
        }
        Ok(Self { parts, at: 0, timed })
    }

    pub(super) fn is_timed(&self) -> bool {
        self.timed
    }
}

impl Inner for Texts {
    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while let Some(part) = self.parts.get_mut(self.at) {
            match part {
                Part::Jedec(lines) => lines.read(batch, shared),
                Part::Blkparse(lines) => lines.read(batch, shared),
                Part::Iolog(lines) => lines.read(batch, shared),
                Part::Msr(lines) => lines.read(batch, shared),
                Part::Alibaba(lines) => lines.read(batch, shared),
                Part::Tencent(lines) => lines.read(batch, shared),
                Part::Spc(lines) => lines.read(batch, shared),
                Part::Midas(lines) => lines.read(batch, shared),
            }?;
            if !batch.is_empty() {
                return Ok(());
            }
            self.at += 1;
        }
        Ok(())
    }
}

impl<P: Parser> Lines<P> {
    fn new(buffer: Buffer, parser: P) -> Self {
        Self { buffer, parser, line: 0 }
    }

    fn read(&mut self, batch: &mut Vec<Record>, shared: &mut Shared) -> Result<(), TraceError> {
        while batch.len() < BATCH {
            let window = self.buffer.available();
            let mut used = 0;
            while batch.len() < BATCH {
                let Some(length) = memchr::memchr(b'\n', &window[used..]) else { break };
                let line = &window[used..used + length];
                used += length + 1;
                self.line += 1;
                let place = (self.buffer.name(), self.line);
                take(&mut self.parser, (line, true), place, (batch, shared))?;
            }
            self.buffer.consume(used);
            if used > 0 {
                continue;
            }
            if !self.buffer.ended() {
                self.refill(shared)?;
                continue;
            }
            let rest = self.buffer.available();
            if rest.is_empty() {
                break;
            }
            self.line += 1;
            let place = (self.buffer.name(), self.line);
            take(&mut self.parser, (rest, false), place, (batch, shared))?;
            self.buffer.consume(rest.len());
        }
        Ok(())
    }

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
            let line = self.buffer.available();
            return Err(wrong::<P>((self.buffer.name(), self.line), line, Flaw::Long));
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
    (line, ended): (&[u8], bool),
    (name, number): (&str, u64),
    (batch, shared): (&mut Vec<Record>, &mut Shared),
) -> Result<(), TraceError> {
    let line = line.trim_ascii();
    if line.is_empty() || (number == 1 && P::heading(line)) {
        shared.tally.ignore(Ignored::Text);
        return Ok(());
    }
    let flaw = match parser.line(line, &mut shared.devices) {
        Ok(_) if P::ENDS_LINES && !ended => Flaw::Cut,
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
        return Err(wrong::<P>((name, number), line, flaw));
    }
    shared.tally.flaw(flaw);
    Ok(())
}

#[cold]
fn wrong<P: Parser>((name, number): (&str, u64), line: &[u8], flaw: Flaw) -> TraceError {
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
    let found = format!("`{}`", excerpt(line));
    TraceError::Broken { name: name.to_owned(), place: Place::Line(number), found, expected }
}

/// Reads the first line of an iolog, and whether it has stamps.
fn open_iolog(mut buffer: Buffer, wait: Wait) -> Result<(Lines<Iolog>, bool), TraceError> {
    let window = buffer.available();
    let end = memchr::memchr(b'\n', window);
    let first = &window[..end.unwrap_or(window.len())];
    let version = match first.trim_ascii() {
        b"fio version 2 iolog" => Version::Two,
        b"fio version 3 iolog" => Version::Three,
        other => {
            return Err(TraceError::Broken {
                name: buffer.name().to_owned(),
                place: Place::Line(1),
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
    Ok((Lines { buffer, parser, line: 1 }, timed))
}
