//! Closed forms of write amplification, as functions of plain numbers.
//!
//! U logical units, T physical ones without those reserved for gc, alpha = T / U, n units a
//! superblock, A the units programmed over those that the host writes. The unknown is found by
//! bisection: every equation here has one side that rises and one that falls.

use trimbench_core::units::{index, rounded};

#[cfg(test)]
mod tests;

/// Halvings of an interval: more than a double can tell apart.
const STEPS: u32 = 200;

/// F1: FIFO under uniform random writes, superblocks of any size: A = alpha / (alpha + W(-alpha
/// exp(-alpha))), W the principal branch of Lambert's function. Source: \[XIANG11\].
pub fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert(-alpha * (-alpha).exp()))
}

/// F2: greedy under uniform random writes: with v the valid units of a victim and H the harmonic
/// numbers, linear between integers, alpha (1 - v / n) = H(n) - H(v), A = n / (n - v). Source:
/// \[DESN12\].
pub fn greedy(alpha: f64, units: u32) -> f64 {
    let n = f64::from(units);
    let mut sums = vec![0.0];
    for unit in 1..=units {
        sums.push(sums[sums.len() - 1] + 1.0 / f64::from(unit));
    }
    let harmonic = |v: f64| {
        let below = index(rounded(v.floor())).min(sums.len() - 2);
        sums[below] + (v - below as f64) * (sums[below + 1] - sums[below])
    };
    // The right side falls faster than the left one: below the solution it is larger.
    let v = bisect(0.0, n, |v| alpha * (1.0 - v / n) < harmonic(n) - harmonic(v));
    n / (n - v)
}

/// F3: the best of d random choices, with replacement, under uniform random writes. Q(j) is the
/// share of superblocks with at least j valid units: c j (Q(j) - Q(j + 1)) = 1 - Q(j)^d for j from
/// n down to 1, Q(n + 1) = 0; c such that the Q(j) add up to n / alpha; A = alpha / c. Source:
/// \[VHOU13\].
pub fn d_choices(alpha: f64, units: u32, choices: u32) -> f64 {
    let valid = |c: f64| {
        let (mut share, mut sum) = (0.0, 0.0);
        for j in (1..=units).rev() {
            let above = share;
            share = share_of_at_least(above, c * f64::from(j), choices);
            sum += share;
        }
        sum
    };
    // The larger c, the less is valid.
    let target = f64::from(units) / alpha;
    let c = bisect(0.0, alpha, |c| valid(c) > target);
    alpha / c
}

/// Q with `rate` (Q - above) = 1 - Q^d, by Newton's method: the difference is convex and rising, so
/// that from 1 on every step stays above the root.
fn share_of_at_least(above: f64, rate: f64, choices: u32) -> f64 {
    let d = f64::from(choices);
    let mut q = 1.0_f64;
    for _ in 0..STEPS {
        let power = q.powf(d - 1.0);
        let next = q - (rate * (q - above) - 1.0 + power * q) / (rate + d * power);
        if (q - next).abs() <= f64::EPSILON {
            break;
        }
        q = next;
    }
    q
}

/// F4: FIFO where the class i has the share p(i) of the writes and n(i) of the space, uniform
/// within: A = sum of p(i) / (1 - exp(-p(i) / n(i) alpha / A)). Classes are `(p, n)`. Source:
/// \[DESN12\].
pub fn fifo_of_classes(alpha: f64, classes: &[(f64, f64)]) -> f64 {
    let programmed = |a: f64| -> f64 {
        classes.iter().map(|(p, n)| p / (1.0 - (-(p / n) * alpha / a).exp())).sum()
    };
    bisect(1.0, 1e6, |a| programmed(a) > a)
}

/// F6: the share of the logical units in use where each step trims a random unit in use with
/// probability `q` and else writes a random unit of all. The formulas then hold with alpha over
/// this share. Source: \[FRAN12\].
pub fn share_in_use(q: f64) -> f64 {
    (1.0 - 2.0 * q) / (1.0 - q)
}

/// The principal branch of Lambert's function between -1 / e and 0: w exp(w) = x.
fn lambert(x: f64) -> f64 {
    bisect(-1.0, 0.0, |w| w * w.exp() < x)
}

/// Where `below` ceases to hold between `low` and `high`.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
