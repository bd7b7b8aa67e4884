//! Reading and writing past the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use trimbench_linux::AlignedBuffer;

/// A file or device that is read and written past the page cache.
#[derive(Debug)]
pub(super) struct DirectFile {
    file: File,
}

impl DirectFile {
    /// Opens what is there, or makes a file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(!path.exists());
        let flags = OFlags::DIRECT.bits().cast_signed();
        Ok(Self { file: options.custom_flags(flags).open(path)? })
    }

    /// The file itself.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Reads so many bytes.
    pub(super) fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut buffer = AlignedBuffer::new(length);
        self.file.read_exact_at(&mut buffer, offset)?;
        Ok(buffer.to_vec())
    }

    /// Writes all of it.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut buffer = AlignedBuffer::new(data.len());
        buffer.copy_from_slice(data);
        self.file.write_all_at(&buffer, offset)
    }
}
