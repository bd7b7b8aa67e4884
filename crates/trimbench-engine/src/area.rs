//! Where data commands go: a part of a device, or a file.

use trimbench_core::{BlockCommand, BlockSize, Bytes, Data, FileCommand, FileId, LbaRange};

/// A run of bytes that can be read and written.
pub trait Area {
    /// What reaches it.
    type Command;

    /// Bytes.
    fn length(&self) -> Bytes;

    /// Reads `length` bytes at `offset`; both whole logical blocks within the area.
    fn read(&self, offset: Bytes, length: Bytes) -> Self::Command;

    /// Writes `length` bytes at `offset`; both whole logical blocks within the area.
    fn write(&self, offset: Bytes, length: Bytes) -> Self::Command;
}

/// A part of a block device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceArea {
    /// First byte on the device.
    pub start: Bytes,
    /// Bytes.
    pub length: Bytes,
    /// The device's unit of addresses.
    pub logical_block: BlockSize,
    /// What writes carry.
    pub data: Data,
}

impl DeviceArea {
    /// The blocks of `length` bytes at `offset` within the area.
    ///
    /// # Panics
    /// If they are not whole blocks within the area.
    pub fn range(&self, offset: Bytes, length: Bytes) -> LbaRange {
        debug_assert!(offset + length <= self.length, "within the area");
        LbaRange::from_bytes(self.start + offset, length, self.logical_block)
            .expect("areas are accessed in whole logical blocks")
    }
}

impl Area for DeviceArea {
    type Command = BlockCommand;

    fn length(&self) -> Bytes {
        self.length
    }

    #[inline]
    fn read(&self, offset: Bytes, length: Bytes) -> BlockCommand {
        BlockCommand::Read(self.range(offset, length))
    }

    #[inline]
    fn write(&self, offset: Bytes, length: Bytes) -> BlockCommand {
        BlockCommand::Write { range: self.range(offset, length), data: self.data }
    }
}

/// A file of known length.
#[derive(Clone, Copy, Debug)]
pub struct FileArea {
    /// Which.
    pub file: FileId,
    /// Bytes.
    pub length: Bytes,
}

impl Area for FileArea {
    type Command = FileCommand;

    fn length(&self) -> Bytes {
        self.length
    }

    fn read(&self, offset: Bytes, length: Bytes) -> FileCommand {
        FileCommand::Read { file: self.file, offset, length }
    }

    fn write(&self, offset: Bytes, length: Bytes) -> FileCommand {
        FileCommand::Write { file: self.file, offset, length }
    }
}
