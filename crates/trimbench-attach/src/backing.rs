//! A file that keeps what a drive holds while it is not attached.
//!
//! ```text
//! 0        header: one line of JSON, filled up with zeroes
//! 4 KiB    a bit for each mapping unit: whether it holds data
//! start    the bytes of the blocks; holes where nothing was written
//! ```
//!
//! The bits are brought up to date when a flush ends and when the drive is detached. A server that
//! is killed leaves what the last flush had covered, as a drive with a volatile cache does.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trimbench_claim::mounts::mount_of;
use trimbench_claim::sysfs::devices_of;
use trimbench_claim::{BackingError, Durability, OutputError, OutputPlace, open_backing};
use trimbench_core::units::{index, narrow};
use trimbench_core::{Blocks, Bytes, Lba, LbaRange};
use trimbench_ssd::{DriveConfigError, PreconditionStep, Ssd, SsdConfig};

use crate::control::attached;
use crate::drive::{self, BLOCK, InitialState};
use crate::unit_map::UnitMap;

#[cfg(test)]
mod tests;

/// The version of the layout.
const VERSION: u32 = 1;
/// Bytes of the header.
const HEADER: u64 = 4_096;
/// What the header begins with.
const MARK: &[u8] = b"{\"trimbench-drive\":";
/// Where the blocks begin is a multiple of this: 1 MiB.
const ALIGNMENT: u64 = 1 << 20;
/// The generation of what is in the file when it is opened.
const KEPT: u32 = 1;

/// The file that keeps the contents, and whose contents they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingPlace {
    /// Where. It is made if there is nothing.
    pub path: PathBuf,
    /// The profile, as it was named.
    pub profile: String,
    /// What tells this version of the profile from others.
    pub profile_hash: u64,
}

/// Why a file does not keep the contents of this drive. Nothing of it was changed.
#[derive(Debug, thiserror::Error)]
pub enum BackingFileError {
    /// It cannot be opened, or is no file of ours.
    #[error(transparent)]
    Claim(#[from] BackingError),
    /// It cannot be made.
    #[error(transparent)]
    Made(#[from] OutputError),
    /// It keeps another drive.
    #[error("`{}` keeps a drive of {has}, and this one has {wants}", path.display())]
    OfAnother {
        /// The file.
        path: PathBuf,
        /// What the file says.
        has: String,
        /// What was asked for.
        wants: String,
    },
    /// It lies on an emulated drive, which would wait for itself.
    #[error("`{}` lies on the attached drive `{}`", path.display(), device.display())]
    OnAttached {
        /// The file.
        path: PathBuf,
        /// The drive.
        device: PathBuf,
    },
    /// It cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The drive's numbers are none of a drive.
    #[error(transparent)]
    Drive(#[from] DriveConfigError),
}

impl BackingFileError {
    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Claim(BackingError::InUse { .. }) => {
                Some("`trimbench attach --list` names drives")
            }
            Self::Claim(_) => {
                Some("name a file that does not exist yet, or one that `--backing` made")
            }
            Self::OfAnother { .. } => Some("attach the drive that it keeps, or name another file"),
            Self::OnAttached { .. } => Some("name a file on a disk"),
            Self::Made(_) | Self::Io { .. } | Self::Drive(_) => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    #[serde(rename = "trimbench-drive")]
    version: u32,
    profile: String,
    profile_hash: String,
    capacity: u64,
    unit: u64,
}

/// What a file keeps: the file, where its blocks begin, the drive, and the map.
pub(crate) struct Kept {
    pub(crate) file: File,
    pub(crate) start: u64,
    pub(crate) drive: Ssd,
    pub(crate) map: UnitMap,
}

/// Opens the file of a drive, or makes it for a drive in `state`.
pub(crate) fn open(
    place: &BackingPlace,
    config: SsdConfig,
    state: InitialState,
) -> Result<Kept, BackingFileError> {
    let path = &place.path;
    refuse_attached(path)?;
    let (capacity, unit) = (config.capacity.0, config.mapping_unit.0);
    let wanted = Header {
        version: VERSION,
        profile: place.profile.clone(),
        profile_hash: format!("{:016x}", place.profile_hash),
        capacity,
        unit,
    };
    let start = (HEADER + (capacity / unit).div_ceil(8)).next_multiple_of(ALIGNMENT);
    let io = |error| BackingFileError::Io { path: path.clone(), error };
    let is_ours = |head: &[u8]| head.starts_with(MARK);
    let found = open_backing(path, HEADER, is_ours)?;
    let is_new = found.is_none();
    let file = if let Some(file) = found {
        file
    } else {
        make(path, &wanted, start + capacity)?;
        let made = open_backing(path, HEADER, is_ours)?;
        made.ok_or_else(|| io(io::ErrorKind::NotFound.into()))?
    };
    let mut head = vec![0; index(HEADER)];
    file.read_exact_at(&mut head, 0).map_err(io)?;
    let text = head.split(|byte| *byte == 0).next().unwrap_or(&[]);
    let damaged = |error: serde_json::Error| io(error.into());
    let header: Header = serde_json::from_slice(text).map_err(damaged)?;
    let has = file.metadata().map_err(io)?.len();
    if header != wanted || has != start + capacity {
        let words = |header: &Header, length: u64| {
            let Header { profile, profile_hash, capacity, unit, version } = header;
            let capacity = Bytes(*capacity);
            format!(
                "`{profile}` ({profile_hash}), {capacity}, units of {unit} B, {length} B of layout \
                 {version}"
            )
        };
        let (has, wants) = (words(&header, has), words(&wanted, start + capacity));
        return Err(BackingFileError::OfAnother { path: path.clone(), has, wants });
    }
    let units = capacity / unit;
    let mut map = UnitMap::new(file.try_clone().map_err(io)?, HEADER, (unit, units));
    let mut drive = drive::made(config, if is_new { state } else { InitialState::Fresh })?;
    if is_new {
        map.change(&(0..capacity / BLOCK));
        map.write(|offset| drive.holds_data(Bytes(offset))).map_err(io)?;
    }
    let bits = map.read().map_err(io)?;
    if is_new {
        mark(&mut drive, (&bits, unit));
    } else {
        lay_out(&mut drive, (&bits, unit));
    }
    Ok(Kept { file, start, drive, map })
}

/// What the map says is in the drive, with the bytes that are in the file: zeroes where nothing was
/// ever written. Where it lies on the flash was not kept: it is written anew, in order.
fn lay_out(drive: &mut Ssd, (bits, unit): (&[u8], u64)) {
    let written = held(bits).map(|number| PreconditionStep::Write(narrow(number)));
    drive.precondition_with(written);
    drive.keep_contents();
    mark(drive, (bits, unit));
}

/// The units of the map hold the bytes that are in the file.
fn mark(drive: &mut Ssd, (bits, unit): (&[u8], u64)) {
    let blocks = Blocks(unit / BLOCK);
    for range in held(bits).filter_map(|number| LbaRange::new(Lba(number * blocks.0), blocks)) {
        drive.hold_stamped(range, KEPT);
    }
}

/// The numbers of the units that hold data.
fn held(bits: &[u8]) -> impl Iterator<Item = u64> {
    let holds = |number: &u64| bits[index(number / 8)] >> (number % 8) & 1 == 1;
    (0..bits.len() as u64 * 8).filter(holds)
}

/// Makes the file of a drive that holds nothing.
fn make(path: &Path, header: &Header, length: u64) -> Result<(), BackingFileError> {
    let io = |error| BackingFileError::Io { path: path.to_owned(), error };
    let output = OutputPlace::of(path)?.begin()?;
    let mut head = serde_json::to_vec(header).expect("a header is JSON");
    head.resize(index(HEADER), 0);
    output.file().write_all(&head).map_err(io)?;
    output.file().set_len(length).map_err(io)?;
    Ok(output.commit(Durability::Durable)?)
}

/// Refuses a file on the filesystem of an attached drive: the drive would wait for itself, or for
/// another one that waits for it.
fn refuse_attached(path: &Path) -> Result<(), BackingFileError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let unknown = |error: io::Error| BackingFileError::Io { path: path.to_owned(), error };
    let mount = mount_of(parent.unwrap_or(Path::new(".")));
    let mut waiting = devices_of(&mount.map_err(|error| unknown(io::Error::other(error)))?);
    let drives = attached().map_err(unknown)?;
    while let Some(device) = waiting.pop() {
        let node = device.whole().node();
        if drives.iter().any(|(_, status)| status.device == node) {
            return Err(BackingFileError::OnAttached { path: path.to_owned(), device: node });
        }
        waiting.extend(device.below());
    }
    Ok(())
}
