//! Files that are opened for one operation and moved through the page cache, as programs do.
//!
//! Buffered operations make the same system calls as GNU's C library for `fwrite` and `fread`: a
//! buffer of the filesystem's block size; a piece that does not fit fills and empties it, and whole
//! blocks of the rest bypass it. Nothing is allocated for an operation once a thread has its
//! buffers.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use trimbench_claim::errno_of;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Bytes, Errno, Payload, Stream};

use super::name::Name;

#[cfg(test)]
mod tests;

/// Incompressible data are stamped in every block of this size.
const STAMPED: usize = 4096;

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

#[derive(Debug)]
pub(super) struct Streams {
    /// What [`Payload::Source`] writes.
    source: RwLock<Vec<u8>>,
    /// Bytes of the buffer of a buffered file.
    block: usize,
    seed: u64,
    /// Never repeats.
    stamp: AtomicU64,
}

#[derive(Default)]
struct Buffers {
    /// Of the file, where it is buffered.
    file: Vec<u8>,
    /// Where a program reads to.
    read: Vec<u8>,
    random: Vec<u8>,
}

impl Streams {
    pub(super) fn new(block: Bytes, seed: u64, first_stamp: u64) -> Self {
        let (source, stamp) = (RwLock::default(), AtomicU64::new(first_stamp));
        Self { source, block: index(block.0.max(1)), seed, stamp }
    }

    pub(super) fn set_source(&self, source: &[u8]) {
        let mut place = self.source.write().expect("nobody panics while writing it");
        source.clone_into(&mut place);
    }

    pub(super) fn store(
        &self,
        directory: &OwnedFd,
        name: &Name,
        length: Bytes,
        stream: Stream,
    ) -> Result<(), Errno> {
        let flags = if stream.buffered {
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC
        } else {
            OFlags::RDWR | OFlags::CREATE
        };
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        self.write(&open(directory, name, flags, mode)?, length, stream)
    }

    pub(super) fn append(
        &self,
        directory: &OwnedFd,
        name: &Name,
        length: Bytes,
        stream: Stream,
    ) -> Result<(), Errno> {
        let access = if stream.buffered { OFlags::WRONLY } else { OFlags::RDWR };
        let file = open(directory, name, access | OFlags::APPEND, Mode::empty())?;
        self.write(&file, length, stream)
    }

    pub(super) fn load(
        &self,
        directory: &OwnedFd,
        name: &Name,
        length: Bytes,
        stream: Stream,
    ) -> Result<(), Errno> {
        let file = open(directory, name, OFlags::RDONLY, Mode::empty())?;
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers { file: buffer, read, .. } = buffers;
            let piece = piece_of(stream);
            read.resize(piece.max(read.len()), 0);
            if !stream.buffered {
                return in_pieces(index(length.0), piece, |_, size| {
                    read_whole(&file, &mut read[..size])
                });
            }
            buffer.resize(self.block, 0);
            let mut reader = Reader { file: &file, buffer, held: 0..0 };
            in_pieces(index(length.0), piece, |_, size| reader.read(&mut read[..size]))
        })
    }

    fn write(&self, file: &OwnedFd, length: Bytes, stream: Stream) -> Result<(), Errno> {
        let (length, piece) = (index(length.0), piece_of(stream));
        BUFFERS.with_borrow_mut(|buffers| {
            let Buffers { file: buffer, random, .. } = buffers;
            buffer.resize(self.block, 0);
            let mut writer = Writer { file, buffer, filled: 0, begun: false };
            let mut put = |data: &[u8]| {
                if stream.buffered { writer.write(data) } else { write_whole(file, data) }
            };
            match stream.payload {
                Payload::Source => {
                    let source = self.source.read().expect("nobody panics while writing it");
                    let data = source.get(..length).ok_or(Errno(libc::EINVAL))?;
                    in_pieces(length, piece, |begin, size| put(&data[begin..begin + size]))?;
                }
                Payload::Random => {
                    self.grow(random, piece.min(length));
                    in_pieces(length, piece, |_, size| {
                        self.put_stamps(&mut random[..size]);
                        put(&random[..size])
                    })?;
                }
            }
            writer.finish()
        })
    }

    fn grow(&self, random: &mut Vec<u8>, size: usize) {
        if random.len() < size {
            let mut rng = Rng::new(self.seed).split("stream-data");
            random.clear();
            while random.len() < size {
                random.extend(rng.bits().to_le_bytes());
            }
        }
    }

    fn put_stamps(&self, data: &mut [u8]) {
        for place in data.chunks_mut(STAMPED) {
            let stamp = self.stamp.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            let length = place.len().min(stamp.len());
            place[..length].copy_from_slice(&stamp[..length]);
        }
    }
}

struct Writer<'a> {
    file: &'a OwnedFd,
    buffer: &'a mut [u8],
    filled: usize,
    /// Before the first write the C library has no buffer yet, so that whole blocks go past it.
    begun: bool,
}

impl Writer<'_> {
    fn write(&mut self, data: &[u8]) -> Result<(), Errno> {
        let room = if self.begun { self.buffer.len() - self.filled } else { 0 };
        let (fits, rest) = data.split_at(room.min(data.len()));
        self.keep(fits);
        if rest.is_empty() {
            return Ok(());
        }
        self.begun = true;
        self.finish()?;
        let (whole, tail) = rest.split_at(rest.len() - rest.len() % self.buffer.len());
        write_whole(self.file, whole)?;
        self.keep(tail);
        Ok(())
    }

    fn keep(&mut self, data: &[u8]) {
        self.buffer[self.filled..self.filled + data.len()].copy_from_slice(data);
        self.filled += data.len();
    }

    fn finish(&mut self) -> Result<(), Errno> {
        let filled = std::mem::take(&mut self.filled);
        write_whole(self.file, &self.buffer[..filled])
    }
}

struct Reader<'a> {
    file: &'a OwnedFd,
    buffer: &'a mut [u8],
    held: std::ops::Range<usize>,
}

impl Reader<'_> {
    fn read(&mut self, mut wanted: &mut [u8]) -> Result<(), Errno> {
        while !wanted.is_empty() {
            if self.held.is_empty() && wanted.len() >= self.buffer.len() {
                let whole = wanted.len() - wanted.len() % self.buffer.len();
                let got = read_some(self.file, &mut wanted[..whole])?;
                wanted = &mut wanted[got..];
                continue;
            }
            if self.held.is_empty() {
                self.held = 0..read_some(self.file, self.buffer)?;
            }
            let size = wanted.len().min(self.held.len());
            let from = self.held.start;
            wanted[..size].copy_from_slice(&self.buffer[from..from + size]);
            self.held.start += size;
            wanted = &mut wanted[size..];
        }
        Ok(())
    }
}

/// Does the same with each piece of `length` bytes: where it begins, and its size.
fn in_pieces(
    length: usize,
    piece: usize,
    mut each: impl FnMut(usize, usize) -> Result<(), Errno>,
) -> Result<(), Errno> {
    (0..length).step_by(piece).try_for_each(|begin| each(begin, piece.min(length - begin)))
}

fn piece_of(stream: Stream) -> usize {
    index(u64::from(stream.piece.max(1)))
}

fn open(directory: &OwnedFd, name: &Name, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::openat(directory, name.text(), flags, mode).map_err(errno_of)
}

fn write_whole(file: &OwnedFd, mut data: &[u8]) -> Result<(), Errno> {
    while !data.is_empty() {
        match rustix::io::write(file, data) {
            Ok(written) => data = &data[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno_of(errno)),
        }
    }
    Ok(())
}

fn read_whole(file: &OwnedFd, mut into: &mut [u8]) -> Result<(), Errno> {
    while !into.is_empty() {
        let got = read_some(file, into)?;
        into = &mut into[got..];
    }
    Ok(())
}

/// Reads at least a byte; an error at the end of the file.
fn read_some(file: &OwnedFd, into: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::io::read(file, &mut *into) {
            Ok(0) => return Err(Errno(libc::ENODATA)),
            Ok(got) => return Ok(got),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno_of(errno)),
        }
    }
}
