//! Reads and writes from command to completion: pieces, buffers, short transfers, and the queue of
//! those that do not fit into the ring yet.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Advice;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Errno, FileId, Nanos, Status, Tag};

use crate::size_classes::{Direction, LARGEST};

use super::buffers::{Buffer, Pool};
use super::ring::{ENTRIES, Landed, Ring, Transfer};

pub(super) struct Request {
    pub(super) tag: Tag,
    pub(super) id: FileId,
    pub(super) file: Arc<OwnedFd>,
    pub(super) direction: Direction,
    pub(super) offset: Bytes,
    pub(super) length: Bytes,
    /// Bytes at the beginning that were moved already.
    pub(super) moved: Bytes,
}

pub(super) struct Ended {
    pub(super) tag: Tag,
    pub(super) id: FileId,
    pub(super) status: Status,
}

/// How files of this filesystem are read and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Past the page cache; otherwise pages are dropped from it after each transfer.
    pub(super) direct: bool,
    /// Offsets must be multiples of this.
    pub(super) alignment: u64,
}

pub(super) struct DataPath {
    ring: Ring,
    pub(super) pool: Pool,
    access: Access,
    requests: Vec<Option<Request>>,
    free_slots: Vec<u32>,
    backlog: VecDeque<Request>,
    landed: Vec<Landed>,
}

impl DataPath {
    pub(super) fn new(ring: Ring, pool: Pool, access: Access) -> Self {
        Self {
            ring,
            pool,
            access,
            requests: (0..ENTRIES).map(|_| None).collect(),
            free_slots: (0..ENTRIES).rev().collect(),
            backlog: VecDeque::new(),
            landed: Vec::new(),
        }
    }

    /// Starts a request, or keeps it until there is room.
    pub(super) fn start(&mut self, request: Request) {
        self.backlog.push_back(request);
        self.start_what_fits();
    }

    /// Waits for at most `wait` until something ends or the event counter rings.
    pub(super) fn enter(&mut self, wait: Option<Nanos>) {
        self.ring.enter(wait);
    }

    /// Appends what ended. Says whether the event counter rang.
    pub(super) fn collect(&mut self, ended: &mut Vec<Ended>) -> bool {
        let mut landed = std::mem::take(&mut self.landed);
        let rang = self.ring.collect(&mut landed);
        for Landed { slot, buffer, moved } in landed.drain(..) {
            let place = &mut self.requests[index(u64::from(slot))];
            let mut request = place.take().expect("a transfer belongs to a request");
            let asked = piece(&request);
            let status = advance(&mut request, moved, self.access.alignment);
            if !self.access.direct {
                drop_from_cache(&request, asked);
            }
            match status {
                Some(status) => {
                    self.pool.give_back(buffer);
                    self.free_slots.push(slot);
                    ended.push(Ended { tag: request.tag, id: request.id, status });
                }
                None => self.next_piece(slot, request, buffer),
            }
        }
        self.landed = landed;
        self.start_what_fits();
        rang
    }

    fn start_what_fits(&mut self) {
        while let Some(request) = self.backlog.front()
            && let Some(&slot) = self.free_slots.last()
            && let Some(buffer) = self.pool.lend(request.direction, piece(request))
        {
            self.free_slots.pop();
            let request = self.backlog.pop_front().expect("it was looked at");
            self.transfer(slot, request, buffer);
        }
    }

    /// Goes on with a request in its slot. The buffer is stamped anew by way of the pool; what was
    /// just given back is always there to be lent again.
    fn next_piece(&mut self, slot: u32, request: Request, buffer: Buffer) {
        self.pool.give_back(buffer);
        let buffer = self.pool.lend(request.direction, piece(&request));
        let buffer = buffer.expect("a later piece is never larger than the first");
        self.transfer(slot, request, buffer);
    }

    fn transfer(&mut self, slot: u32, request: Request, buffer: Buffer) {
        self.ring.start(Transfer {
            slot,
            file: Arc::clone(&request.file),
            buffer,
            offset: request.offset + request.moved,
            length: piece(&request),
        });
        self.requests[index(u64::from(slot))] = Some(request);
    }
}

fn piece(request: &Request) -> Bytes {
    (request.length - request.moved).min(Bytes(LARGEST))
}

/// Takes the result of a transfer in; `None` if the request goes on.
fn advance(request: &mut Request, moved: Result<Bytes, Errno>, alignment: u64) -> Option<Status> {
    let moved = match moved {
        Ok(moved) => moved,
        Err(Errno(libc::EINTR | libc::EAGAIN)) => return None,
        Err(errno) => return Some(Status::Failed(errno)),
    };
    let is_rest = request.moved + moved == request.length;
    // What follows must begin at a multiple of the alignment; the end of a file need not.
    let usable = if is_rest { moved.0 } else { moved.0 - moved.0 % alignment };
    request.moved += Bytes(usable);
    match (request.direction, usable) {
        _ if is_rest => Some(Status::Done),
        // The file ends before the range does.
        (Direction::Read, 0) => Some(Status::Failed(Errno(libc::ENODATA))),
        (Direction::Write, 0) => Some(Status::Failed(Errno::EIO)),
        _ => None,
    }
}

/// Advice only: dirty pages stay until they are written.
fn drop_from_cache(request: &Request, length: Bytes) {
    let length = std::num::NonZeroU64::new(length.0);
    let offset = request.offset.0;
    let _ = rustix::fs::fadvise(&request.file, offset, length, Advice::DontNeed);
}
