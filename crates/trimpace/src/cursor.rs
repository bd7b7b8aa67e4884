//! What the service remembers of a filesystem: when it was trimmed, and how far the pass has come
//! that is under way. A file for each, named after the filesystem's UUID, so that it belongs to the
//! filesystem and not to a path.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trimbench_claim::inspect::hyphenated;
use trimbench_claim::mounts::Mount;
use trimbench_claim::sysfs::devices_of;
use trimbench_claim::{Durability, OutputDirectory, OutputError, Replaces};
use trimbench_core::Errno;
use trimbench_core::text::to_text;
use trimbench_core::trace_hash::TraceHash;

#[cfg(test)]
mod tests;

/// Of the file. Another one is a release's that knows more.
const FORMAT: u32 = 1;

/// What is remembered of a filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// The pass that is under way.
    pub pass: Option<BegunPass>,
    /// The last pass that was completed.
    pub last: Option<CompletedPass>,
}

impl Remembered {
    /// As it is to be understood at this moment. A pass after whose last call the service ended is
    /// complete; and what is in the future, after the clock was set back, counts as of now, so that
    /// it does not keep the next pass away.
    #[must_use]
    pub fn settled(self, now: Timestamp) -> Self {
        let Self { mut pass, mut last } = self;
        if let Some(whole) = pass.filter(|pass| pass.cursor == u64::MAX) {
            (pass, last) = (None, Some(whole.completed(now)));
        }
        if let Some(last) = &mut last {
            (last.begun, last.ended) = (last.begun.min(now), last.ended.min(now));
        }
        if let Some(pass) = &mut pass {
            pass.begun = pass.begun.min(now);
        }
        Self { pass, last }
    }
}

impl BegunPass {
    /// The same when all is done.
    pub fn completed(self, ended: Timestamp) -> CompletedPass {
        let Self { begun, discarded_bytes, worked_s, .. } = self;
        CompletedPass { begun, ended, discarded_bytes, worked_s }
    }
}

/// A pass that is under way, or was when the service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BegunPass {
    /// When it began.
    pub begun: Timestamp,
    /// All below this address is done: bytes, in the addresses of FITRIM.
    pub cursor: u64,
    /// What the devices have discarded meanwhile, bytes.
    pub discarded_bytes: u64,
    /// How long it has worked, s.
    pub worked_s: u64,
}

/// A pass that was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompletedPass {
    /// When it began.
    pub begun: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// What the devices discarded meanwhile, bytes.
    pub discarded_bytes: u64,
    /// How long it worked, s: without the time between its parts.
    pub worked_s: u64,
}

/// As it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    filesystem: String,
    remembered: Remembered,
    /// Of the rest.
    check: String,
}

/// Where the service remembers: on a disk what outlives a power cut, and in `/run` what changes
/// with each call, so that a pass causes no writes of its own.
#[derive(Debug)]
pub struct Memory {
    lasting: OutputDirectory,
    running: OutputDirectory,
}

/// Why nothing of a filesystem is remembered though there is a file. The next pass begins at its
/// start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The file cannot be read or written: make room, or correct its permissions.
    #[error(transparent)]
    File(#[from] OutputError),
    /// The file is damaged; it was set aside.
    #[error("`{}` is damaged; it is kept as `{}`", name.display(), kept.display())]
    Damaged {
        /// Its name.
        name: OsString,
        /// Its new name.
        kept: OsString,
    },
    /// The file is of a later release, or of another filesystem; it was set aside.
    #[error("`{}` is {what}; it is kept as `{}`", name.display(), kept.display())]
    Foreign {
        /// Its name.
        name: OsString,
        /// Of what it is.
        what: String,
        /// Its new name.
        kept: OsString,
    },
}

impl Memory {
    /// In these folders: the first is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(lasting: &Path, running: OutputDirectory) -> Result<Self, MemoryError> {
        Ok(Self { lasting: OutputDirectory::create(lasting)?, running })
    }

    /// What is remembered of the filesystem of this identity; nothing if there is no file.
    ///
    /// # Errors
    /// See [`MemoryError`]. What is damaged or foreign is out of the way afterwards.
    pub fn of(&self, filesystem: &str) -> Result<Remembered, MemoryError> {
        let Some(lasting) = read(&self.lasting, filesystem)? else {
            return Ok(Remembered::default());
        };
        // Always at least as new, if it is there; what is wrong with it is no loss.
        let running = read(&self.running, filesystem).ok().flatten();
        Ok(running.unwrap_or(lasting))
    }

    /// Remembers it until the machine is off.
    ///
    /// # Errors
    /// If the file cannot be written, for example for lack of room: what was remembered before is
    /// still there.
    pub fn keep_running(&self, filesystem: &str, what: &Remembered) -> Result<(), MemoryError> {
        write(&self.running, filesystem, what, Durability::Later)
    }

    /// Remembers it for good.
    ///
    /// # Errors
    /// The same.
    pub fn keep(&self, filesystem: &str, what: &Remembered) -> Result<(), MemoryError> {
        self.keep_running(filesystem, what)?;
        write(&self.lasting, filesystem, what, Durability::Durable)
    }
}

fn read(folder: &OutputDirectory, filesystem: &str) -> Result<Option<Remembered>, MemoryError> {
    let name = file_of(filesystem);
    // What an earlier service had begun to write when it was killed.
    folder.sweep(&[&name])?;
    let bytes = match folder.read(&name) {
        Err(error) if error.errno() == Some(Errno(libc::ENOENT)) => return Ok(None),
        read => read?,
    };
    let what = match serde_json::from_slice::<Document>(&bytes) {
        Ok(document) if document.check != document.computed() => None,
        Ok(document) if document.filesystem != filesystem => {
            Some(format!("of the filesystem {}", document.filesystem))
        }
        Ok(document) if document.format == FORMAT => return Ok(Some(document.remembered)),
        _ => later_format(&bytes).map(|format| format!("of format {format}")),
    };
    let kept = folder.set_aside(&name)?;
    Err(match what {
        Some(what) => MemoryError::Foreign { name, what, kept },
        None => MemoryError::Damaged { name, kept },
    })
}

fn write(
    folder: &OutputDirectory,
    filesystem: &str,
    what: &Remembered,
    durability: Durability,
) -> Result<(), MemoryError> {
    let mut document = Document {
        format: FORMAT,
        filesystem: filesystem.to_owned(),
        remembered: *what,
        check: String::new(),
    };
    document.check = document.computed();
    let text = format!("{:#}\n", serde_json::json!(document));
    folder.write(&file_of(filesystem), text.as_bytes(), Replaces::AnyFile, durability)?;
    Ok(())
}

impl Document {
    fn computed(&self) -> String {
        let Self { format, filesystem, remembered, check: _ } = self;
        let mut hash = TraceHash::default();
        hash.text(&serde_json::json!([format, filesystem, remembered]).to_string());
        format!("{:016x}", hash.value())
    }
}

fn file_of(filesystem: &str) -> OsString {
    format!("{filesystem}.json").into()
}

/// The format of a file that has another one.
fn later_format(bytes: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    value.get("format")?.as_u64().filter(|format| *format != u64::from(FORMAT))
}

/// What a mounted filesystem is remembered by: its UUID, from the superblock; where the kind of
/// filesystem is not known here, a hash of what is mounted and where.
///
/// # Errors
/// If the device cannot be read: run as root.
pub fn identity_of(mount: &Mount) -> io::Result<String> {
    let place = match mount.filesystem.as_str() {
        // `s_uuid`, `sb_uuid`, `fsid`, `uuid` of each superblock.
        "ext2" | "ext3" | "ext4" => Some(0x468),
        "xfs" => Some(0x20),
        "btrfs" => Some(0x1_0020),
        "f2fs" => Some(0x46c),
        _ => None,
    };
    if let (Some(place), Some(device)) = (place, devices_of(mount).into_iter().next()) {
        return read_uuid(&device.node(), place);
    }
    let mut hash = TraceHash::default();
    hash.text(&to_text(&mount.source));
    hash.text(&to_text(&mount.mount_point));
    Ok(format!("{:016x}", hash.value()))
}

fn read_uuid(node: &Path, place: u64) -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open(node)?.read_exact_at(&mut bytes, place)?;
    Ok(hyphenated(&bytes))
}
