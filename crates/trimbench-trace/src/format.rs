//! The formats of traces, and their names.

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
}
