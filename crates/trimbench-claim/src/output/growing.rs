//! A file that grows for a long time and must be completed even on a full disk.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};

use rustix::fs::FallocateFlags;

/// How much is reserved at a time, at least: a system call for each write would be many.
const STEP: u64 = 1 << 20;

/// A file with room kept behind its end.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    /// Up to where it is sure to have room.
    reserved: u64,
}

impl GrowingFile {
    /// Of an empty file.
    pub fn new(file: File) -> Self {
        Self { file, reserved: 0 }
    }

    /// Makes sure that `bytes` more have room behind the first `end`: more than that where there is
    /// enough. A filesystem that cannot promise it does not.
    pub fn reserve(&mut self, end: u64, bytes: u64) -> io::Result<()> {
        let wanted = end.saturating_add(bytes);
        if wanted <= self.reserved {
            return Ok(());
        }
        let (flags, from) = (FallocateFlags::KEEP_SIZE, end.max(self.reserved));
        let up_to = |to: u64| rustix::fs::fallocate(&self.file, flags, from, to - from);
        let ample = wanted.max(from.saturating_add(STEP));
        match up_to(ample).map(|()| ample).or_else(|_| up_to(wanted).map(|()| wanted)) {
            Ok(to) => self.reserved = to,
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.reserved = u64::MAX;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    /// Drops what is behind the first `end` bytes, and what was reserved there; writing goes on at
    /// the end.
    pub fn cut(&mut self, end: u64) -> io::Result<()> {
        // Some filesystems keep what is reserved behind the end if the length stays as it is.
        self.file.set_len(end.saturating_add(1))?;
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end))?;
        self.reserved = if self.reserved == u64::MAX { u64::MAX } else { end };
        Ok(())
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        // What is written is the kernel's at once.
        Ok(())
    }
}

#[cfg(test)]
mod tests;
