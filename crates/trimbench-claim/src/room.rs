//! The space that a run may use in a filesystem: free space, minus a reserve that is never used,
//! minus the space promised to other runs in the same filesystem.
//!
//! A promise is a listening socket in the abstract namespace, whose name says which filesystem and
//! how many bytes. It costs no I/O, every user sees it in `/proc/net/unix`, and the kernel removes
//! it with the process, however that ends. The filesystem is identified by the number of its
//! superblock, which directories, bind mounts and subvolumes share. A promise counts in full as
//! long as it is held: the part that was already written counts twice, which errs on the safe side.
//!
//! Any local user can bind such a name, so a name alone proves nothing. The kernel tells who
//! listens (`SO_PEERCRED`): promises of root and of this user are subtracted, those of other users
//! are only reported. Otherwise anybody could block all runs on the machine.
//!
//! Not visible: runs in another network namespace, as in a container.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::fs::StatVfs;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use trimbench_core::{Bytes, Errno};

use crate::errno::errno_of;
use crate::random::random;

#[cfg(test)]
mod tests;

/// What the name of every promise begins with.
const PREFIX: &str = "trimbench-room";
/// The sockets of this network namespace.
const SOCKETS: &str = "/proc/net/unix";

/// `__SO_ACCEPTCON`: the flag of a listening socket.
const ACCEPTS: u32 = 1 << 16;

/// A filesystem below this size keeps 5 % free, a larger one at least [`RESERVE`].
const SMALL_FILESYSTEM: Bytes = Bytes(10 << 30);
/// Left free on filesystems that are not small, if 5 % is less.
const RESERVE: Bytes = Bytes(1 << 30);

/// Room that is promised to this process until it is dropped.
#[derive(Debug)]
pub struct RoomPromise {
    /// The kernel's number of the filesystem.
    filesystem: (u32, u32),
    name: String,
    _socket: UnixListener,
}

/// Room that is promised to other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromisedRoom {
    /// By root or by this user: it is left to them.
    pub respected: Bytes,
    /// By other users, who may announce what they like: it is only reported.
    pub claimed: Bytes,
}

impl RoomPromise {
    /// Has others leave `room` free in this filesystem. Make the promise before looking at those of
    /// others: then each of two runs that begin at once sees the other.
    pub fn new(filesystem: (u32, u32), room: Bytes) -> Result<Self, Errno> {
        let (major, minor) = filesystem;
        let name = format!("{PREFIX}/{major}:{minor}/{}/{:016x}", room.0, random()?);
        let socket = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixListener::bind_addr(&address))
            .map_err(errno_of)?;
        Ok(Self { filesystem, name, _socket: socket })
    }

    /// What others were promised in the same filesystem.
    pub fn of_others(&self) -> Result<PromisedRoom, Errno> {
        let table = std::fs::read(SOCKETS).map_err(errno_of)?;
        Ok(self.others_in(&String::from_utf8_lossy(&table), owner_of))
    }

    fn others_in(&self, table: &str, owner: impl Fn(&str) -> Option<u32>) -> PromisedRoom {
        let own = rustix::process::geteuid().as_raw();
        let mut found = PromisedRoom::default();
        for name in table.lines().filter_map(listening).filter(|name| *name != self.name) {
            let Some(room) = promised(name, self.filesystem) else { continue };
            let sum = match owner(name) {
                Some(user) if user == 0 || user == own => &mut found.respected,
                _ => &mut found.claimed,
            };
            *sum = Bytes(sum.0.saturating_add(room.0));
        }
        found
    }
}

/// What is free in a filesystem for this user, and the reserve of it that is never used.
pub fn free_and_reserve(status: &StatVfs) -> (Bytes, Bytes) {
    let bytes = |count: u64| Bytes(count.saturating_mul(status.f_frsize));
    (bytes(status.f_bavail), reserve_of(bytes(status.f_blocks)))
}

fn reserve_of(size: Bytes) -> Bytes {
    let share = Bytes(size.0 / 20);
    if size < SMALL_FILESYSTEM { share } else { share.max(RESERVE) }
}

/// The abstract name of a line of [`SOCKETS`], if somebody listens there: connections that wait to
/// be accepted have the same name.
fn listening(line: &str) -> Option<&str> {
    let (numbers, name) = line.split_once(" @")?;
    let flags = numbers.split_ascii_whitespace().nth(3)?;
    let flags = u32::from_str_radix(flags, 16).ok()?;
    (flags & ACCEPTS != 0).then_some(name)
}

/// What a socket of this name promises in the filesystem.
fn promised(name: &str, (major, minor): (u32, u32)) -> Option<Bytes> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix('/')?;
    let (room, _token) = rest.strip_prefix(&format!("{major}:{minor}/"))?.split_once('/')?;
    room.parse().ok().map(Bytes)
}

/// The user who listens at this name; `None` if nobody does, or nobody can be asked without
/// waiting.
fn owner_of(name: &str) -> Option<u32> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
    rustix::net::connect(&socket, &address).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
    Some(peer.uid.as_raw())
}
