//! The bytes of the blocks. The model says what a block holds, as a stamp; this is where the bytes
//! of that stamp are.
//!
//! A file holds the last version of each block, written when its command arrives. What a power cut
//! may bring back is kept beside it until the new version is durable.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use rustix::fs::FallocateFlags;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_core::{Content, Lba};

use crate::drive::BLOCK;
use crate::unit_map::UnitMap;

#[cfg(test)]
mod tests;

const BLOCK_BYTES: usize = 512;
/// Blocks whose generations are kept together: 1 MiB.
const CHUNK: u64 = 2_048;
/// What is written over holds so much before it is looked through for versions that are durable.
const OVERWRITTEN_MAX: u64 = 64 << 20;

/// Bytes of blocks. Addresses are blocks.
#[derive(Debug)]
pub(crate) struct Store {
    file: File,
    /// Where in the file block 0 lies.
    start: u64,
    /// The generation of each block's bytes in the file; 0 where none was ever written.
    generations: BTreeMap<u64, Box<[u32; index(CHUNK)]>>,
    /// Older versions, in the order of the writes that replaced them; empty where a drive loses
    /// nothing.
    overwritten: VecDeque<Overwritten>,
    overwritten_bytes: u64,
    /// How much of them there may be before [`Self::wants_pruning`].
    overwritten_max: u64,
    keeps_old: bool,
    /// Which units hold data, where a file keeps that.
    map: Option<UnitMap>,
    /// How long that file is.
    kept_length: u64,
}

/// What a write replaced.
#[derive(Debug)]
struct Overwritten {
    first: u64,
    /// Of each block, what it held: generation and bytes.
    generations: Vec<u32>,
    bytes: Vec<u8>,
}

impl Overwritten {
    /// The same of some of its blocks, counted from its first.
    fn part(&self, blocks: Range<usize>) -> Self {
        Self {
            first: self.first + blocks.start as u64,
            generations: self.generations[blocks.clone()].to_vec(),
            bytes: self.bytes[blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES].to_vec(),
        }
    }

    fn blocks(&self) -> Range<u64> {
        self.first..self.first + self.generations.len() as u64
    }

    /// The bytes of a block, if the version that was replaced is of this generation.
    fn version(&self, block: u64, generation: u32) -> Option<&[u8]> {
        let place = index(block.checked_sub(self.first)?);
        let is_it = self.generations.get(place) == Some(&generation);
        is_it.then(|| &self.bytes[place * BLOCK_BYTES..(place + 1) * BLOCK_BYTES])
    }
}

impl Store {
    /// Blocks in `file`, from the byte `start` on. `keeps_old`: whether what is written over may
    /// come back.
    pub(crate) fn new(file: File, start: u64, keeps_old: bool) -> Self {
        Self {
            file,
            start,
            generations: BTreeMap::new(),
            overwritten: VecDeque::new(),
            overwritten_bytes: 0,
            overwritten_max: OVERWRITTEN_MAX,
            keeps_old,
            map: None,
            kept_length: 0,
        }
    }

    /// The same with a map that is kept beside the bytes, in a file of this length.
    pub(crate) fn with_map(mut self, map: UnitMap, length: u64) -> Self {
        self.map = Some(map);
        self.kept_length = length;
        self
    }

    /// Whether a file keeps the bytes.
    pub(crate) fn is_kept(&self) -> bool {
        self.map.is_some()
    }

    /// What these blocks hold may have changed.
    pub(crate) fn change(&mut self, blocks: &Range<u64>) {
        if let Some(map) = &mut self.map {
            map.change(blocks);
        }
    }

    /// Keeps which units hold data, as `holds` says of the first byte of each.
    pub(crate) fn keep(&mut self, holds: impl FnMut(u64) -> bool) -> io::Result<()> {
        self.map.as_mut().map_or(Ok(()), |map| map.write(holds))
    }

    /// Whether what is written over, or discarded, may come back.
    pub(crate) fn keeps_old(&self) -> bool {
        self.keeps_old
    }

    /// Writes `data`, whole blocks from `first` on. Nothing is changed but bytes of these blocks if
    /// it fails.
    pub(crate) fn write(&mut self, first: u64, data: &[u8], generation: u32) -> io::Result<()> {
        // A write would fill what somebody cut off with zeroes.
        if self.is_kept() && self.file.metadata()?.len() < self.kept_length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let blocks = first..first + data.len() as u64 / BLOCK;
        if self.keeps_old {
            let generations: Vec<u32> =
                blocks.clone().map(|block| self.generation(block)).collect();
            if generations.iter().any(|generation| *generation > 0) {
                let mut bytes = vec![0; data.len()];
                self.file.read_exact_at(&mut bytes, self.start + first * BLOCK)?;
                self.overwritten_bytes += bytes.len() as u64;
                self.overwritten.push_back(Overwritten { first, generations, bytes });
            }
        }
        self.file.write_all_at(data, self.start + first * BLOCK)?;
        self.set_generations(blocks, generation);
        Ok(())
    }

    /// Reads blocks of which the model says that they hold `contents`.
    pub(crate) fn read(&self, contents: &[Content]) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; contents.len() * BLOCK_BYTES];
        let mut at = 0;
        while at < contents.len() {
            let source = source_of(contents[at]);
            let same = |next: &usize| {
                let expected = match source {
                    Source::File(block) => Source::File(block + (next - at) as u64),
                    other => other,
                };
                source_of(contents[*next]) == expected
            };
            let end = (at + 1..contents.len()).find(|next| !same(next)).unwrap_or(contents.len());
            let part = &mut bytes[at * BLOCK_BYTES..end * BLOCK_BYTES];
            match source {
                Source::File(block) => {
                    self.file.read_exact_at(part, self.start + block * BLOCK)?;
                }
                Source::Bytes(byte) => part.fill(byte),
                Source::Drawn(hash) => {
                    part.chunks_mut(BLOCK_BYTES).for_each(|block| draw(hash, block));
                }
            }
            at = end;
        }
        Ok(bytes)
    }

    /// The file holds of each block what the model says that it holds, after a power cut.
    pub(crate) fn restore(
        &mut self,
        mut contents: impl FnMut(Range<u64>) -> Vec<Content>,
    ) -> io::Result<()> {
        let overwritten = std::mem::take(&mut self.overwritten);
        self.overwritten_bytes = 0;
        for (number, replaced) in overwritten.iter().enumerate() {
            for (block, content) in replaced.blocks().zip(contents(replaced.blocks())) {
                let Content::Stamp { lba: Lba(of), generation } = content else { continue };
                if of != block || generation == self.generation(block) {
                    continue;
                }
                // Each write since this one that replaced the block is looked at in its turn.
                let mut later = overwritten.iter().skip(number);
                let version = later.find_map(|it| it.version(block, generation));
                if let Some(bytes) = version {
                    self.file.write_all_at(bytes, self.start + block * BLOCK)?;
                    self.set_generations(block..block + 1, generation);
                }
            }
        }
        Ok(())
    }

    /// Bytes of older versions that are kept.
    #[cfg(test)]
    pub(crate) fn overwritten_bytes(&self) -> u64 {
        self.overwritten_bytes
    }

    /// Whether so much is kept that it should be looked through.
    pub(crate) fn wants_pruning(&self) -> bool {
        self.overwritten_bytes > self.overwritten_max
    }

    /// Forgets the versions of blocks that are not needed: `may_hold` is told blocks and the
    /// generation of each.
    pub(crate) fn prune(&mut self, mut may_hold: impl FnMut(Range<u64>, &[u32]) -> Vec<bool>) {
        let mut kept = VecDeque::new();
        for replaced in self.overwritten.drain(..) {
            let needed = may_hold(replaced.blocks(), &replaced.generations);
            if needed.iter().all(|needed| *needed) {
                kept.push_back(replaced);
                continue;
            }
            let mut start = 0;
            for run in needed.chunk_by(|one, next| one == next) {
                let part = start..start + run.len();
                start = part.end;
                kept.extend(run[0].then(|| replaced.part(part)));
            }
        }
        self.overwritten = kept;
        let bytes = self.overwritten.iter().map(|replaced| replaced.bytes.len() as u64);
        self.overwritten_bytes = bytes.sum();
        self.overwritten_max = OVERWRITTEN_MAX.max(2 * self.overwritten_bytes);
    }

    /// Gives back the room of blocks that hold nothing any more.
    pub(crate) fn punch(&mut self, blocks: Range<u64>) -> io::Result<()> {
        let offset = self.start + blocks.start * BLOCK;
        let length = (blocks.end - blocks.start) * BLOCK;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, flags, offset, length)?;
        if !self.keeps_old {
            self.set_generations(blocks, 0);
        }
        Ok(())
    }

    fn generation(&self, block: u64) -> u32 {
        let chunk = self.generations.get(&(block / CHUNK));
        chunk.map_or(0, |chunk| chunk[index(block % CHUNK)])
    }

    fn set_generations(&mut self, blocks: Range<u64>, generation: u32) {
        let mut block = blocks.start;
        while block < blocks.end {
            let end = blocks.end.min((block / CHUNK + 1) * CHUNK);
            let chunk = self.generations.entry(block / CHUNK);
            let chunk = chunk.or_insert_with(|| Box::new([0; index(CHUNK)]));
            let first = index(block % CHUNK);
            chunk[first..first + index(end - block)].fill(generation);
            block = end;
        }
    }
}

/// Where the bytes of a block come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// This block of the file.
    File(u64),
    /// Each byte is this one.
    Bytes(u8),
    /// They are drawn from a hash.
    Drawn(u64),
}

/// A stamp of another generation than that in the file is of a write that came meanwhile: whoever
/// reads and writes a block at once gets either.
fn source_of(content: Content) -> Source {
    match content {
        Content::Stamp { lba: Lba(of), .. } => Source::File(of),
        Content::Zeroes => Source::Bytes(0),
        Content::Ones => Source::Bytes(0xff),
        Content::Other { hash } => Source::Drawn(hash),
    }
}

/// Bytes that no controller can compress, the same for a hash.
fn draw(hash: u64, bytes: &mut [u8]) {
    let mut rng = Rng::new(hash);
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&rng.bits().to_le_bytes()[..word.len()]);
    }
}
