//! A disk that remembers in which order it was written to, and what it may hold after a power cut.
//!
//! Model: a disk with a volatile cache. What was written before the last flush is on the medium;
//! of what was written after it, any part may be, in units of `UNIT` bytes (each is written whole
//! or not at all). A discarded range reads as zeroes. A write that was still under way when a flush
//! began counts as flushed with it, which a disk may do.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trimbench_attach::Request;
use trimbench_core::rng::Rng;

use crate::LoopFilesystem;
use crate::fuse_image::FuseImage;

#[cfg(test)]
mod tests;

/// What a disk writes whole or not at all, bytes: the block of the filesystems that lie on it.
const UNIT: usize = 4_096;
/// The least of an XFS, MiB; the others take it as well.
const MEBIBYTES: u64 = 320;

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
    fn mark(&self, what: u64) {
        self.entries().push(Entry::Mark(what));
    }

    /// How many entries there are: a place to cut the power.
    fn len(&self) -> usize {
        self.entries().len()
    }

    /// The last mark before the cut.
    fn last_mark(&self, cut: usize) -> Option<u64> {
        self.entries()[..cut].iter().rev().find_map(|entry| match entry {
            Entry::Mark(what) => Some(*what),
            _ => None,
        })
    }

    /// Writes into the empty `image` what the disk holds if the power goes after `cut` entries.
    /// `keeps` is asked for each unit that was written since the last flush.
    fn crash(&self, cut: usize, image: &File, mut keeps: impl FnMut() -> bool) {
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

    /// Notes what the disk was asked.
    pub(crate) fn note(&self, request: Request<'_>) {
        self.entries().push(match request {
            Request::Read { .. } => return,
            Request::Write { offset, data } => Entry::Write { offset, data: data.to_vec() },
            Request::Zero { offset, length }
            | Request::Discard { offset, length }
            | Request::ZeroFreeing { offset, length } => Entry::Zero { offset, length },
            Request::Flush => Entry::Flush,
        });
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What comes of the writes since the last flush in a power cut.
#[derive(Clone, Copy, Debug)]
pub enum Unflushed {
    /// None is on the medium.
    Lost,
    /// All are.
    Kept,
    /// Each unit as it comes.
    Mixed,
}

/// A filesystem on a disk that keeps a log from its making on. All is gone when dropped but what
/// others hold of the log.
#[derive(Debug)]
pub struct LoggedDisk {
    // The order is that of dropping.
    filesystem: LoopFilesystem,
    _image: FuseImage,
    log: Arc<WriteLog>,
}

/// What was written to a disk while something ran, and what that acknowledged meanwhile.
#[derive(Debug)]
pub struct Recording<T> {
    log: Arc<WriteLog>,
    /// What the marks stand for.
    acknowledged: Vec<T>,
    /// Entries of the log when it began and when it had ended.
    begin: usize,
    end: usize,
}

impl LoggedDisk {
    /// A filesystem of this type.
    ///
    /// # Panics
    /// If that fails: [`crate::requires`] said that it works.
    pub fn new(filesystem: &str) -> Self {
        let log = Arc::new(WriteLog::default());
        let image = FuseImage::logged(MEBIBYTES, Some(Arc::clone(&log)));
        let filesystem = LoopFilesystem::on(image.path(), filesystem, "defaults");
        Self { filesystem, _image: image, log }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.filesystem.path()
    }

    /// Has `body` write to the disk, and acknowledge what it must never lose.
    ///
    /// # Errors
    /// That of `body`.
    pub fn record<T, E>(
        &self,
        body: impl FnOnce(&mut dyn FnMut(T)) -> Result<(), E>,
    ) -> Result<Recording<T>, E> {
        let begin = self.log.len();
        let mut acknowledged = Vec::new();
        body(&mut |progress| {
            self.log.mark(acknowledged.len() as u64);
            acknowledged.push(progress);
        })?;
        Ok(Recording { log: Arc::clone(&self.log), acknowledged, begin, end: self.log.len() })
    }
}

impl<T: Copy + Default> Recording<T> {
    /// A place of the log, from its beginning (0) to its end (10,000).
    pub fn place(&self, part: u64) -> usize {
        let part = usize::try_from(part).expect("it is small");
        self.begin + (self.end - self.begin) * part / 10_000
    }

    /// What had been acknowledged last by then.
    pub fn acknowledged(&self, place: usize) -> T {
        let mark = self.log.last_mark(place).and_then(|mark| usize::try_from(mark).ok());
        mark.map_or_else(T::default, |mark| self.acknowledged[mark])
    }

    /// The disk as it may be after a power cut at this place, in `folder`, mounted. The disk itself
    /// must not be: two filesystems of one name are not mounted at a time.
    ///
    /// # Panics
    /// If it cannot be made or mounted.
    pub fn crash(
        &self,
        (place, unflushed): (usize, Unflushed),
        folder: &Path,
        rng: &mut Rng,
    ) -> LoopFilesystem {
        let path = folder.join("crashed");
        let image = File::create_new(&path).expect("the folder is ours");
        image.set_len(MEBIBYTES << 20).expect("sparse files take no room");
        self.log.crash(place, &image, || match unflushed {
            Unflushed::Lost => false,
            Unflushed::Kept => true,
            Unflushed::Mixed => rng.below(2) == 0,
        });
        LoopFilesystem::existing(&path, "defaults")
    }
}
