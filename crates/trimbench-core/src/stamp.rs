//! Stamps: logical blocks that contain their own address, so that a read can recognise them.
//!
//! Layout, in little-endian words of 64 bits:
//!
//! ```text
//!   0      1     2                            3          4 ...
//!   magic  LBA   generation | length << 32    checksum   filling
//! ```
//!
//! The filling is the output of `SplitMix64` \[STEE14\], seeded by LBA and generation:
//! incompressible, and different in every word of every block and generation. So a stamp that is
//! torn between two generations, shifted, truncated or corrupted in a single bit is
//! [`Content::Other`], never another stamp. The checksum mixes all other words.

use crate::command::Content;
use crate::trace_hash::TraceHash;
use crate::units::Lba;

#[cfg(test)]
mod tests;

/// `trimblk` and a version, read as text.
const MAGIC: u64 = u64::from_le_bytes(*b"trimblk1");
/// Bytes of a word.
const WORD: usize = 8;
/// Words before the filling.
const HEADER: usize = 4;
/// Where the checksum stands.
const CHECKSUM: usize = 3;
/// The increment of `SplitMix64`: 2^64 over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fills one logical block with the stamp of `lba` and `generation`.
///
/// # Panics
/// If the length is not that of a logical block: a multiple of 512 bytes, at most 64 KiB.
pub fn write(block: &mut [u8], lba: Lba, generation: u32) {
    let words = Words::new(lba, generation, block.len());
    let mut sum = TraceHash::default();
    for (index, bytes) in block.chunks_exact_mut(WORD).enumerate() {
        if index != CHECKSUM {
            let word = words.get(index);
            sum.word(word);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    block[CHECKSUM * WORD..][..WORD].copy_from_slice(&sum.value().to_le_bytes());
}

/// What one logical block holds.
///
/// # Panics
/// If the length is not that of a logical block: a multiple of 512 bytes, at most 64 KiB.
pub fn read(block: &[u8]) -> Content {
    check_length(block.len());
    if let Some(stamp) = read_stamp(block) {
        return stamp;
    }
    // Stops at the first byte that is neither.
    if block.iter().all(|&byte| byte == 0) {
        return Content::Zeroes;
    }
    if block.iter().all(|&byte| byte == u8::MAX) {
        return Content::Ones;
    }
    let mut hash = TraceHash::default();
    hash.word(block.len() as u64);
    for bytes in block.chunks_exact(WORD) {
        hash.word(word_of(bytes));
    }
    Content::Other { hash: hash.value() }
}

/// The stamp, if the block holds a whole one.
fn read_stamp(block: &[u8]) -> Option<Content> {
    let mut header = block.chunks_exact(WORD).map(word_of);
    if header.next()? != MAGIC {
        return None;
    }
    let lba = Lba(header.next()?);
    let generation = u32::try_from(header.next()? & u64::from(u32::MAX)).ok()?;
    let words = Words::new(lba, generation, block.len());
    let (mut sum, mut found) = (TraceHash::default(), 0);
    for (index, bytes) in block.chunks_exact(WORD).enumerate() {
        let word = word_of(bytes);
        if index == CHECKSUM {
            found = word;
        } else if word == words.get(index) {
            sum.word(word);
        } else {
            return None;
        }
    }
    (found == sum.value()).then_some(Content::Stamp { lba, generation })
}

struct Words {
    lba: u64,
    /// Generation and length.
    form: u64,
    seed: u64,
}

impl Words {
    fn new(lba: Lba, generation: u32, length: usize) -> Self {
        check_length(length);
        let form = u64::from(generation) | (length as u64) << 32;
        Self { lba: lba.0, form, seed: mix(mix(lba.0 ^ GOLDEN) ^ form) }
    }

    #[inline]
    fn get(&self, index: usize) -> u64 {
        match index {
            0 => MAGIC,
            1 => self.lba,
            2 => self.form,
            _ => mix(self.seed.wrapping_add(GOLDEN.wrapping_mul((index - HEADER + 1) as u64))),
        }
    }
}

/// The output function of `SplitMix64`: a bijection in which every input bit changes about half of
/// the output bits.
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn word_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("chunks of a word's length"))
}

fn check_length(length: usize) {
    let fits = (512..=65_536).contains(&length) && length.is_multiple_of(512);
    assert!(fits, "a logical block has 512 B to 64 KiB: {length}");
}
