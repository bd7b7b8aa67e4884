//! The trace formats: their names, and how each is detected by content.

use crate::read::text::fits;

/// Lines of a text that are looked at to find its format.
const LINES: usize = 64;

/// A format of traces. [The page](../../../docs/reference/trace-formats.md) has their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Our own: columns in a Parquet file.
    Trimbench,
    /// The client master trace of JESD219A, as text.
    Jedec,
    /// blktrace's binary events.
    Blktrace,
    /// The text that blkparse makes of them.
    Blkparse,
    /// fio's iolog, version 2 or 3.
    Iolog,
    /// MSR Cambridge.
    Msr,
    /// Alibaba's elastic block service.
    Alibaba,
    /// Tencent's cloud block storage.
    Tencent,
    /// The Storage Performance Council's.
    Spc,
    /// `MiDAS`.
    Midas,
}

/// Why no format was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undetected {
    /// There is nothing.
    Empty,
    /// It is no text, and begins as none of the binary formats does.
    Binary,
    /// A known kind of file that is no trace, with what to do about it.
    Other(&'static str),
    /// Its lines are those of no format.
    Text(String),
    /// Its lines are those of several formats.
    Several(Vec<Format>),
}

impl Format {
    /// All, in the order of lists.
    pub const ALL: [Self; 10] = [
        Self::Trimbench,
        Self::Jedec,
        Self::Blktrace,
        Self::Blkparse,
        Self::Iolog,
        Self::Msr,
        Self::Alibaba,
        Self::Tencent,
        Self::Spc,
        Self::Midas,
    ];

    /// Those that can be written.
    pub const WRITABLE: [Self; 3] = [Self::Trimbench, Self::Iolog, Self::Blkparse];

    /// Its name on the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Trimbench => "trimbench",
            Self::Jedec => "jedec",
            Self::Blktrace => "blktrace",
            Self::Blkparse => "blkparse",
            Self::Iolog => "iolog",
            Self::Msr => "msr",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Spc => "spc",
            Self::Midas => "midas",
        }
    }

    /// The format of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.id() == id)
    }

    /// The format of a file that begins so. `prefix` is the whole file, or longer than a few lines.
    pub(crate) fn detect(prefix: &[u8]) -> Result<Self, Undetected> {
        if prefix.is_empty() {
            return Err(Undetected::Empty);
        }
        if prefix.starts_with(b"PAR1") {
            return Ok(Self::Trimbench);
        }
        // `0x65617400 | version`, of either byte order.
        if let [a, b, c, d, ..] = prefix
            && ([*b, *c, *d] == *b"\x74\x61\x65" || [*a, *b, *c] == *b"\x65\x61\x74")
        {
            return Ok(Self::Blktrace);
        }
        if prefix.starts_with(b"fio version ") {
            return Ok(Self::Iolog);
        }
        if prefix.get(257..262) == Some(b"ustar") {
            return Err(Undetected::Other("a tar archive: extract it first, as by `tar -xO`"));
        }
        if prefix.contains(&0) {
            return Err(Undetected::Binary);
        }
        let lines = complete_lines(prefix);
        let fitting: Vec<Self> =
            Self::ALL.into_iter().filter(|format| fits(*format, &lines)).collect();
        match fitting.as_slice() {
            [] => Err(Undetected::Text(lines.first().map_or_else(String::new, |l| excerpt(l)))),
            [one] => Ok(*one),
            _ => Err(Undetected::Several(fitting)),
        }
    }
}

impl Undetected {
    /// As the end of "FILE: ...".
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Empty => "it is empty".to_owned(),
            Self::Binary => "it is no text and no binary trace".to_owned(),
            Self::Other(what) => format!("it is {what}"),
            Self::Text(line) => format!("it begins with `{line}`"),
            Self::Several(formats) => {
                let ids: Vec<&str> = formats.iter().map(|format| format.id()).collect();
                format!("it may be any of {}", ids.join(", "))
            }
        }
    }
}

/// The beginning of a line as a message may quote it.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 60;
    let shown = &line[..line.len().min(LONGEST)];
    let dots = if line.len() > LONGEST { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

/// The first lines that have something in them; the last only if it is not the only one and whole.
fn complete_lines(prefix: &[u8]) -> Vec<&[u8]> {
    let end = memchr::memrchr(b'\n', prefix).map_or(prefix.len(), |end| end + 1);
    let lines = prefix[..end].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).take(LINES).collect()
}
