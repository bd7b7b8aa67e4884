//! Files whose permitted contents after a power cut are known: what was made durable last, or the
//! change that was under way.
//!
//! Each writer has a folder of its own and changes one file after the other: it replaces one by a
//! rename, overwrites some of its blocks in place, deletes it. After each change it waits for
//! `fsync`, of the file or of the folder, which makes it durable. Between them it writes and
//! deletes files that it does not wait for, so that space is freed and discarded beside the others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use trimbench_core::rng::Rng;

/// Bytes of a block: what filesystems write whole.
const BLOCK: usize = 4_096;
/// Words of a block's head: what kind of block it is, and whose.
const HEAD: usize = 4;
const MAGIC: u64 = 0x7472_696d_6469_736b;
const WRITERS: u64 = 3;
/// Files of a writer, and their greatest length in blocks.
const FILES: u64 = 16;
const BLOCKS: u64 = 64;
/// How many files that nobody waits for are there at a time.
const CARELESS: u64 = 4;

/// Writers at work.
#[derive(Debug)]
pub struct DurableFiles {
    is_over: Arc<AtomicBool>,
    /// Changes of all writers that were made durable.
    changes: Arc<AtomicU64>,
    writers: Vec<JoinHandle<Folder>>,
}

/// What the files may hold.
#[derive(Debug)]
pub struct DurableContents {
    folders: Vec<Folder>,
}

/// The versions of a file's blocks.
type Versions = Vec<u64>;

/// A writer's folder.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    identity: u64,
    files: BTreeMap<u64, Known>,
    /// Changes that were made durable.
    changes: u64,
    /// Why the writer ended before it was to.
    failure: Option<io::Error>,
}

/// What is known of a file; without versions there is none.
#[derive(Clone, Debug, Default)]
struct Known {
    durable: Option<Versions>,
    /// The change under way.
    begun: Option<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Replaced(Versions),
    /// Some blocks, in place.
    Overwritten(Versions),
    Deleted,
}

impl DurableFiles {
    /// Begins to write below a folder, which is made. What is written is drawn from `seed`.
    ///
    /// # Errors
    /// If the folders cannot be made.
    pub fn begin(folder: &Path, seed: u64) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let changes = Arc::new(AtomicU64::new(0));
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let mut rng = Rng::new(seed).split(&format!("writer {writer}"));
            let path = folder.join(format!("writer{writer}"));
            fs::create_dir_all(&path)?;
            let mut own = Folder::new(path, rng.bits());
            let (is_over, changes) = (Arc::clone(&is_over), Arc::clone(&changes));
            writers.push(thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    if let Err(error) = own.change(&mut rng, &is_over) {
                        let is_early = !is_over.load(Ordering::SeqCst);
                        own.failure = is_early.then_some(error);
                        break;
                    }
                    changes.fetch_add(1, Ordering::SeqCst);
                }
                own
            }));
        }
        // The folders themselves, in the one above, too.
        for folder in folder.ancestors().take(2) {
            File::open(folder)?.sync_all()?;
        }
        Ok(Self { is_over, changes, writers })
    }

    /// Waits until so many changes were made durable, or no writer is left.
    pub fn wait_for_changes(&self, changes: u64) {
        let is_alive = |writer: &JoinHandle<Folder>| !writer.is_finished();
        while self.changes.load(Ordering::SeqCst) < changes && self.writers.iter().any(is_alive) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops counting acknowledgements, calls `cut`, and waits for the writers. What is
    /// acknowledged later does not count as durable: this machine outlives the power cut of its
    /// disk, and ext4 acknowledges the `fsync` of a folder whose commit another thread has just
    /// seen fail, for then there is nothing left to commit (`__jbd2_journal_force_commit`).
    pub fn end(self, cut: impl FnOnce()) -> DurableContents {
        self.is_over.store(true, Ordering::SeqCst);
        cut();
        let ended = self.writers.into_iter().map(JoinHandle::join);
        DurableContents { folders: ended.map(|it| it.expect("writers do not panic")).collect() }
    }
}

impl DurableContents {
    /// Changes that were made durable.
    pub fn changes(&self) -> u64 {
        self.folders.iter().map(|folder| folder.changes).sum()
    }

    /// What is not as it must be, one line each.
    pub fn faults(&self) -> Vec<String> {
        self.folders.iter().flat_map(Folder::faults).collect()
    }
}

impl Folder {
    fn new(path: PathBuf, identity: u64) -> Self {
        Self { path, identity, files: BTreeMap::new(), changes: 0, failure: None }
    }

    fn change(&mut self, rng: &mut Rng, is_over: &AtomicBool) -> io::Result<()> {
        self.write_carelessly(rng)?;
        let file = rng.below(FILES);
        let known = self.files.entry(file).or_default();
        let version = self.changes + 1;
        let change = match (&known.durable, rng.below(3)) {
            (Some(_), 0) => Change::Deleted,
            (Some(versions), 1) => {
                let one_in = 1 + rng.below(8);
                let draw = |old: &u64| if rng.below(one_in) == 0 { version } else { *old };
                Change::Overwritten(versions.iter().map(draw).collect())
            }
            _ => {
                let blocks = usize::try_from(1 + rng.below(BLOCKS)).expect("it is small");
                Change::Replaced(vec![version; blocks])
            }
        };
        known.begun = Some(change.clone());
        let path = self.place(file);
        let durable = match change {
            Change::Replaced(versions) => {
                let new = self.path.join("new");
                let mut written = File::create(&new)?;
                for (index, version) in (0..).zip(&versions) {
                    written.write_all(&self.block(file, index, *version))?;
                }
                written.sync_all()?;
                fs::rename(new, path)?;
                File::open(&self.path)?.sync_all()?;
                Some(versions)
            }
            Change::Overwritten(versions) => {
                let written = File::options().write(true).open(path)?;
                for (index, _) in (0..).zip(&versions).filter(|(_, of)| **of == version) {
                    written
                        .write_all_at(&self.block(file, index, version), index * BLOCK as u64)?;
                }
                written.sync_data()?;
                Some(versions)
            }
            Change::Deleted => {
                fs::remove_file(path)?;
                File::open(&self.path)?.sync_all()?;
                None
            }
        };
        if is_over.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.changes = version;
        self.files.insert(file, Known { durable, begun: None });
        Ok(())
    }

    /// Writes one more file without waiting for it, and deletes an older one.
    fn write_carelessly(&self, rng: &mut Rng) -> io::Result<()> {
        let path = |number: u64| self.path.join(format!("careless{number}"));
        let bytes = usize::try_from(1 + rng.below(1 << 18)).expect("it is small");
        fs::write(path(self.changes), vec![7; bytes])?;
        match self.changes.checked_sub(CARELESS) {
            Some(old) => fs::remove_file(path(old)),
            None => Ok(()),
        }
    }

    fn place(&self, file: u64) -> PathBuf {
        self.path.join(format!("file{file}"))
    }

    /// What a block of a file holds.
    fn block(&self, file: u64, index: u64, version: u64) -> Vec<u8> {
        let head = [MAGIC ^ self.identity, file, index, version];
        let mut rest =
            Rng::new(head.iter().fold(0, |all: u64, word| {
                all.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(*word)
            }));
        let rest = std::iter::repeat_with(|| rest.bits()).take(BLOCK / 8 - HEAD);
        head.into_iter().chain(rest).flat_map(u64::to_le_bytes).collect()
    }

    fn faults(&self) -> Vec<String> {
        let fault = |(file, known): (&u64, &Known)| {
            let path = self.place(*file);
            let said = match self.found(*file) {
                Ok(found) if known.may_be(found.as_ref()) => return None,
                Ok(None) => "is not there".to_owned(),
                Ok(Some(found)) => format!("has blocks of the versions {found:?}"),
                Err(error) => error.to_string(),
            };
            let Known { durable, begun } = known;
            Some(format!("{}: {said}; durable was {durable:?}, then {begun:?}", path.display()))
        };
        let failure = self.failure.iter().map(|error| {
            format!("{}: a writer failed before the cut: {error}", self.path.display())
        });
        failure.chain(self.files.iter().filter_map(fault)).collect()
    }

    /// The versions of a file's blocks.
    fn found(&self, file: u64) -> io::Result<Option<Versions>> {
        let mut bytes = Vec::new();
        match File::open(self.place(file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?.read_to_end(&mut bytes)?,
        };
        let version = |(index, block): (u64, &[u8])| {
            let words = block.get(24..32).and_then(|bytes| bytes.try_into().ok());
            let version = words.map_or(0, u64::from_le_bytes);
            let is_whole = block == self.block(file, index, version);
            is_whole.then_some(version).ok_or_else(|| {
                io::Error::other(format!(
                    "block {index} of {} bytes is torn or foreign",
                    bytes.len()
                ))
            })
        };
        (0..).zip(bytes.chunks(BLOCK)).map(version).collect::<io::Result<_>>().map(Some)
    }
}

impl Known {
    /// Whether a file may be so after a power cut.
    fn may_be(&self, found: Option<&Versions>) -> bool {
        let is_as_before = found == self.durable.as_ref();
        is_as_before
            || match &self.begun {
                None => false,
                Some(Change::Deleted) => found.is_none(),
                Some(Change::Replaced(versions)) => found == Some(versions),
                Some(Change::Overwritten(versions)) => {
                    let (Some(found), Some(old)) = (found, &self.durable) else { return false };
                    let mut blocks = found.iter().zip(old.iter().zip(versions));
                    found.len() == old.len()
                        && blocks.all(|(found, (old, new))| found == old || found == new)
                }
            }
    }
}

#[cfg(test)]
mod tests;
