//! Counts of numbers by powers of two.

/// Bins: one for 0, and one for each number of bits.
const BINS: usize = 65;

/// Counts of numbers by powers of two: what takes no more room for a longer trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    bins: [u128; BINS],
}

/// The numbers of one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// How many there were, or their weight.
    pub count: u128,
}

impl Default for Table {
    fn default() -> Self {
        Self { bins: [0; BINS] }
    }
}

impl Table {
    /// Counts a number, `weight` times.
    pub(crate) fn add(&mut self, number: u64, weight: u64) {
        let bits = u64::BITS - number.leading_zeros();
        self.bins[bits as usize] += u128::from(weight);
    }

    /// The count of all.
    pub fn total(&self) -> u128 {
        self.bins.iter().sum()
    }

    /// The bins that something is in, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        (0u32..).zip(self.bins).filter(|(_, count)| *count > 0).map(|(bits, count)| Bin {
            from: if bits == 0 { 0 } else { 1 << (bits - 1) },
            to: if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) },
            count,
        })
    }

    /// The bin that the median is in.
    pub fn median(&self) -> Option<Bin> {
        let half = self.total().div_ceil(2);
        let mut seen = 0;
        self.bins().find(|bin| {
            seen += bin.count;
            seen >= half
        })
    }
}
