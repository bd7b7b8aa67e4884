//! Counts of what a reader skipped or changed, by reason.

use std::fmt;

/// What a reader did beside handing out records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Records that were handed out.
    pub records: u64,
    flaws: [u64; FLAWS.len()],
    ignored: [u64; IGNORED.len()],
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

/// Every flaw with its description, in the order of lists.
const FLAWS: [(Flaw, &str); 13] = [
    (Flaw::Shape, "not the fields of the format"),
    (Flaw::Negative, "negative number"),
    (Flaw::Beyond, "number or end beyond 2^64 - 1"),
    (Flaw::Operation, "unknown operation"),
    (Flaw::Order, "stamp before that of the command before (kept, at its time)"),
    (Flaw::Device, "another device than those before"),
    (Flaw::LateStamp, "stamp where the beginning had none"),
    (Flaw::Long, "line too long"),
    (Flaw::Cut, "cut off by the end of the file"),
    (Flaw::Magic, "not the beginning of an event"),
    (Flaw::ByteOrder, "another byte order than the events before"),
    (Flaw::Group, "row in a group that cannot be decoded"),
    (Flaw::Sum, "checksum that is not that of the records"),
];

/// The same of [`Ignored`].
const IGNORED: [(Ignored, &str); 9] = [
    (Ignored::Text, "empty lines, headings and summaries"),
    (Ignored::OtherEvent, "events of other kinds"),
    (Ignored::Notice, "messages and notices"),
    (Ignored::Passthrough, "commands passed through to the drive"),
    (Ignored::OtherDevice, "commands of other devices"),
    (Ignored::Empty, "commands of no bytes"),
    (Ignored::FileAction, "openings and closings of files"),
    (Ignored::ShortWait, "waits below 100 us"),
    (Ignored::Wait, "waits, which move the clock"),
];

impl Flaw {
    /// What to call it in a list of counts.
    pub fn text(self) -> &'static str {
        let found = FLAWS.iter().find(|(flaw, _)| *flaw == self);
        found.expect("every flaw is listed").1
    }
}

impl Ignored {
    /// What to call it in a list of counts.
    pub fn text(self) -> &'static str {
        let found = IGNORED.iter().find(|(what, _)| *what == self);
        found.expect("all that is ignored is listed").1
    }
}

impl ReadCounts {
    /// How often something was wrong and got past, by what it was; without what never was.
    pub fn flaws(&self) -> impl Iterator<Item = (Flaw, u64)> + '_ {
        let counts = FLAWS.iter().map(|(flaw, _)| (*flaw, self.flaws[*flaw as usize]));
        counts.filter(|(_, count)| *count > 0)
    }

    /// What was no command, by what it was; without what never was.
    pub fn ignored(&self) -> impl Iterator<Item = (Ignored, u64)> + '_ {
        let counts = IGNORED.iter().map(|(what, _)| (*what, self.ignored[*what as usize]));
        counts.filter(|(_, count)| *count > 0)
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
