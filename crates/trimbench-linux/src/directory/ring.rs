//! Data transfers through `io_uring`.
//!
//! A ring of [`ENTRIES`] requests. Each is submitted to the kernel at once, by a system call of its
//! own: when gathered until the next wait, they reached the device in bursts, and it idled in
//! between. Measured on a virtio disk, 4 KiB at queue depth 32, gathered against at once: 77,000
//! against 89,000 to 94,000 reads/s, 99,000 against 119,000 to 154,000 writes/s; at queue depth 1
//! the second call costs about 1 us of 22 us.
//!
//! The ring owns file and buffer of each transfer until the kernel has returned them, and waits for
//! that when it is dropped: safe code cannot misuse anything here.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

use io_uring::opcode;
use io_uring::types::Fd;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Errno, Nanos};

use crate::ring::{Uring, Users, Wait};
use crate::size_classes::Direction;

use super::buffers::Buffer;

/// Transfers under way at once. More wait in user space: at 1000 a second it takes a stall of 4 s
/// to get there, and at 4 KiB they pin 16 MiB.
pub(super) const ENTRIES: u32 = 4096;

pub(super) struct Transfer {
    /// Comes back with the completion. Below [`ENTRIES`], and not of a transfer under way.
    pub(super) slot: u32,
    pub(super) file: Arc<OwnedFd>,
    /// Where to or from; says the direction.
    pub(super) buffer: Buffer,
    pub(super) offset: Bytes,
    /// At most the buffer's size.
    pub(super) length: Bytes,
}

pub(super) struct Landed {
    pub(super) slot: u32,
    pub(super) buffer: Buffer,
    /// Bytes moved, which may be fewer than asked for.
    pub(super) moved: Result<Bytes, Errno>,
}

struct Flight {
    file: Arc<OwnedFd>,
    buffer: Buffer,
}

pub(super) struct Ring {
    uring: Uring,
    flights: Vec<Option<Flight>>,
    event: Arc<OwnedFd>,
}

impl Ring {
    pub(super) fn new() -> Result<Self, Errno> {
        let mut uring = Uring::new(ENTRIES, Users::Any)?;
        let event = uring.bell()?;
        Ok(Self { uring, flights: (0..ENTRIES).map(|_| None).collect(), event })
    }

    /// The counter that other threads add to in order to end a wait.
    pub(super) fn event(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.event)
    }

    /// Hands a transfer to the kernel. Does not wait for the device: what would wait goes to a
    /// thread of the kernel's.
    pub(super) fn start(&mut self, mut transfer: Transfer) {
        let Transfer { slot, offset, length, .. } = transfer;
        assert!(length <= transfer.buffer.size(), "a transfer is larger than its buffer");
        let place = &mut self.flights[index(u64::from(slot))];
        assert!(place.is_none(), "the slot of a transfer is in use");
        let fd = Fd(transfer.file.as_raw_fd());
        let length = trimbench_core::units::narrow(length.0);
        let pointer = transfer.buffer.pointer();
        let entry = match transfer.buffer.direction() {
            Direction::Read => opcode::Read::new(fd, pointer, length).offset(offset.0).build(),
            Direction::Write => opcode::Write::new(fd, pointer, length).offset(offset.0).build(),
        };
        *place = Some(Flight { file: transfer.file, buffer: transfer.buffer });
        // SAFETY: the entry points to a buffer and names a file that `self.flights` keeps until its
        // completion was taken, or for good if the kernel does not give it back.
        let pushed = unsafe { self.uring.push(&entry.user_data(u64::from(slot))) };
        checked(pushed);
        self.enter(None);
    }

    /// Shows the kernel what was started, and waits for a completion, at most for `wait`; `None`
    /// does not wait. Returns early on signals.
    pub(super) fn enter(&mut self, wait: Option<Nanos>) {
        checked(self.uring.enter(wait.map_or(Wait::Not, Wait::For)));
    }

    /// Moves the transfers that ended to `landed`, in the kernel's order. Says whether other
    /// threads rang.
    pub(super) fn collect(&mut self, landed: &mut Vec<Landed>) -> bool {
        let Self { uring, flights, .. } = self;
        uring.take(|slot, result| landed.push(land(flights, slot, result)))
    }
}

impl Drop for Ring {
    /// Waits until the kernel is done with all memory of ours, and leaks what it keeps.
    fn drop(&mut self) {
        let Self { uring, flights, .. } = self;
        let quiet = uring.quiesce(|slot, result| drop(land(flights, slot, result)));
        if !quiet {
            std::mem::forget(std::mem::take(flights));
        }
    }
}

/// A ring was set up well and is used as the kernel wants it: an error is a bug.
fn checked(entered: Result<(), Errno>) {
    if let Err(errno) = entered {
        panic!("io_uring_enter failed on a valid ring: {errno}");
    }
}

fn land(flights: &mut [Option<Flight>], slot: u64, result: i32) -> Landed {
    let flight = flights[index(slot)].take();
    let Flight { file, buffer } = flight.expect("the kernel completes a transfer once");
    drop(file);
    let moved = u64::try_from(result).map(Bytes).map_err(|_| Errno(-result));
    Landed { slot: trimbench_core::units::narrow(slot), buffer, moved }
}
