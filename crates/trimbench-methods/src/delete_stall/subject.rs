//! The object to delete: an extent of a device, or a file in a directory.

use trimbench_core::{
    BlockCommand, BlockSize, Blocks, Bytes, Data, FileCommand, FileId, ForceDiscards, Instant,
    LbaRange, Operation, Workload,
};

use super::options::{DeleteStall, Mode};
use trimbench_engine::drain::force;
use trimbench_engine::{
    Area, DeviceArea, FileArea, InTurn, IssuePace, Issuing, SCRATCH_LENGTH, Scratch, Script,
};

/// Groups of commands; each group starts when the one before has ended.
pub type Groups<C> = Vec<Vec<C>>;

/// What the method needs to know of a kind of target. A deletion of size zero is that of an empty
/// file.
pub trait StallSubject {
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

    /// The deletion, from `start` on: what is timed.
    fn deletion(
        &self,
        start: Instant,
        ordinal: u32,
        size: Bytes,
    ) -> Box<dyn Workload<Command = Self::Command>>;

    /// The files, by ordinal, that hold `size` bytes which are to be deleted in chunks of `chunk`.
    fn chunk_files(&self, size: Bytes, chunk: Bytes) -> Vec<(u32, Bytes)>;

    /// How each of these chunks is deleted, in their order.
    fn delete_chunks(&self, size: Bytes, chunk: Bytes) -> Vec<Groups<Self::Command>>;

    /// Removes what the deletion left, after the window.
    fn tidy(&self, ordinal: u32) -> Groups<Self::Command>;

    /// Removes a file that was not deleted.
    fn remove(&self, ordinal: u32) -> Groups<Self::Command>;

    /// Removes what `set_up` made.
    fn tear_down(&self) -> Groups<Self::Command>;

    /// The file of that ordinal, where there are files.
    fn file(&self, ordinal: u32) -> Option<FileId>;
}

/// A block device: the "file" is an extent behind the load's area. A deletion is a flush, as of the
/// commit that frees it, and then its discards as the issuer sends them; of an empty file it is the
/// flush.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSubject {
    logical_block: BlockSize,
    span: Bytes,
    /// The longest range of the issuer, whole logical blocks.
    chunk: Option<Bytes>,
    pace: IssuePace,
    /// The largest discard, whole logical blocks.
    discard_max: Bytes,
}

impl DeviceSubject {
    /// For a device of this logical block size that takes discards of up to `discard_max`.
    pub fn new(method: &DeleteStall, logical_block: BlockSize, discard_max: Bytes) -> Self {
        let whole = |bytes: Bytes| trimbench_engine::settings::whole(bytes, logical_block);
        let chunk = method.longest_range().map(whole);
        let (span, pace) = (method.span, method.pace());
        Self { logical_block, span, chunk, pace, discard_max: whole(discard_max) }
    }

    /// The extent in ranges of `chunk`.
    fn ranges(&self, size: Bytes, chunk: Bytes) -> impl Iterator<Item = LbaRange> {
        let area = self.victim_area(0, size);
        offsets(size, chunk).map(move |(offset, length)| area.range(offset, length))
    }
}

/// Offset and length of the pieces of `size`, the last of which may be shorter.
fn offsets(size: Bytes, piece: Bytes) -> impl Iterator<Item = (Bytes, Bytes)> {
    (0..size.pieces(piece)).map(move |index| {
        let offset = Bytes(index * piece.0);
        (offset, piece.min(size - offset))
    })
}

impl StallSubject for DeviceSubject {
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

    fn deletion(
        &self,
        start: Instant,
        _: u32,
        size: Bytes,
    ) -> Box<dyn Workload<Command = BlockCommand>> {
        let commit = Script::new(start, [vec![BlockCommand::Flush]]);
        let longest = self.chunk.unwrap_or(size);
        // A placebo has no range, whatever the longest is.
        let ranges = (size > Bytes(0)).then(|| self.ranges(size, longest).collect());
        let piece_max = Blocks(self.discard_max.0 / self.logical_block.bytes().0);
        let discards = Issuing::new(start, ranges.unwrap_or_default(), piece_max, self.pace);
        Box::new(InTurn::new(vec![Box::new(commit), Box::new(discards)]))
    }

    fn chunk_files(&self, size: Bytes, _: Bytes) -> Vec<(u32, Bytes)> {
        vec![(0, size)]
    }

    fn delete_chunks(&self, size: Bytes, chunk: Bytes) -> Vec<Groups<BlockCommand>> {
        let ranges = self.ranges(size, chunk.min(self.discard_max));
        ranges.map(|range| vec![vec![BlockCommand::Discard(range)]]).collect()
    }

    fn tidy(&self, _: u32) -> Groups<BlockCommand> {
        Vec::new()
    }

    fn remove(&self, _: u32) -> Groups<BlockCommand> {
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
pub(super) const FIRST_VICTIM: u32 = 2;

impl DirectorySubject {
    /// For a directory whose filesystem needs `force` to send its discards.
    pub fn new(method: &DeleteStall, force: ForceDiscards) -> Self {
        Self { span: method.span, mode: method.mode, force }
    }

    fn victim(ordinal: u32) -> FileId {
        FileId(FIRST_VICTIM + ordinal)
    }

    /// Frees `length` bytes from `offset` to the end of a file; the file itself where the mode
    /// removes it.
    fn free(&self, ordinal: u32, offset: Bytes, length: Bytes) -> FileCommand {
        let file = Self::victim(ordinal);
        match self.mode {
            Mode::Unlink | Mode::Trim => FileCommand::Unlink { file },
            Mode::Truncate => FileCommand::Truncate { file, length: offset },
            Mode::PunchHole => FileCommand::PunchHole { file, offset, length },
        }
    }

    /// A file's end, and what forces its discards.
    pub(super) fn delete(&self, ordinal: u32, size: Bytes) -> Groups<FileCommand> {
        let whole = size.max(SCRATCH_LENGTH);
        self.synced(self.free(ordinal, Bytes(0), whole))
    }

    /// What frees space, followed by what makes it durable and sends its discards on their way.
    fn synced(&self, free: FileCommand) -> Groups<FileCommand> {
        let forcing = force(self.force, Scratch::Kept(SCRATCH));
        let commands = std::iter::once(free).chain(forcing);
        let mut groups: Groups<FileCommand> = commands.map(|command| vec![command]).collect();
        if self.mode == Mode::Trim {
            groups.push(vec![FileCommand::TrimFreeSpace]);
        }
        groups
    }
}

impl StallSubject for DirectorySubject {
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

    fn deletion(
        &self,
        start: Instant,
        ordinal: u32,
        size: Bytes,
    ) -> Box<dyn Workload<Command = FileCommand>> {
        Box::new(Script::new(start, self.delete(ordinal, size)))
    }

    fn chunk_files(&self, size: Bytes, chunk: Bytes) -> Vec<(u32, Bytes)> {
        match self.mode {
            Mode::Unlink | Mode::Trim => (0..).zip(offsets(size, chunk).map(|it| it.1)).collect(),
            Mode::Truncate | Mode::PunchHole => vec![(0, size)],
        }
    }

    fn delete_chunks(&self, size: Bytes, chunk: Bytes) -> Vec<Groups<FileCommand>> {
        let mut pieces: Vec<(Bytes, Bytes)> = offsets(size, chunk).collect();
        match self.mode {
            Mode::Unlink | Mode::Trim => {
                let files = (0..).zip(pieces);
                files.map(|(ordinal, (_, length))| self.delete(ordinal, length)).collect()
            }
            Mode::Truncate | Mode::PunchHole => {
                // A file can be cut from its end only.
                pieces.reverse();
                let free = |(offset, length)| self.synced(self.free(0, offset, length));
                pieces.into_iter().map(free).collect()
            }
        }
    }

    fn tidy(&self, ordinal: u32) -> Groups<FileCommand> {
        match self.mode {
            Mode::Unlink | Mode::Trim => Vec::new(),
            Mode::Truncate | Mode::PunchHole => self.remove(ordinal),
        }
    }

    fn remove(&self, ordinal: u32) -> Groups<FileCommand> {
        vec![vec![FileCommand::Unlink { file: Self::victim(ordinal) }]]
    }

    fn tear_down(&self) -> Groups<FileCommand> {
        vec![vec![FileCommand::Unlink { file: LOAD }, FileCommand::Unlink { file: SCRATCH }]]
    }

    fn file(&self, ordinal: u32) -> Option<FileId> {
        Some(Self::victim(ordinal))
    }
}
