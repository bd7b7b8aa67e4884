//! Signatures on a device or image: filesystems, partition tables, members of LVM, RAID, LUKS, ZFS,
//! bcache, swap.
//!
//! `wipefs` of util-linux decides: udev and `mount` rely on its library, which knows about a
//! hundred formats. (Crates for that library need its headers to build, and it would be as silent
//! about read errors.) It is run twice: on a copy of the areas where signatures lie, which
//! [`areas`](super::areas) could read, and on the device itself, for what depends on its blocks.
//!
//! Data without a signature (a database on the bare device, an encrypted volume without a header)
//! cannot be detected.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use trimbench_core::Errno;

use super::areas::copy_of_areas;
use crate::errno::errno_of;
use crate::opening;
use crate::program::program;
use crate::sysfs::{BlockDevice, numbers_of};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signature {
    /// Kernel name of the target or of a partition of it; the file's name for an image.
    pub(super) device: String,
    /// As `wipefs` calls it: `ext4`, `LVM2_member`, `gpt`, `PMBR`.
    pub(super) kind: String,
    /// Where, as `wipefs` prints it: `0x438`.
    pub(super) offset: String,
    pub(super) label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProbeError {
    #[error("there is no `/usr/sbin/wipefs`")]
    NoProgram,
    #[error("cannot start `wipefs`: {errno}")]
    NotStarted { errno: Errno },
    #[error("`wipefs` failed: {message}")]
    Failed { message: String },
    #[error("`wipefs` printed something unexpected: {problem}")]
    Output { problem: String },
    #[error("cannot open `{device}` for reading: {errno}")]
    NotReadable { device: String, errno: Errno },
    /// An area in which signatures lie cannot be read, or ends too early (ENODATA).
    #[error(
        "`{device}` cannot be read within 1 MiB from byte {offset}, where signatures lie: \
        {errno}"
    )]
    Unreadable { device: String, offset: u64, errno: Errno },
    #[error("cannot copy the signature areas of `{device}` into memory: {errno}")]
    NotCopied { device: String, errno: Errno },
}

/// The signatures of what is open as `file`: of that, and not of what a name means by now.
pub(super) fn probe(file: BorrowedFd<'_>, device: &str) -> Result<Vec<Signature>, ProbeError> {
    let copy = copy_of_areas(file, device)?;
    let mut found = parse(&run_wipefs(file)?, device)?;
    let copied = parse(&run_wipefs(copy.as_fd())?, device)?;
    found.extend(copied.into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>());
    Ok(found)
}

/// The signatures of the partitions that the kernel knows of `disk`.
pub(super) fn probe_partitions(disk: &BlockDevice) -> Result<Vec<Signature>, ProbeError> {
    let mut found = Vec::new();
    for partition in disk.partitions() {
        let unreadable = |errno| ProbeError::NotReadable { device: partition.name.clone(), errno };
        let file = open_to_read(&partition.node()).map_err(unreadable)?;
        let status = rustix::fs::fstat(&file).map_err(|errno| unreadable(errno_of(errno)))?;
        let numbers = numbers_of(&status);
        if partition.numbers() != Some(numbers) {
            return Err(unreadable(Errno::ENODEV));
        }
        found.extend(probe(file.as_fd(), &partition.name)?);
    }
    Ok(found)
}

/// Opens a device or image for reading, past the page cache where there is such a thing.
pub(super) fn open_to_read(path: &Path) -> Result<OwnedFd, Errno> {
    match rustix::fs::open(path, opening::READ.union(OFlags::DIRECT), Mode::empty()) {
        // tmpfs before Linux 6.6 has no direct I/O.
        Err(rustix::io::Errno::INVAL) => rustix::fs::open(path, opening::READ, Mode::empty()),
        opened => opened,
    }
    .map_err(errno_of)
}

fn run_wipefs(file: BorrowedFd<'_>) -> Result<Vec<u8>, ProbeError> {
    let not_started = |error: std::io::Error| ProbeError::NotStarted { errno: errno_of(error) };
    let input = file.try_clone_to_owned().map_err(not_started)?;
    // Its own standard input is the open file: no name is resolved again.
    let output = program("wipefs")
        .ok_or(ProbeError::NoProgram)?
        .args(["--no-act", "--json", "--output", "OFFSET,TYPE,LABEL", "/proc/self/fd/0"])
        .stdin(Stdio::from(input))
        .output()
        .map_err(not_started)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let message = if message.is_empty() { output.status.to_string() } else { message };
        return Err(ProbeError::Failed { message });
    }
    Ok(output.stdout)
}

/// Reads `{"signatures": [{"offset": "0x438", "type": "ext4", "label": null}]}`. Versions differ in
/// what they print when there is nothing: an empty list, or no text at all.
fn parse(json: &[u8], device: &str) -> Result<Vec<Signature>, ProbeError> {
    if json.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let unexpected = |problem: &str| ProbeError::Output { problem: problem.to_owned() };
    let value: serde_json::Value =
        serde_json::from_slice(json).map_err(|error| unexpected(&error.to_string()))?;
    let list = value.get("signatures").and_then(serde_json::Value::as_array);
    let list = list.ok_or_else(|| unexpected("no list of signatures"))?;
    let text = |entry: &serde_json::Value, key: &str| entry.get(key)?.as_str().map(str::to_owned);
    let signature = |entry: &serde_json::Value| {
        Some(Signature {
            device: device.to_owned(),
            kind: text(entry, "type")?,
            offset: text(entry, "offset")?,
            label: text(entry, "label").filter(|label| !label.is_empty()),
        })
    };
    list.iter()
        .map(|entry| signature(entry).ok_or_else(|| unexpected("a signature without type")))
        .collect()
}
