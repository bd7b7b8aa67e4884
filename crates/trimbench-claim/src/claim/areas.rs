//! Reads the areas where signatures lie, so that an unreadable one is not mistaken for empty.
//!
//! libblkid, and `wipefs` with it, silently skips an unreadable block as if it carried nothing.
//! Therefore these areas are read here first, past the page cache where the filesystem allows that.
//! They are kept: the probe uses the data just read, even if the disk fails intermittently.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SeekFrom};

use super::signatures::ProbeError;

use crate::errno::errno_of;

#[cfg(test)]
mod tests;

const MIB: u64 = 1 << 20;
/// What is read at the start and at the end. Farthest in lies the second header of LUKS2, which
/// begins 4 MiB from the start at most.
const EDGE: u64 = 5 * MIB;
/// Where the copies of btrfs's superblock lie, of 4 KiB each.
const COPIES: [u64; 2] = [64 * MIB, 256 << 30];
const COPY_BYTES: u64 = 4096;
/// Areas are read in pieces of so many bytes, at multiples of it: more than direct I/O asks for.
const PIECE: u64 = MIB;
/// Alignment of memory for direct I/O: a page, which is enough for every device.
const ALIGNMENT: usize = 4096;

/// A sparse copy in memory of what is open as `file`: as long, with the areas where signatures lie.
/// Any error, and any byte that is missing, is one of `device`.
pub(super) fn copy_of_areas(file: BorrowedFd<'_>, device: &str) -> Result<File, ProbeError> {
    let unreadable =
        |offset, errno| ProbeError::Unreadable { device: device.to_owned(), offset, errno };
    let uncopied = |error: io::Error| ProbeError::NotCopied {
        device: device.to_owned(),
        errno: errno_of(error),
    };
    let size = rustix::fs::seek(file, SeekFrom::End(0));
    let size = size.map_err(|errno| unreadable(0, errno_of(errno)))?;
    let file = File::from(file.try_clone_to_owned().map_err(uncopied)?);
    let copy = empty_copy(size).map_err(uncopied)?;
    let length = |bytes: u64| usize::try_from(bytes).expect("an address has 64 bits");
    let mut buffer = vec![0; length(PIECE) + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    let piece = &mut buffer[start..start + length(PIECE)];
    for offset in pieces(size) {
        let wanted = length(PIECE.min(size - offset));
        let read = read_at_least(&file, piece, wanted, offset);
        read.map_err(|error| unreadable(offset, errno_of(error)))?;
        copy.write_all_at(&piece[..wanted], offset).map_err(uncopied)?;
    }
    Ok(copy)
}

/// Where the pieces begin that cover all areas of something of `size` bytes.
fn pieces(size: u64) -> BTreeSet<u64> {
    let edges = [(0, EDGE), (size.saturating_sub(EDGE), size)];
    let copies = COPIES.map(|start| (start, start + COPY_BYTES));
    let areas = edges.into_iter().chain(copies).map(|(start, end)| (start, end.min(size)));
    areas.flat_map(|(start, end)| start / PIECE..end.div_ceil(PIECE)).map(|n| n * PIECE).collect()
}

/// Fills the buffer at least up to `wanted`. Direct I/O wants whole blocks, so that as much is
/// asked for as the buffer takes, also beyond the end of an image.
fn read_at_least(file: &File, buffer: &mut [u8], wanted: usize, offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < wanted {
        let position = offset + u64::try_from(done).expect("an address has 64 bits");
        match file.read_at(&mut buffer[done..], position) {
            // It ends before the end that it had a moment ago.
            Ok(0) => return Err(io::Error::from_raw_os_error(libc::ENODATA)),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn empty_copy(size: u64) -> io::Result<File> {
    let copy = rustix::fs::memfd_create("trimbench-areas", MemfdFlags::CLOEXEC)?;
    let copy = File::from(copy);
    copy.set_len(size)?;
    Ok(copy)
}
