//! What a reader left out or changed, by reason.

use std::fmt;

/// What a reader did beside handing out records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records that were handed out.
    pub records: u64,
    flaws: [u64; Flaw::ALL.len()],
    ignored: [u64; Ignored::ALL.len()],
}

/// What can be wrong with a line or an event. Strict reading ends with it; lenient reading skips
/// it and counts, and keeps a command whose stamp goes back, at the time of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// The fields are not those of the format.
    Shape,
    /// A number is negative.
    Negative,
    /// A number, or the end of a range, is beyond 2^64 - 1.
    Beyond,
    /// The operation is none of the format's.
    Operation,
    /// The stamp is before that of the command before.
    Order,
    /// It is of another device than those before it.
    Device,
    /// A stamp comes where the beginning of the trace had none.
    LateStamp,
    /// It is longer than any line of the format.
    Long,
    /// The file ends within it.
    Cut,
    /// It does not begin as an event does.
    Magic,
    /// Its byte order is not that of the events before it.
    ByteOrder,
    /// A row is in a group of a columnar file that cannot be decoded.
    Group,
    /// The checksum over all records is not the file's.
    Sum,
}

/// What a format holds that is no command, or not one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ignored {
    /// Empty lines, comments, headings, summaries.
    Text,
    /// Events of another kind than the one that stands for a command.
    OtherEvent,
    /// Messages and notices among events.
    Notice,
    /// Commands that are passed through to the drive past the block layer.
    Passthrough,
    /// Commands of another device than the one that was asked for.
    OtherDevice,
    /// Reads, writes and TRIMs of no bytes.
    Empty,
    /// Opening and closing of files.
    FileAction,
    /// Waits that are too short to count (fio: below 100 us).
    ShortWait,
    /// Waits of fio's version 2: they move the clock.
    Wait,
}

impl Flaw {
    /// All, in the order of lists.
    pub const ALL: [Self; 13] = [
        Self::Shape,
        Self::Negative,
        Self::Beyond,
        Self::Operation,
        Self::Order,
        Self::Device,
        Self::LateStamp,
        Self::Long,
        Self::Cut,
        Self::Magic,
        Self::ByteOrder,
        Self::Group,
        Self::Sum,
    ];

    /// What to call it in a list of counts.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Shape => "not the fields of the format",
            Self::Negative => "negative number",
            Self::Beyond => "number or end beyond 2^64 - 1",
            Self::Operation => "unknown operation",
            Self::Order => "stamp before that of the command before (kept, at its time)",
            Self::Device => "another device than those before",
            Self::LateStamp => "stamp where the beginning had none",
            Self::Long => "line too long",
            Self::Cut => "cut off by the end of the file",
            Self::Magic => "not the beginning of an event",
            Self::ByteOrder => "another byte order than the events before",
            Self::Group => "row in a group that cannot be decoded",
            Self::Sum => "checksum that is not that of the records",
        }
    }
}

impl Ignored {
    /// All, in the order of lists.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::OtherEvent,
        Self::Notice,
        Self::Passthrough,
        Self::OtherDevice,
        Self::Empty,
        Self::FileAction,
        Self::ShortWait,
        Self::Wait,
    ];

    /// What to call it in a list of counts.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Text => "empty lines, headings and summaries",
            Self::OtherEvent => "events of other kinds",
            Self::Notice => "messages and notices",
            Self::Passthrough => "commands passed through to the drive",
            Self::OtherDevice => "commands of other devices",
            Self::Empty => "commands of no bytes",
            Self::FileAction => "openings and closings of files",
            Self::ShortWait => "waits below 100 us",
            Self::Wait => "waits, which move the clock",
        }
    }
}

impl Tally {
    /// How often something was wrong and got past, by what it was; without what never was.
    pub fn flaws(&self) -> impl Iterator<Item = (Flaw, u64)> + '_ {
        Flaw::ALL.into_iter().zip(self.flaws).filter(|(_, count)| *count > 0)
    }

    /// What was no command, by what it was; without what never was.
    pub fn ignored(&self) -> impl Iterator<Item = (Ignored, u64)> + '_ {
        Ignored::ALL.into_iter().zip(self.ignored).filter(|(_, count)| *count > 0)
    }

    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        self.count(flaw, 1);
    }

    /// So many at once.
    pub(crate) fn count(&mut self, flaw: Flaw, count: u64) {
        let sum = &mut self.flaws[flaw as usize];
        *sum = sum.saturating_add(count);
    }

    #[inline]
    pub(crate) fn ignore(&mut self, what: Ignored) {
        self.ignored[what as usize] += 1;
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
