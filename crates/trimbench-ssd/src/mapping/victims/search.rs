//! The vectorised searches: the same choices as by a plain walk, many superblocks at a time.
//!
//! Written as loops over short slices without branches, which the compiler turns into vector
//! instructions; tests and the soak compare each choice with the plain one.

use trimbench_core::units::narrow;

use super::super::{CHUNK, NOT_CLOSED};
use super::{AGE_MAX, Ages, Candidates, Offer, VictimSearch};

/// What is worth less than this share of the best, in floating point, is worth less exactly: each
/// side of the comparison is off by less than eight roundings of 2^-53.
const CERTAIN: f64 = 1.0 - 1e-12;

/// The superblock of the least count, the first of equals, and the count; `None` where that is no
/// candidate's. `chunk_least` has the least of each chunk.
pub(super) fn emptiest(
    counts: &[u32],
    chunk_least: &[u32],
    search: VictimSearch,
) -> Option<(u32, u32)> {
    let least = chunk_least.iter().copied().min().filter(|least| least & NOT_CLOSED == 0)?;
    let is_least = |&count: &u32| count == least;
    let chunk_of = |chunk: usize| &counts[chunk * CHUNK..counts.len().min((chunk + 1) * CHUNK)];
    let (chunk, within) = if search == VictimSearch::LastOfEquals {
        let chunk = chunk_least.iter().rposition(is_least)?;
        (chunk, chunk_of(chunk).iter().rposition(is_least))
    } else {
        let chunk = chunk_least.iter().position(is_least)?;
        (chunk, chunk_of(chunk).iter().position(is_least))
    };
    let within = within.expect("the least of a chunk is the count of one of its superblocks");
    Some((narrow((chunk * CHUNK + within) as u64), least))
}

/// The candidate of the most `age (1 - u) / 2u`, or of that with the root of the age, the first of
/// equals.
///
/// A chunk is compared exactly only if something in it may be better than the best so far. That is
/// known in floating point, with a margin: few chunks are compared in vain, none is passed by. Most
/// are known to have nothing from their least count, in `chunk_least`, and their greatest age.
pub(super) fn worthiest(
    candidates: Candidates<'_>,
    chunk_least: &[u32],
    ages: &Ages,
) -> Option<Offer> {
    if ages.rooted {
        worthiest_by::<true>(candidates, chunk_least, ages)
    } else {
        worthiest_by::<false>(candidates, chunk_least, ages)
    }
}

fn worthiest_by<const ROOTED: bool>(
    candidates: Candidates<'_>,
    chunk_least: &[u32],
    ages: &Ages,
) -> Option<Offer> {
    let (counts, whole, closed) = (candidates.counts, candidates.whole, ages.closed);
    let chunks = chunk_least.iter().zip(&ages.chunk_oldest);
    let mut best = None;
    let mut bar = 0.0;
    for (chunk, (&least, &oldest)) in chunks.enumerate() {
        if !reaches::<ROOTED>(bar, least, oldest, (closed, whole)) {
            continue;
        }
        let superblocks = chunk * CHUNK..counts.len().min((chunk + 1) * CHUNK);
        let (counts, closed_at) =
            (&counts[superblocks.clone()], &ages.closed_at[superblocks.clone()]);
        let reach = |any, (&count, &closed_at)| {
            // Bitwise: a lazy operator is a branch, and not vectorised.
            any | reaches::<ROOTED>(bar, count, closed_at, (closed, whole))
        };
        if counts.iter().zip(closed_at).fold(false, reach) {
            best = candidates.worthiest_of(superblocks, best, ages);
            // Infinite where nothing is valid: nothing reaches that, and nothing is better.
            bar = best.map_or(0.0, |best| worth::<ROOTED>(best, whole) * CERTAIN);
        }
    }
    best
}

/// Twice `age (1 - u) / 2u`; with the root of the age, the square of that.
fn worth<const ROOTED: bool>(offer: Offer, whole: u32) -> f64 {
    let (free, valid) = (f64::from(whole - offer.valid), f64::from(offer.valid));
    if ROOTED {
        offer.age.min(AGE_MAX) as f64 * (free * free) / (valid * valid)
    } else {
        offer.age as f64 * free / valid
    }
}

/// Whether what was closed after `closed_at` others of now `closed`, and holds `count` valid units
/// of `whole`, is a candidate and worth `bar` or more.
#[inline]
fn reaches<const ROOTED: bool>(
    bar: f64,
    count: u32,
    closed_at: u64,
    (closed, whole): (u64, u32),
) -> bool {
    let age = closed.wrapping_sub(closed_at) as f64;
    // Of a candidate it is no negative number, and signed ones are converted faster.
    let valid = f64::from(count.cast_signed());
    let free = f64::from(whole) - valid;
    // An age beyond the greatest only lets a chunk be compared in vain.
    let enough = if ROOTED {
        age * (free * free) >= bar * (valid * valid)
    } else {
        age * free >= bar * valid
    };
    let is_candidate = count & NOT_CLOSED == 0;
    enough & is_candidate
}
