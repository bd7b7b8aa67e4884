//! The Mersenne Twister MT19937, seeded as its first publication did and `PostMark` does.
//!
//! Used only for `PostMark`, whose files follow from its draws; everything else uses
//! [`trimbench_core::rng`]. Source: \[MT98\].

/// Words of state, and how far apart the words are that are combined.
const WORDS: usize = 624;
const SHIFT: usize = 397;
/// The coefficients of the recurrence.
const MATRIX: u32 = 0x9908_b0df;
/// The multiplier of the generator that seeds.
const SEEDING: u32 = 69_069;

/// The generator.
#[derive(Clone, Debug)]
pub(super) struct Mersenne {
    state: [u32; WORDS],
    next: usize,
}

impl Mersenne {
    /// Seeded in the old way: each word takes its halves from two steps of a congruential
    /// generator.
    pub(super) fn new(seed: u32) -> Self {
        let mut congruential = seed;
        let mut high_half = || {
            let high = congruential & 0xffff_0000;
            congruential = congruential.wrapping_mul(SEEDING).wrapping_add(1);
            high
        };
        let state = std::array::from_fn(|_| high_half() | (high_half() >> 16));
        Self { state, next: WORDS }
    }

    fn bits(&mut self) -> u32 {
        if self.next == WORDS {
            self.renew();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// A draw below `bound`, as a remainder; for 0 it is 0 and nothing is drawn.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound > 0 { self.bits() % bound } else { 0 }
    }

    fn renew(&mut self) {
        for index in 0..WORDS {
            let upper = self.state[index] & 0x8000_0000;
            let lower = self.state[(index + 1) % WORDS] & 0x7fff_ffff;
            let joined = upper | lower;
            let mixed = if joined & 1 == 0 { 0 } else { MATRIX };
            self.state[index] = self.state[(index + SHIFT) % WORDS] ^ (joined >> 1) ^ mixed;
        }
        self.next = 0;
    }
}
