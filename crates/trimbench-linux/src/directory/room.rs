//! The space that a run may use in a filesystem: free space, minus a reserve that is never used,
//! minus the space promised to other runs in the same filesystem.
//!
//! A promise is a socket in the abstract namespace, whose name says which filesystem and how many
//! bytes. It costs no I/O, every user sees it in `/proc/net/unix`, and the kernel removes it with
//! the process, however that ends. The filesystem is identified by the number of its superblock,
//! which directories, bind mounts and subvolumes share. A promise counts in full as long as it is
//! held: the part that was already written counts twice, which errs on the safe side.
//!
//! Not visible: runs in another network namespace, as in a container.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use trimbench_core::{Bytes, Errno};

use crate::random::random;

use crate::errno::errno_of;

#[cfg(test)]
mod tests;

/// What the name of every promise begins with.
const PREFIX: &str = "trimbench-room";
/// The sockets of this network namespace.
const SOCKETS: &str = "/proc/net/unix";

/// A filesystem below this size keeps 5 % free, a larger one at least [`RESERVE`].
const SMALL_FILESYSTEM: Bytes = Bytes(10 << 30);
/// Left free on filesystems that are not small, if 5 % is less.
const RESERVE: Bytes = Bytes(1 << 30);

/// Room that is promised to this process until it is dropped.
#[derive(Debug)]
pub(super) struct Promise {
    /// The kernel's number of the filesystem.
    filesystem: (u32, u32),
    name: String,
    _socket: UnixDatagram,
}

impl Promise {
    /// Has others leave `room` free in this filesystem. Comes before a look at what others hold:
    /// of two that begin at once each then sees the other.
    pub(super) fn new(filesystem: (u32, u32), room: Bytes) -> Result<Self, Errno> {
        let (major, minor) = filesystem;
        let name = format!("{PREFIX}/{major}:{minor}/{}/{:016x}", room.0, random()?);
        let socket = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixDatagram::bind_addr(&address))
            .map_err(errno_of)?;
        Ok(Self { filesystem, name, _socket: socket })
    }

    pub(super) fn of_others(&self) -> Result<Bytes, Errno> {
        let table = std::fs::read(SOCKETS).map_err(errno_of)?;
        Ok(self.others_in(&String::from_utf8_lossy(&table)))
    }

    fn others_in(&self, table: &str) -> Bytes {
        let names = table.lines().filter_map(|line| line.split_once(" @").map(|parts| parts.1));
        let others = names.filter(|name| *name != self.name);
        others
            .filter_map(|name| promised(name, self.filesystem))
            .fold(Bytes(0), |sum, room| Bytes(sum.0.saturating_add(room.0)))
    }
}

pub(super) fn reserve_of(size: Bytes) -> Bytes {
    let share = Bytes(size.0 / 20);
    if size < SMALL_FILESYSTEM { share } else { share.max(RESERVE) }
}

/// What a socket of this name promises in the filesystem.
fn promised(name: &str, (major, minor): (u32, u32)) -> Option<Bytes> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix('/')?;
    let (room, _token) = rest.strip_prefix(&format!("{major}:{minor}/"))?.split_once('/')?;
    room.parse().ok().map(Bytes)
}
