//! A ring for one file: file and memory are registered with the kernel, requests are gathered and
//! submitted at once, and nothing is allocated for a request.
//!
//! Registered memory is pinned once, not for each transfer. Where it may not be registered (before
//! Linux 5.19, or beyond the limit of locked memory) transfers go without; likewise the file.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use io_uring::types::Fd;
use io_uring::{Probe, opcode, squeue};
use trimbench_core::Errno;
use trimbench_core::units::{index, narrow};

use crate::size_classes::PAGE;

use super::{Uring, Users, Wait};

/// How many pieces of memory may be registered.
const REGISTERED: u32 = 2048;
/// `_IO(0x12, 0)` of `include/uapi/linux/blkdev.h`.
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;
/// Frees blocks and keeps the size.
const PUNCH: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// Memory lent to the kernel for transfers, a part of a slab. It has one owner: its user, or the
/// ring while a transfer is under way.
pub(crate) struct Chunk {
    start: NonNull<u8>,
    length: u64,
    /// Where the slab is registered.
    registered: Option<u16>,
    /// Frees the memory after the last of its chunks.
    _slab: Arc<Slab>,
}

/// Memory that is allocated and registered in one.
struct Slab {
    start: NonNull<u8>,
    layout: Layout,
}

pub(crate) enum Work {
    /// Fill the first `length` bytes of the chunk from `offset`.
    Read { chunk: Chunk, offset: u64, length: u64 },
    /// Write the first `length` bytes of the chunk at `offset`.
    Write { chunk: Chunk, offset: u64, length: u64 },
    /// Make what was written durable.
    Sync,
    /// Tell the block device that the range is not needed.
    ///
    /// The kernel tries it at once, and again on a thread if the device's queue has no room. Linux
    /// 6.17 and later then reads the range a second time from a place where another request may
    /// stand by now (`blk_cmd_complete` in block/ioctl.c, `io_uring_cmd_issue_blocking`): it fails
    /// with EINVAL, or discards the other's range. A discard that `may_wait` is on a thread from
    /// the start, and the kernel keeps the range of those.
    Discard { offset: u64, length: u64, may_wait: bool },
    /// Free the range of the file.
    Punch { offset: u64, length: u64 },
}

/// The ring. Stays with the thread that made it.
pub(crate) struct FixedRing {
    uring: Uring,
    file: Arc<OwnedFd>,
    /// The file in requests: its number, or 0 and a flag where it is registered.
    fd: Fd,
    flags: squeue::Flags,
    /// The slabs registered so far; `None` where the kernel takes none.
    registered: Option<u32>,
    /// All memory, which must not go before the ring.
    slabs: Vec<Arc<Slab>>,
    /// By slot: what the kernel works on.
    flights: Vec<Option<Chunk>>,
    /// The kernel takes requests from the thread that set the ring up, and from no other.
    one_thread: PhantomData<*const ()>,
}

// SAFETY: a chunk owns its memory alone, and what it shares with others of its slab is only freed.
unsafe impl Send for Chunk {}
// SAFETY: nothing is read or written through a slab; the last owner frees it, on any thread.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Chunk {
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the chunks of a slab do not overlap, each has one owner, and the slab keeps
        // the memory, which was zeroed when it was allocated.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), index(self.length)) }
    }
}

impl Slab {
    fn new(length: u64) -> Self {
        let layout = Layout::from_size_align(index(length), index(PAGE));
        let layout = layout.expect("lengths are small and the alignment is a power of two");
        assert!(length > 0, "a slab has bytes");
        // SAFETY: the layout is not of size zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        Self { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and the last chunk is gone. A registration that is
        // left pins the pages themselves, and no request uses it any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl FixedRing {
    pub(crate) fn new(file: Arc<OwnedFd>, entries: u32) -> Result<Self, Errno> {
        let uring = Uring::new(entries, Users::OneThread)?;
        let submitter = uring.inner.submitter();
        let (fd, flags) = match submitter.register_files(&[file.as_raw_fd()]) {
            Ok(()) => (Fd(0), squeue::Flags::FIXED_FILE),
            Err(_) => (Fd(file.as_raw_fd()), squeue::Flags::empty()),
        };
        let registered = submitter.register_buffers_sparse(REGISTERED).is_ok().then_some(0);
        let flights = (0..entries).map(|_| None).collect();
        let (slabs, one_thread) = (Vec::new(), PhantomData);
        Ok(Self { uring, file, fd, flags, registered, slabs, flights, one_thread })
    }

    /// Whether the kernel discards by [`Work::Discard`] (Linux 6.12). Asked with a range of no
    /// bytes, which it refuses as invalid where it knows the command. Nothing may be under way.
    pub(crate) fn discards(&mut self) -> Result<bool, Errno> {
        let mut probe = Probe::new();
        let known = self.uring.inner.submitter().register_probe(&mut probe).is_ok();
        if !known || !probe.is_supported(opcode::UringCmd16::CODE) {
            return Ok(false);
        }
        self.start(0, Work::Discard { offset: 0, length: 0, may_wait: true })?;
        let mut answer = None;
        while answer.is_none() {
            self.enter(Wait::Forever)?;
            self.collect(|_, _, result| answer = Some(result));
        }
        Ok(answer == Some(Err(Errno(libc::EINVAL))))
    }

    /// Adds memory: `count` chunks of `length` bytes, a multiple of [`PAGE`], zeroed.
    pub(crate) fn add_memory(&mut self, length: u64, count: u64, chunks: &mut Vec<Chunk>) {
        assert!(length.is_multiple_of(PAGE), "memory comes in pages");
        let slab = Arc::new(Slab::new(length * count));
        let registered = self.register(&slab);
        chunks.extend((0..count).map(|number| {
            // SAFETY: within the slab, which holds `count` times `length` bytes.
            let start = unsafe { slab.start.add(index(number * length)) };
            Chunk { start, length, registered, _slab: Arc::clone(&slab) }
        }));
        self.slabs.push(slab);
    }

    fn register(&mut self, slab: &Slab) -> Option<u16> {
        let number = self.registered.filter(|&number| number < REGISTERED)?;
        let iov_base = slab.start.as_ptr().cast();
        let part = libc::iovec { iov_base, iov_len: slab.layout.size() };
        // SAFETY: the memory is the slab's, which `slabs` keeps longer than the ring.
        let done =
            unsafe { self.uring.inner.submitter().register_buffers_update(number, &[part], None) };
        done.ok()?;
        self.registered = Some(number + 1);
        u16::try_from(number).ok()
    }

    /// Gathers a request for [`Self::enter`]. Its `slot` is below the number of entries and comes
    /// back when it ended; none under way has the same.
    #[inline]
    pub(crate) fn start(&mut self, slot: u32, work: Work) -> Result<(), Errno> {
        let place = &mut self.flights[slot as usize];
        assert!(place.is_none(), "the slot of a request is in use");
        let (fd, mut flags) = (self.fd, self.flags);
        flags.set(squeue::Flags::ASYNC, matches!(work, Work::Discard { may_wait: true, .. }));
        let entry = match work {
            Work::Read { chunk, offset, length } => {
                let (start, length, registered) = lend(place, chunk, length);
                match registered {
                    Some(slab) => {
                        opcode::ReadFixed::new(fd, start, length, slab).offset(offset).build()
                    }
                    None => opcode::Read::new(fd, start, length).offset(offset).build(),
                }
            }
            Work::Write { chunk, offset, length } => {
                let (start, length, registered) = lend(place, chunk, length);
                match registered {
                    Some(slab) => {
                        opcode::WriteFixed::new(fd, start, length, slab).offset(offset).build()
                    }
                    None => opcode::Write::new(fd, start, length).offset(offset).build(),
                }
            }
            Work::Sync => opcode::Fsync::new(fd).build(),
            Work::Discard { offset, length, .. } => discard(fd, offset, length),
            Work::Punch { offset, length } => {
                opcode::Fallocate::new(fd, length).offset(offset).mode(PUNCH).build()
            }
        };
        let entry = entry.flags(flags).user_data(u64::from(slot));
        // SAFETY: the entry points to the chunk and names the file, which this ring keeps until the
        // completion was taken; the memory for good if the kernel does not give it back.
        unsafe { self.uring.push(&entry) }
    }

    /// Requests that were started and not collected.
    #[inline]
    pub(crate) fn under_way(&self) -> u32 {
        self.uring.flying
    }

    /// Shows the kernel what was gathered, and waits for a completion if none is there.
    #[inline]
    pub(crate) fn enter(&mut self, wait: Wait) -> Result<(), Errno> {
        self.uring.enter(wait)
    }

    /// Shows the kernel what was gathered, if there is something.
    #[inline]
    pub(crate) fn flush(&mut self) -> Result<(), Errno> {
        if self.uring.has_unsubmitted() { self.uring.enter(Wait::Not) } else { Ok(()) }
    }

    /// Takes what ended: slot, memory if there was any, and the result. Says whether another thread
    /// rang.
    #[inline]
    pub(crate) fn collect(
        &mut self,
        mut each: impl FnMut(u32, Option<Chunk>, Result<u64, Errno>),
    ) -> bool {
        let Self { uring, flights, .. } = self;
        uring.take(|slot, result| {
            let result_of = u64::try_from(result).map_err(|_| Errno(-result));
            each(narrow(slot), flights[index(slot)].take(), result_of);
        })
    }

    /// The counter that other threads add to in order to end a wait.
    pub(crate) fn bell(&mut self) -> Result<Arc<OwnedFd>, Errno> {
        self.uring.bell()
    }
}

impl Drop for FixedRing {
    /// Waits until the kernel is done with all memory of ours, and leaks what it keeps.
    fn drop(&mut self) {
        let Self { uring, flights, slabs, file, .. } = self;
        if !uring.quiesce(|slot, _| flights[index(slot)] = None) {
            std::mem::forget((std::mem::take(flights), std::mem::take(slabs), Arc::clone(file)));
            return;
        }
        // The kernel takes a ring down some time after it was closed. Until then it would hold the
        // file, and nobody could open a device exclusively again.
        let submitter = uring.inner.submitter();
        let _ = (submitter.unregister_files(), submitter.unregister_buffers());
    }
}

fn discard(fd: Fd, offset: u64, length: u64) -> squeue::Entry {
    // `addr` is the first byte, `addr3` (the first word of the command) the number of bytes.
    let mut command = [0; 16];
    command[..8].copy_from_slice(&length.to_ne_bytes());
    opcode::UringCmd16::new(fd, BLOCK_URING_CMD_DISCARD).addr(Some(offset)).cmd(command).build()
}

/// Puts a chunk where the ring keeps it; its address, the transfer's bytes, and its registration.
#[inline]
fn lend(place: &mut Option<Chunk>, chunk: Chunk, length: u64) -> (*mut u8, u32, Option<u16>) {
    assert!(length <= chunk.length, "a transfer is larger than its memory");
    let lent = (chunk.start.as_ptr(), narrow(length), chunk.registered);
    *place = Some(chunk);
    lent
}
