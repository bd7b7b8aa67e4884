//! Aligned buffers of several sizes, reused, of bounded total size.
//!
//! Buffers for writing hold random bytes and are stamped before each use: every written 4 KiB
//! differs from all others, so that nothing below can compress or deduplicate it. Buffers for
//! reading are kept separate, because their content (zeroes of a hole) must never be written.

use trimbench_core::Bytes;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;

use crate::size_classes::{CLASSES, Direction, LARGEST, PAGE, class_of, class_size};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// A buffer lent by a pool; goes back to it by [`Pool::give_back`].
pub(super) struct Buffer {
    pages: Box<[Page]>,
    class: usize,
    direction: Direction,
}

pub(super) struct Pool {
    /// Unused buffers by direction and class.
    free: [[Vec<Buffer>; CLASSES]; 2],
    /// Bytes of all buffers, lent or not.
    allocated: Bytes,
    limit: Bytes,
    /// Random bytes that new buffers for writing are filled with.
    template: Box<[Page]>,
    /// Written into every 4 KiB before it is written; never repeats.
    stamp: u64,
}

impl Buffer {
    /// Where it begins; valid for the length asked for.
    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.pages.as_mut_ptr().cast()
    }

    pub(super) fn size(&self) -> Bytes {
        Bytes(class_size(self.class))
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }
}

impl Pool {
    /// A pool of at most `limit` bytes, at least one largest buffer.
    pub(super) fn new(limit: Bytes, seed: u64, first_stamp: u64) -> Self {
        let mut rng = Rng::new(seed).split("file-data");
        let mut template = vec![Page([0; 4096]); index(LARGEST / PAGE)].into_boxed_slice();
        for page in &mut template {
            for word in page.0.as_chunks_mut::<8>().0 {
                *word = rng.bits().to_le_bytes();
            }
        }
        Self {
            free: Default::default(),
            allocated: Bytes(0),
            limit: limit.max(Bytes(LARGEST)),
            template,
            stamp: first_stamp,
        }
    }

    /// A buffer for `length` bytes (at most [`LARGEST`]), ready to be written from or read into;
    /// `None` while the limit is reached.
    pub(super) fn lend(&mut self, direction: Direction, length: Bytes) -> Option<Buffer> {
        debug_assert!(length.0 > 0 && length.0 <= LARGEST, "callers cut transfers into pieces");
        let class = class_of(length.0);
        let mut buffer = match self.free[direction as usize][class].pop() {
            Some(buffer) => buffer,
            None => self.allocate(direction, class)?,
        };
        if direction == Direction::Write {
            for page in &mut buffer.pages[..index(length.pieces(Bytes(PAGE)))] {
                page.0[..8].copy_from_slice(&self.stamp.to_le_bytes());
                self.stamp = self.stamp.wrapping_add(1);
            }
        }
        Some(buffer)
    }

    pub(super) fn give_back(&mut self, buffer: Buffer) {
        self.free[buffer.direction as usize][buffer.class].push(buffer);
    }

    fn allocate(&mut self, direction: Direction, class: usize) -> Option<Buffer> {
        let size = Bytes(class_size(class));
        if self.allocated + size > self.limit {
            self.release_unused(size);
        }
        if self.allocated + size > self.limit {
            return None;
        }
        self.allocated += size;
        let pages = match direction {
            Direction::Read => vec![Page([0; 4096]); index(size.0 / PAGE)].into_boxed_slice(),
            Direction::Write => self.template[..index(size.0 / PAGE)].into(),
        };
        Some(Buffer { pages, class, direction })
    }

    /// Frees unused buffers, the largest first, until `needed` more bytes are allowed.
    fn release_unused(&mut self, needed: Bytes) {
        for class in (0..CLASSES).rev() {
            for free in &mut self.free {
                while self.allocated + needed > self.limit && free[class].pop().is_some() {
                    self.allocated -= Bytes(class_size(class));
                }
            }
        }
    }
}
