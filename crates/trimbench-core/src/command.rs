//! Commands to targets, and their completions.

use std::fmt;

use crate::errno::Errno;
use crate::units::{Blocks, Bytes, Instant, Lba, LbaRange, Nanos};

/// The caller's name for an outstanding command; unique among the outstanding ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// The caller's name for a file of a file target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// The caller's name for a directory of a file target: 0 is the target's own, the others are
/// subdirectories of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryId(pub u32);

impl DirectoryId {
    /// The target's own directory.
    pub const OWN: Self = Self(0);
}

/// How a program moves the content of a file through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Bytes that it moves at a time, at least 1; the last piece may be shorter.
    pub piece: u32,
    /// Whether a buffer of the C library lies between (`fwrite`), or each piece is a system call.
    pub buffered: bool,
    /// What it writes.
    pub payload: Payload,
}

/// What goes through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The bytes given with [`crate::Target::set_source`], each operation from their beginning.
    Source,
    /// Bytes that no controller can compress or find twice.
    Random,
}

/// What a write carries. A target makes the bytes itself: no command holds a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Data {
    /// Bytes that no controller can compress or find twice.
    #[default]
    Random,
    /// Bytes of which a compressing controller stores this share, in percent from 0 to 100: 0 are
    /// zeroes, 100 is as good as [`Self::Random`].
    Compressible(u8),
    /// Each logical block says where it belongs and to which generation, so that it is known again
    /// when it is read ([`Content::Stamp`]).
    Stamped(u32),
}

/// What a logical block was found to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// What [`Data::Stamped`] wrote, whole.
    Stamp {
        /// The block that it was written to.
        lba: Lba,
        /// The generation that it was written with.
        generation: u32,
    },
    /// Zeroes only.
    Zeroes,
    /// Ones only.
    Ones,
    /// Anything else; equal bytes have equal hashes.
    Other {
        /// Hash of the bytes.
        hash: u64,
    },
}

/// A command to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockCommand {
    /// Read the range.
    Read(LbaRange),
    /// Write the range.
    Write {
        /// Where to.
        range: LbaRange,
        /// What.
        data: Data,
    },
    /// Tell the device that the range is no longer needed.
    Discard(LbaRange),
    /// Make all completed writes durable.
    Flush,
}

impl BlockCommand {
    /// Write the range with incompressible data.
    pub const fn write(range: LbaRange) -> Self {
        Self::Write { range, data: Data::Random }
    }
}

/// A command to a filesystem. Offsets and lengths are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCommand {
    /// Make an empty file.
    Create {
        /// The new file.
        file: FileId,
    },
    /// Make a file, write `length` bytes through the page cache, and close it.
    Store {
        /// The new file.
        file: FileId,
        /// Where.
        directory: DirectoryId,
        /// Its size.
        length: Bytes,
        /// How.
        stream: Stream,
    },
    /// Open a file, write `length` bytes at its end through the page cache, and close it.
    Append {
        /// Which file.
        file: FileId,
        /// How much.
        length: Bytes,
        /// How.
        stream: Stream,
    },
    /// Open a file, read its first `length` bytes through the page cache, and close it.
    Load {
        /// Which file.
        file: FileId,
        /// How much.
        length: Bytes,
        /// How.
        stream: Stream,
    },
    /// Make a subdirectory.
    MakeDirectory {
        /// The new one.
        directory: DirectoryId,
    },
    /// Remove a subdirectory that is empty.
    RemoveDirectory {
        /// Which one.
        directory: DirectoryId,
    },
    /// Write incompressible data over `[offset, offset + length)`, past the page cache.
    Write {
        /// Which file.
        file: FileId,
        /// First byte.
        offset: Bytes,
        /// How much.
        length: Bytes,
    },
    /// Read `[offset, offset + length)`, past the page cache.
    Read {
        /// Which file.
        file: FileId,
        /// First byte.
        offset: Bytes,
        /// How much.
        length: Bytes,
    },
    /// Cut the file to `length`.
    Truncate {
        /// Which file.
        file: FileId,
        /// The size afterwards.
        length: Bytes,
    },
    /// Free `[offset, offset + length)` and keep the size.
    PunchHole {
        /// Which file.
        file: FileId,
        /// First byte.
        offset: Bytes,
        /// How much.
        length: Bytes,
    },
    /// Remove the file.
    Unlink {
        /// Which file.
        file: FileId,
    },
    /// Make the file durable.
    Fsync {
        /// Which file.
        file: FileId,
    },
    /// Make the whole filesystem durable.
    SyncFilesystem,
    /// Have the filesystem discard its free space (FITRIM), all of it.
    TrimFreeSpace,
    /// Have `trimpace` discard the free space, so that others wait no longer than this for 99 % of
    /// their requests.
    TrimPaced {
        /// The target.
        p99: Nanos,
    },
    /// Run the program that was set with [`crate::Target::set_program`] to its end.
    RunProgram,
}

/// How a program ended, and what it printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Whether it says that it did what it was to do.
    pub succeeded: bool,
    /// What it ended with: `exit code 2`, `signal 9`.
    pub status: String,
    /// The end of its standard output.
    pub output: String,
    /// The end of its standard error.
    pub complaint: String,
}

impl FileCommand {
    /// The file that it is about; `None` for a directory or the whole filesystem.
    pub const fn file(self) -> Option<FileId> {
        match self {
            Self::Create { file }
            | Self::Store { file, .. }
            | Self::Append { file, .. }
            | Self::Load { file, .. }
            | Self::Write { file, .. }
            | Self::Read { file, .. }
            | Self::Truncate { file, .. }
            | Self::PunchHole { file, .. }
            | Self::Unlink { file }
            | Self::Fsync { file } => Some(file),
            Self::MakeDirectory { .. }
            | Self::RemoveDirectory { .. }
            | Self::SyncFilesystem
            | Self::TrimFreeSpace
            | Self::TrimPaced { .. }
            | Self::RunProgram => None,
        }
    }

    /// Whether its file is there afterwards, and was not before.
    pub const fn makes(self) -> bool {
        matches!(self, Self::Create { .. } | Self::Store { .. })
    }
}

/// What class of work a command is, for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationKind {
    /// Data is read.
    Read,
    /// Data is written.
    Write,
    /// Data is declared unneeded.
    Discard,
    /// Earlier writes are made durable.
    Flush,
    /// Names and sizes change.
    Metadata,
}

impl OperationKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::Metadata];

    /// The stable name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::Metadata => "metadata",
        }
    }
}

/// What the runner needs to know of a command.
pub trait Operation: Copy + fmt::Debug {
    /// Its class.
    fn kind(&self) -> OperationKind;
}

impl Operation for BlockCommand {
    #[inline]
    fn kind(&self) -> OperationKind {
        match self {
            Self::Read(_) => OperationKind::Read,
            Self::Write { .. } => OperationKind::Write,
            Self::Discard(_) => OperationKind::Discard,
            Self::Flush => OperationKind::Flush,
        }
    }
}

impl Operation for FileCommand {
    fn kind(&self) -> OperationKind {
        match self {
            Self::Read { .. } | Self::Load { .. } => OperationKind::Read,
            Self::Write { .. } | Self::Store { .. } | Self::Append { .. } => OperationKind::Write,
            Self::PunchHole { .. } | Self::TrimFreeSpace | Self::TrimPaced { .. } => {
                OperationKind::Discard
            }
            Self::Fsync { .. } | Self::SyncFilesystem => OperationKind::Flush,
            Self::Create { .. }
            | Self::Truncate { .. }
            | Self::Unlink { .. }
            | Self::MakeDirectory { .. }
            | Self::RemoveDirectory { .. }
            | Self::RunProgram => OperationKind::Metadata,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Done,
    /// The target reported an error.
    Failed(Errno),
}

impl Status {
    /// The reason of a failure.
    pub fn failure(self) -> Option<Errno> {
        match self {
            Self::Done => None,
            Self::Failed(errno) => Some(errno),
        }
    }
}

/// The end of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The name that the caller gave it.
    pub tag: Tag,
    /// When it ended, on the target's clock.
    pub at: Instant,
    /// How it ended.
    pub status: Status,
}

/// A command that a target does not take. A programmer's or planner's error: nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The range ends beyond the device: plan within `Capabilities::medium`.
    #[error("{range:?} ends beyond the device of {capacity:?}")]
    OutOfRange {
        /// The range asked for.
        range: LbaRange,
        /// What there is.
        capacity: Blocks,
    },
    /// A discard is larger than the device takes: split at `Capabilities::discard_max`.
    #[error("a discard of {length} is larger than the device's limit of {maximum}")]
    DiscardTooLarge {
        /// Asked for.
        length: Bytes,
        /// Allowed.
        maximum: Bytes,
    },
    /// A discard names no range, or more than one command takes: split them.
    #[error("a discard cannot have {count} ranges; give 1 to {maximum}")]
    DiscardRanges {
        /// Asked for.
        count: usize,
        /// Allowed.
        maximum: usize,
    },
    /// The target cannot do this at all: ask `Capabilities` first.
    #[error("this target does not support {operation}")]
    Unsupported {
        /// What was asked.
        operation: &'static str,
    },
    /// The file was never created, or is gone.
    #[error("file {} does not exist on this target", file.0)]
    UnknownFile {
        /// The file asked for.
        file: FileId,
    },
    /// The operating system refused the submission itself.
    #[error("the kernel refused to take the command: {errno}")]
    Kernel {
        /// Its reason.
        errno: Errno,
    },
    /// The requests of the devices below cannot be seen: whoever wants to know where a stall lies
    /// must do without.
    #[error("the requests of the devices below cannot be seen: {reason}")]
    Unseen {
        /// Why, and what to do.
        reason: String,
    },
    /// The filesystem discards as before.
    #[error("its filesystem cannot be made to discard otherwise: {reason}")]
    NotSwitched {
        /// Why, and what to do.
        reason: String,
    },
    /// The target may not be written to, and takes no command any more.
    #[error("the target is not touched: {reason}")]
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}
