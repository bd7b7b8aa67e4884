//! Text traces: shared by all line formats. A format parses a line ([`LineFormat`]); this module
//! reads the file, splits lines, keeps the clock and counts.

use crate::latency::LatencyEvent;
use crate::record::Record;
use crate::source::{TraceError, TracePosition};
use crate::tally::{Flaw, Ignored};

use super::buffer::Buffer;
use super::shared::{Devices, Shared, Skip};
use super::{
    BATCH, BatchReader, ClockOrigin, Detection, Format, OpenTrace, ReadOptions, Reading, Writing,
    excerpt,
};

/// A format of lines.
pub(crate) trait LineFormat: Default + Send + 'static {
    /// What the timestamps count from; `None` without any.
    const CLOCK: Option<ClockOrigin>;
    /// The shape of a line, as "expected ...".
    const SHAPE: &'static str;
    /// Whether programs write it, so that a command in a last line without an end is half of one: a
    /// number in it may have lost digits.
    const ENDS_LINES: bool = false;
    /// Lines above the first that is parsed: [`LineFormat::open`] consumes them.
    const HEADER_LINES: u64 = 0;

    /// Begins a file, whose first bytes are in the buffer.
    fn open(_buffer: &mut Buffer, _options: &ReadOptions) -> Result<Self, TraceError> {
        Ok(Self::default())
    }

    /// Whether the records of this file have timestamps.
    fn is_timed(&self) -> bool {
        Self::CLOCK.is_some()
    }

    /// The record of a line, which has no blank at either end. Its time is that of the file.
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, Skip>;

    /// What the line that was just parsed says of how long a command took, a record or not.
    fn latency(&mut self) -> Option<LatencyEvent> {
        None
    }

    /// The line of a record, for examples; `None` if the format cannot express it. A format that
    /// is written needs none.
    fn example(_record: &Record) -> Option<String> {
        None
    }

    /// Whether this may be what stands above the columns.
    fn is_heading(_line: &[u8]) -> bool {
        false
    }

    /// Whether lines that can all be parsed are enough to recognise the format.
    fn is_distinct(_lines: &[&[u8]]) -> bool {
        true
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

/// What of a [`Format`] follows from how its lines are parsed and printed.
pub(crate) const fn format<P: LineFormat>() -> Format {
    Format {
        id: "",
        title: "",
        has_discards: false,
        timestamps: "none",
        grammar: "",
        sample: "",
        detection: Detection::Lines(fits::<P>),
        clock: P::CLOCK,
        reading: Reading::Text(open::<P>),
        writing: Writing::Example(example::<P>),
    }
}

fn example<P: LineFormat>(record: &Record) -> Option<Vec<u8>> {
    P::example(record).map(|line| format!("{line}\n").into_bytes())
}

/// Opens a file of this format.
fn open<P: LineFormat>(mut buffer: Buffer, options: &ReadOptions) -> Result<OpenTrace, TraceError> {
    let parser = P::open(&mut buffer, options)?;
    let is_timed = parser.is_timed();
    let reader = Box::new(Lines { buffer, parser, line: P::HEADER_LINES });
    Ok(OpenTrace { reader, is_timed })
}

/// Whether all of these lines can be those of a format.
fn fits<P: LineFormat>(lines: &[&[u8]]) -> bool {
    let (mut parser, options) = (P::default(), ReadOptions::default());
    let mut seen = false;
    let fit = lines.iter().enumerate().all(|(index, line)| {
        if index == 0 && P::is_heading(line) {
            return true;
        }
        // A line of many devices is a line all the same.
        let line = parser.parse(line, &mut Shared::new(&options).devices);
        seen |= !matches!(line, Err(Skip::Ignored(Ignored::Text)));
        !matches!(line, Err(Skip::Flaw(Flaw::Shape | Flaw::Operation)))
    });
    fit && seen && P::is_distinct(lines)
}

impl<P: LineFormat> BatchReader for Lines<P> {
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

impl<P: LineFormat> Lines<P> {
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

/// Takes one line: into the batch, into the counts, or as an error.
#[inline]
fn take<P: LineFormat>(
    parser: &mut P,
    line: TextLine<'_>,
    batch: &mut Vec<Record>,
    shared: &mut Shared,
) -> Result<(), TraceError> {
    let line = TextLine { text: line.text.trim_ascii(), ..line };
    if line.text.is_empty() || (line.number == 1 && P::is_heading(line.text)) {
        shared.tally.ignore(Ignored::Text);
        return Ok(());
    }
    let parsed = parser.parse(line.text, &mut shared.devices);
    shared.latency(parser.latency());
    let flaw = match parsed {
        Ok(_) if P::ENDS_LINES && !line.ended => Flaw::Cut,
        Ok(mut record) => {
            let (time, right) =
                shared.clock.stamp(record.time.0, P::CLOCK == Some(ClockOrigin::Command));
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
fn wrong<P: LineFormat>(line: TextLine<'_>, flaw: Flaw) -> TraceError {
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
