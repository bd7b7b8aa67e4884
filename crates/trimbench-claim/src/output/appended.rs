//! A file that grows piece by piece, each on the disk before the next.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use super::{Inode, OutputError, step};

/// A file to which pieces are appended, by descriptor: whatever becomes of its name.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    /// As named at first; for messages.
    path: PathBuf,
    inode: Inode,
    /// Bytes of whole pieces.
    length: u64,
}

impl AppendedFile {
    /// Of an empty file.
    pub(super) fn new(file: File, path: PathBuf, inode: Inode) -> Self {
        Self { file, path, inode, length: 0 }
    }

    /// Which file it is.
    pub fn inode(&self) -> Inode {
        self.inode
    }

    /// Appends a piece: it is on the disk when this returns. If that fails, the pieces before it
    /// are still there. If the program is killed meanwhile, the file may end with a part of it.
    /// A file that has no name any more is an error (ENOENT): it would be lost with the program.
    pub fn append(&mut self, piece: &[u8]) -> Result<(), OutputError> {
        let failed = || step("write", &self.path);
        if rustix::fs::fstat(&self.file).map_err(failed())?.st_nlink == 0 {
            return Err(failed()(rustix::io::Errno::NOENT));
        }
        let written = self.file.write_all(piece).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A part of a piece would stand before the next one. The first error is the one to
            // report.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(step("write", &self.path)(error));
        }
        self.length += piece.len() as u64;
        Ok(())
    }
}
