//! Which mount a path lies on, from `/proc/self/mountinfo` (format: `proc_pid_mountinfo(5)`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags};
use trimbench_core::Errno;

use crate::errno::{errno_in, errno_of};

#[cfg(test)]
mod tests;

/// One mounted filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's number of this mount.
    pub id: u64,
    /// Major and minor number of the filesystem. Major 0 where there is no single device (btrfs,
    /// tmpfs).
    pub device: (u32, u32),
    /// What of the filesystem is mounted: `/` for all of it, a folder for a bind mount, a subvolume
    /// of btrfs.
    pub root: OsString,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of the mount, then those of the filesystem, comma separated as the kernel prints
    /// them.
    pub options: String,
    /// Its type: `ext4`, `xfs`, ...
    pub filesystem: String,
    /// What was mounted: for most filesystems a device's path.
    pub source: OsString,
}

/// Why the mount of a path is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The path cannot be examined: check that it exists and may be searched.
    #[error("cannot examine `{}`: {errno}", path.display())]
    Path {
        /// As given.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// `/proc/self/mountinfo` cannot be read: mount procfs on `/proc`.
    #[error("cannot read the mount table `/proc/self/mountinfo`: {errno}")]
    Table {
        /// The reason.
        errno: Errno,
    },
    /// The mount is not in the table, as in a chroot from outside: use a path inside.
    #[error("the mount of `{}` is not in `/proc/self/mountinfo`", path.display())]
    Absent {
        /// As given.
        path: PathBuf,
    },
}

impl Mount {
    /// Whether this very option is set (`discard`, `discard=async`).
    pub fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|candidate| candidate == option)
    }
}

/// The mount that `path` lies on, found by the mount's number: no guess by names.
pub fn mount_of(path: &Path) -> Result<Mount, MountError> {
    let status = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
        .map_err(|errno| MountError::Path { path: path.to_owned(), errno: errno_of(errno) })?;
    own_mounts()?
        .into_iter()
        .find(|mount| mount.id == status.stx_mnt_id)
        .ok_or_else(|| MountError::Absent { path: path.to_owned() })
}

/// The mounts of our own namespace.
pub fn own_mounts() -> Result<Vec<Mount>, MountError> {
    let table = read_table(Path::new("/proc/self/mountinfo"))
        .map_err(|error| MountError::Table { errno: errno_of(error) })?;
    Ok(parse_mountinfo(&table))
}

/// A mount, and in whose eyes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenMount {
    pub(crate) mount: Mount,
    /// A process of the other mount namespace that has it; `None` if it is ours.
    pub(crate) process: Option<u32>,
}

/// The mounts of every mount namespace that can be read, ours first.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllMounts {
    pub(crate) mounts: Vec<SeenMount>,
    /// Processes whose mounts may not be read. Namespaces without a process are not counted.
    pub(crate) unreadable: usize,
    /// The first of these, and why.
    pub(crate) unseen: Option<Unseen>,
}

/// A file or folder that would tell, and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unseen {
    pub(crate) path: PathBuf,
    pub(crate) errno: Errno,
}

impl Unseen {
    /// `None` if the error means that a process has ended meanwhile.
    pub(crate) fn of(path: &Path, error: &io::Error) -> Option<Self> {
        let errno = errno_in(error);
        // EINVAL is what the mounts of one say that is about to be gone.
        let ended = matches!(errno, Errno(libc::ENOENT | libc::ESRCH | libc::EINVAL));
        (!ended).then(|| Self { path: path.to_owned(), errno })
    }
}

/// Reads the mount table of every process whose namespace or root differs from those before it.
pub(crate) fn all_mounts() -> Result<AllMounts, MountError> {
    let table = |error: io::Error| MountError::Table { errno: errno_of(error) };
    let own = read_table(Path::new("/proc/self/mountinfo")).map_err(table)?;
    let seen_by = |process| move |mount| SeenMount { mount, process };
    let mut all = AllMounts {
        mounts: parse_mountinfo(&own).into_iter().map(seen_by(None)).collect(),
        unreadable: 0,
        unseen: None,
    };
    // A process sees only what is below its root directory.
    let view = |folder: &Path| -> io::Result<_> {
        Ok((fs::read_link(folder.join("ns/mnt"))?, fs::read_link(folder.join("root"))?))
    };
    let mut views: BTreeSet<(PathBuf, PathBuf)> =
        view(Path::new("/proc/self")).into_iter().collect();
    for process in processes().map_err(table)? {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let read = view(&folder).and_then(|view| {
            let is_new = !views.contains(&view);
            let table = is_new.then(|| read_table(&folder.join("mountinfo"))).transpose()?;
            views.insert(view);
            Ok(table)
        });
        match read {
            Ok(Some(text)) => {
                all.mounts.extend(parse_mountinfo(&text).into_iter().map(seen_by(Some(process))));
            }
            Err(error) => {
                let unseen = Unseen::of(&folder.join("mountinfo"), &error);
                all.unreadable += usize::from(unseen.is_some());
                // Init may be kept from everyone: who has its mounts has them, too.
                all.unseen = all.unseen.or(unseen.filter(|_| process != 1));
            }
            // Known already.
            Ok(None) => {}
        }
    }
    Ok(all)
}

/// The numbers of all processes that can be seen, in ascending order.
pub(crate) fn processes() -> io::Result<Vec<u32>> {
    let names = fs::read_dir("/proc")?.collect::<io::Result<Vec<_>>>()?;
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// All mounts of a table. Lines that do not have the documented form are left out.
pub fn parse_mountinfo(table: &str) -> Vec<Mount> {
    table.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // Optional fields, of any number, end at a lone hyphen.
    let (of_mount, of_filesystem) = line.split_once(" - ")?;
    let mut fields = of_mount.split(' ');
    let id = fields.next()?.parse().ok()?;
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let root = unescape(fields.next()?);
    let mount_point = PathBuf::from(unescape(fields.next()?));
    let mount_options = fields.next()?;
    let mut fields = of_filesystem.split(' ');
    let filesystem = fields.next()?.to_owned();
    let source = unescape(fields.next()?);
    let options = format!("{mount_options},{}", fields.next()?);
    let device = (major.parse().ok()?, minor.parse().ok()?);
    Some(Mount { id, device, root, mount_point, options, filesystem, source })
}

/// A table of procfs as text. Names in it are bytes: those that are no UTF-8 are escaped as the
/// kernel itself escapes blanks, so that [`unescape`] gives them back.
pub fn read_table(path: &Path) -> io::Result<String> {
    fs::read(path).map(|bytes| table_of(&bytes))
}

/// The same of bytes that were read.
pub fn table_of(bytes: &[u8]) -> String {
    let mut table = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        table.push_str(chunk.valid());
        table.extend(chunk.invalid().iter().map(|byte| format!("\\{byte:03o}")));
    }
    table
}

/// Undoes the kernel's octal escapes: `\040` is a blank.
pub fn unescape(text: &str) -> OsString {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        let code = text
            .get(position + 1..position + 4)
            .filter(|_| bytes[position] == b'\\')
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(bytes[position]));
        position += if code.is_some() { 4 } else { 1 };
    }
    OsString::from_vec(plain)
}
