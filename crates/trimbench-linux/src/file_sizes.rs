//! The sizes of the files below a directory: what its user deletes.
//!
//! Sizes are those of the blocks that a file takes, which are what its deletion frees. A file with
//! several names counts once; other filesystems that are mounted below do not count. The look is
//! bounded in files and in time, and says whether it was complete.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use trimbench_claim::errno_of;
use trimbench_core::{Bytes, Errno, Nanos};

use crate::clock::MonotonicClock;

#[cfg(test)]
mod tests;

/// How far a look goes.
#[derive(Clone, Copy, Debug)]
pub struct LookLimits {
    /// Files and directories, at the most.
    pub entries: u64,
    /// Time, at the most.
    pub time: Nanos,
}

impl Default for LookLimits {
    /// A million entries take some seconds where their inodes are cached, and 20 s is what one
    /// waits before a measurement of minutes.
    fn default() -> Self {
        Self { entries: 1_000_000, time: Nanos::from_secs(20) }
    }
}

/// What was found below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSizes {
    /// Files that take any space.
    pub files: u64,
    /// All of them together.
    pub bytes: Bytes,
    /// Half of the bytes lie in files of this size or larger.
    pub typical: Bytes,
    /// The largest.
    pub largest: Bytes,
    /// Directories that could not be read.
    pub unread: u64,
    /// Whether nothing was left when the look ended.
    pub is_complete: bool,
}

impl FileSizes {
    /// Looks below a directory; `None` if no file there takes any space.
    ///
    /// # Errors
    /// If the directory itself cannot be read. What cannot be read below it is counted.
    pub fn below(directory: &Path, limits: LookLimits) -> Result<Option<Self>, Errno> {
        let device = fs::metadata(directory).map_err(errno_of)?.dev();
        fs::read_dir(directory).map_err(errno_of)?;
        let clock = MonotonicClock::start();
        let end = clock.now() + limits.time;
        let mut open: Vec<PathBuf> = vec![directory.to_owned()];
        let (mut sizes, mut linked) = (Vec::new(), BTreeSet::new());
        let (mut seen, mut unread) = (0, 0);
        let mut is_over = || {
            seen += 1;
            seen > limits.entries || clock.now() >= end
        };
        let mut is_complete = true;
        'look: while let Some(next) = open.pop() {
            let Ok(entries) = fs::read_dir(&next) else {
                unread += 1;
                continue;
            };
            for entry in entries {
                if is_over() {
                    is_complete = false;
                    break 'look;
                }
                // What goes meanwhile is gone.
                let Ok(entry) = entry else { continue };
                let Ok(found) = entry.metadata() else { continue };
                if found.dev() != device {
                    continue;
                }
                if found.is_dir() {
                    open.push(entry.path());
                } else if found.is_file() && (found.nlink() == 1 || linked.insert(found.ino())) {
                    // st_blocks counts units of 512 bytes, whatever the filesystem's blocks.
                    sizes.push(found.blocks() * 512);
                }
            }
        }
        sizes.retain(|size| *size > 0);
        sizes.sort_unstable();
        let bytes: u64 = sizes.iter().sum();
        let mut larger = 0;
        let typical = sizes.iter().rev().find(|size| {
            larger += **size;
            larger * 2 >= bytes
        });
        Ok(typical.map(|typical| Self {
            files: sizes.len() as u64,
            bytes: Bytes(bytes),
            typical: Bytes(*typical),
            largest: Bytes(sizes.last().copied().unwrap_or(0)),
            unread,
            is_complete,
        }))
    }
}
