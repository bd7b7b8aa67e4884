//! A disk that remembers in which order it was written to, and what it may hold after a power cut.
//!
//! Model: a disk with a volatile cache. What was written before the last flush is on the medium;
//! of what was written after it, any part may be, in units of [`UNIT`] bytes (each is written whole
//! or not at all). A discarded range reads as zeroes. A write that was still under way when a flush
//! began counts as flushed with it, which a disk may do.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::LoopFilesystem;
use crate::slow_disk::SlowImage;

#[cfg(test)]
mod tests;

/// What a disk writes whole or not at all, bytes: the block of the filesystems that lie on it.
pub const UNIT: usize = 4_096;

/// The writes to a disk, in order.
#[derive(Debug, Default)]
pub struct WriteLog {
    entries: Mutex<Vec<Entry>>,
}

#[derive(Clone, Debug)]
enum Entry {
    Write { offset: u64, data: Vec<u8> },
    Zero { offset: u64, length: u64 },
    Flush,
    Mark(u64),
}

impl WriteLog {
    /// Notes that something happened outside of the disk: what it was is the caller's number.
    pub fn mark(&self, what: u64) {
        self.entries().push(Entry::Mark(what));
    }

    /// How many entries there are: a place to cut the power.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last mark before the cut.
    pub fn last_mark(&self, cut: usize) -> Option<u64> {
        self.entries()[..cut].iter().rev().find_map(|entry| match entry {
            Entry::Mark(what) => Some(*what),
            _ => None,
        })
    }

    /// Writes into the empty `image` what the disk holds if the power goes after `cut` entries.
    /// `keeps` is asked for each unit that was written since the last flush.
    ///
    /// # Panics
    /// If the image cannot be written.
    pub fn crash(&self, cut: usize, image: &File, mut keeps: impl FnMut() -> bool) {
        let entries = self.entries();
        let entries = &entries[..cut];
        let flushed = entries.iter().rposition(|entry| matches!(entry, Entry::Flush)).unwrap_or(0);
        for (index, entry) in entries.iter().enumerate() {
            let is_safe = index < flushed;
            match entry {
                Entry::Write { offset, data } => {
                    for (offset, unit) in (*offset..).step_by(UNIT).zip(data.chunks(UNIT)) {
                        if is_safe || keeps() {
                            image.write_all_at(unit, offset).expect("there is room for the image");
                        }
                    }
                }
                Entry::Zero { offset, length } if is_safe || keeps() => {
                    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE
                        | rustix::fs::FallocateFlags::KEEP_SIZE;
                    rustix::fs::fallocate(image, flags, *offset, *length).expect("holes are known");
                }
                Entry::Zero { .. } | Entry::Flush | Entry::Mark(_) => {}
            }
        }
    }

    pub(crate) fn write(&self, offset: u64, data: &[u8]) {
        self.entries().push(Entry::Write { offset, data: data.to_vec() });
    }

    pub(crate) fn zero(&self, offset: u64, length: u64) {
        self.entries().push(Entry::Zero { offset, length });
    }

    pub(crate) fn flush(&self) {
        self.entries().push(Entry::Flush);
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A filesystem on a disk that keeps a log from its making on. All is gone when dropped but what
/// others hold of the log.
#[derive(Debug)]
pub struct LoggedDisk {
    // The order is that of dropping.
    filesystem: LoopFilesystem,
    _image: SlowImage,
    log: Arc<WriteLog>,
}

impl LoggedDisk {
    /// A filesystem of this type and size.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(filesystem: &str, mebibytes: u64) -> Self {
        let log = Arc::new(WriteLog::default());
        let image = SlowImage::logged(mebibytes, Some(Arc::clone(&log)));
        let filesystem = LoopFilesystem::on(image.path(), filesystem, "defaults");
        Self { filesystem, _image: image, log }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.filesystem.path()
    }

    /// Its log.
    pub fn log(&self) -> &Arc<WriteLog> {
        &self.log
    }
}

/// The empty image of a disk in `folder`, and its path.
///
/// # Panics
/// If it cannot be made.
pub fn empty_image(folder: &Path, mebibytes: u64) -> (File, PathBuf) {
    let path = folder.join("crashed");
    let image = File::create_new(&path).expect("the folder is ours");
    image.set_len(mebibytes << 20).expect("sparse files take no room");
    (image, path)
}
