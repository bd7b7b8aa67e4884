//! Lists of filesystems: fstab and mountinfo as files, and what mount(8) keeps about mounts (utab).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{parse_mountinfo, table_of, unescape};

#[cfg(test)]
mod tests;

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) source: OsString,
    pub(super) mount_point: PathBuf,
    /// The type of the list, which may be `auto`.
    pub(super) filesystem: String,
    /// Comma separated.
    pub(super) options: String,
}

/// A list, and what its form says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MountList {
    pub(super) lines: Vec<Listed>,
    /// It has the form of the kernel's table: all that is mounted, not what somebody chose.
    pub(super) is_mountinfo: bool,
}

/// A line of utab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserMount {
    pub(super) mount_point: PathBuf,
    /// `user=NAME` or `uhelper=udisks2`.
    pub(super) option: String,
}

impl Listed {
    pub(super) fn has_option(&self, option: &str) -> bool {
        self.options.split(',').any(|candidate| candidate == option)
    }
}

/// Reads a list of either form, as libmount tells them apart: a line that begins with two numbers
/// is of mountinfo.
pub(super) fn parse_list(content: &[u8]) -> MountList {
    let table = table_of(content);
    let is_line = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let first = table.lines().map(str::trim_ascii_start).find(is_line).unwrap_or_default();
    let mut words = first.split_ascii_whitespace();
    let mut is_number = || words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    if is_number() && is_number() {
        let listed = parse_mountinfo(&table).into_iter().map(|mount| Listed {
            source: mount.source,
            mount_point: mount.mount_point,
            filesystem: mount.filesystem,
            options: mount.options,
        });
        return MountList { lines: listed.collect(), is_mountinfo: true };
    }
    let lines = table.lines().map(str::trim_ascii).filter(is_line);
    MountList { lines: lines.filter_map(of_fstab).collect(), is_mountinfo: false }
}

fn of_fstab(line: &str) -> Option<Listed> {
    let mut fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
    let source = unescape(fields.next()?);
    let mount_point = without_slashes(&unescape(fields.next()?));
    let filesystem = fields.next().unwrap_or("auto").to_owned();
    let options = fields.next().unwrap_or_default().to_owned();
    Some(Listed { source, mount_point, filesystem, options })
}

/// The path without slashes that say nothing: `/srv//data/` is `/srv/data`.
pub(super) fn without_slashes(path: &OsStr) -> PathBuf {
    let is_absolute = path.as_bytes().starts_with(b"/");
    let parts = path.as_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let root = PathBuf::from(if is_absolute { "/" } else { "" });
    parts.fold(root, |path, part| path.join(OsStr::from_bytes(part)))
}

/// The mounts that users made, of a table that mount(8) keeps: lines of `KEY=VALUE`.
pub(super) fn parse_utab(content: &[u8]) -> Vec<UserMount> {
    table_of(content).lines().filter_map(user_mount).collect()
}

fn user_mount(line: &str) -> Option<UserMount> {
    let value = |key: &str| {
        let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
        fields.find(|(name, _)| *name == key).map(|(_, value)| unescape(value))
    };
    let options = value("OPTS")?;
    let option = options.to_str()?.split(',').find(|option| is_of_a_user(option))?.to_owned();
    Some(UserMount { mount_point: PathBuf::from(value("TARGET")?), option })
}

/// Whether a mount with this option was made by a user, or by a program on behalf of one.
pub(super) fn is_of_a_user(option: &str) -> bool {
    option.starts_with("user=") || option.starts_with("uhelper=")
}

/// Whether the file of this name is the table of filesystems, which lists the root filesystem even
/// if it does not.
pub(super) fn is_fstab(path: &Path) -> bool {
    without_slashes(path.as_os_str()) == Path::new("/etc/fstab")
}
