//! A running hash over all commands and completions of a simulated run: two runs are equal if their
//! hashes are.

use crate::units::Instant;

/// FNV-1a over 64-bit words. Not cryptographic; its value is part of the record and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(u64);

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Default for TraceHash {
    fn default() -> Self {
        Self(OFFSET_BASIS)
    }
}

impl TraceHash {
    /// Mixes one word in.
    #[inline]
    pub fn word(&mut self, word: u64) {
        // One multiplication a word, with the high half folded down so that all bits spread.
        let mixed = (self.0 ^ word).wrapping_mul(PRIME);
        self.0 = mixed ^ (mixed >> 32);
    }

    /// Mixes an instant in.
    #[inline]
    pub fn instant(&mut self, at: Instant) {
        self.word(at.since_start().0);
    }

    /// Mixes text in.
    pub fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        for byte in text.bytes() {
            self.word(u64::from(byte));
        }
    }

    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}
