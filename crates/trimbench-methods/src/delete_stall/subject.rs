//! What is deleted: an extent of a device, or a file in a directory.

use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Data, FileCommand, FileId, ForceDiscards, Operation,
};

use super::options::{DeleteStall, Mode};
use crate::area::{Area, DeviceArea, FileArea};

/// Groups of commands; each group starts when the one before has ended.
pub type Groups<C> = Vec<Vec<C>>;

/// What the method needs to know of a kind of target. A size of zero is a placebo: an empty file.
pub trait Subject {
    /// The target's commands.
    type Command: Operation;
    /// Its areas.
    type Area: Area<Command = Self::Command> + Clone;

    /// What must exist before the load's area is written.
    fn set_up(&self) -> Groups<Self::Command>;

    /// Where load and probe work.
    fn load_area(&self) -> Self::Area;

    /// Makes the `ordinal`-th file, empty.
    fn make(&self, ordinal: u32) -> Groups<Self::Command>;

    /// Where the content of that file goes.
    fn victim_area(&self, ordinal: u32, size: Bytes) -> Self::Area;

    /// Makes the file durable.
    fn settle(&self, ordinal: u32) -> Groups<Self::Command>;

    /// The deletion: what is timed.
    fn delete(&self, ordinal: u32, size: Bytes) -> Groups<Self::Command>;

    /// The commands that delete the content of the first file in pieces of `chunk`; none where only
    /// whole files can be deleted.
    fn pieces(&self, size: Bytes, chunk: Bytes) -> Vec<Self::Command>;

    /// Removes what the deletion left, after the window.
    fn tidy(&self, ordinal: u32) -> Groups<Self::Command>;

    /// Removes what `set_up` made.
    fn tear_down(&self) -> Groups<Self::Command>;

    /// The file of that ordinal, where there are files.
    fn file(&self, ordinal: u32) -> Option<FileId>;
}

/// A block device: the "file" is an extent behind the load's area, discarded in chunks as a
/// filesystem would, all of them submitted at once; a placebo is the flush alone.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSubject {
    logical_block: BlockSize,
    span: Bytes,
    chunk: Bytes,
    /// The largest discard, whole logical blocks.
    discard_max: Bytes,
}

impl DeviceSubject {
    /// For a device of this logical block size that takes discards of up to `discard_max`.
    pub fn new(method: &DeleteStall, logical_block: BlockSize, discard_max: Bytes) -> Self {
        let unit = logical_block.bytes().0;
        let discard_max = Bytes(discard_max.0 / unit * unit);
        let chunk = Bytes(method.chunk.min(discard_max).0 / unit * unit);
        Self { logical_block, span: method.span, chunk, discard_max }
    }
}

impl Subject for DeviceSubject {
    type Command = BlockCommand;
    type Area = DeviceArea;

    fn set_up(&self) -> Groups<BlockCommand> {
        Vec::new()
    }

    fn load_area(&self) -> DeviceArea {
        DeviceArea {
            start: Bytes(0),
            length: self.span,
            logical_block: self.logical_block,
            data: Data::Random,
        }
    }

    fn make(&self, _: u32) -> Groups<BlockCommand> {
        Vec::new()
    }

    fn victim_area(&self, _: u32, size: Bytes) -> DeviceArea {
        DeviceArea {
            start: self.span,
            length: size,
            logical_block: self.logical_block,
            data: Data::Random,
        }
    }

    fn settle(&self, _: u32) -> Groups<BlockCommand> {
        vec![vec![BlockCommand::Flush]]
    }

    fn delete(&self, _: u32, size: Bytes) -> Groups<BlockCommand> {
        vec![self.pieces(size, self.chunk), vec![BlockCommand::Flush]]
    }

    fn pieces(&self, size: Bytes, chunk: Bytes) -> Vec<BlockCommand> {
        let area = self.victim_area(0, size);
        let chunk = chunk.min(self.discard_max);
        let chunks = (0..size.pieces(chunk)).map(|index| {
            let offset = Bytes(index * chunk.0);
            BlockCommand::Discard(area.range(offset, chunk.min(size - offset)))
        });
        chunks.collect()
    }

    fn tidy(&self, _: u32) -> Groups<BlockCommand> {
        Vec::new()
    }

    fn tear_down(&self) -> Groups<BlockCommand> {
        Vec::new()
    }

    fn file(&self, _: u32) -> Option<FileId> {
        None
    }
}

/// A directory: real files, deleted as a program would, then synced.
#[derive(Clone, Copy, Debug)]
pub struct DirectorySubject {
    span: Bytes,
    mode: Mode,
    force: ForceDiscards,
}

/// The file that load and probe access.
const LOAD: FileId = FileId(0);
/// A file to make dirty and sync, which forces the log.
const SCRATCH: FileId = FileId(1);
/// The first of the deleted files.
const FIRST_VICTIM: u32 = 2;
/// What is written to the scratch file.
const SCRATCH_LENGTH: Bytes = Bytes(4_096);

impl DirectorySubject {
    /// For a directory whose filesystem needs `force` to send its discards.
    pub fn new(method: &DeleteStall, force: ForceDiscards) -> Self {
        Self { span: method.span, mode: method.mode, force }
    }

    fn victim(ordinal: u32) -> FileId {
        FileId(FIRST_VICTIM + ordinal)
    }
}

impl Subject for DirectorySubject {
    type Command = FileCommand;
    type Area = FileArea;

    fn set_up(&self) -> Groups<FileCommand> {
        let create =
            vec![FileCommand::Create { file: LOAD }, FileCommand::Create { file: SCRATCH }];
        // Else the first deletion would be charged for everything that was free before.
        let trim = (self.mode == Mode::Trim).then(|| vec![FileCommand::TrimFreeSpace]);
        std::iter::once(create).chain(trim).collect()
    }

    fn load_area(&self) -> FileArea {
        FileArea { file: LOAD, length: self.span }
    }

    fn make(&self, ordinal: u32) -> Groups<FileCommand> {
        vec![vec![FileCommand::Create { file: Self::victim(ordinal) }]]
    }

    fn victim_area(&self, ordinal: u32, size: Bytes) -> FileArea {
        FileArea { file: Self::victim(ordinal), length: size }
    }

    fn settle(&self, ordinal: u32) -> Groups<FileCommand> {
        vec![
            vec![FileCommand::Fsync { file: Self::victim(ordinal) }],
            vec![FileCommand::SyncFilesystem],
        ]
    }

    fn delete(&self, ordinal: u32, size: Bytes) -> Groups<FileCommand> {
        let file = Self::victim(ordinal);
        let free = match self.mode {
            Mode::Unlink | Mode::Trim => FileCommand::Unlink { file },
            Mode::Truncate => FileCommand::Truncate { file, length: Bytes(0) },
            Mode::PunchHole => {
                let length = size.max(SCRATCH_LENGTH);
                FileCommand::PunchHole { file, offset: Bytes(0), length }
            }
        };
        let mut groups = vec![vec![free], vec![FileCommand::SyncFilesystem]];
        if self.force == ForceDiscards::FsyncDirtyFile {
            let (file, offset, length) = (SCRATCH, Bytes(0), SCRATCH_LENGTH);
            groups.push(vec![FileCommand::Write { file, offset, length }]);
            groups.push(vec![FileCommand::Fsync { file }]);
        }
        if self.mode == Mode::Trim {
            groups.push(vec![FileCommand::TrimFreeSpace]);
        }
        groups
    }

    fn pieces(&self, _: Bytes, _: Bytes) -> Vec<FileCommand> {
        Vec::new()
    }

    fn tidy(&self, ordinal: u32) -> Groups<FileCommand> {
        match self.mode {
            Mode::Unlink | Mode::Trim => Vec::new(),
            Mode::Truncate | Mode::PunchHole => {
                vec![vec![FileCommand::Unlink { file: Self::victim(ordinal) }]]
            }
        }
    }

    fn tear_down(&self) -> Groups<FileCommand> {
        vec![vec![FileCommand::Unlink { file: LOAD }, FileCommand::Unlink { file: SCRATCH }]]
    }

    fn file(&self, ordinal: u32) -> Option<FileId> {
        Some(Self::victim(ordinal))
    }
}
