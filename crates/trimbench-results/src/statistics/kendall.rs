//! Kendall's statistic when y does not depend on x: how many pairs stand in falling order.
//!
//! With n points in groups of t, u, ... equal x, all n! orders of y are equally likely. The number
//! of arrangements with d falling pairs of distinct x is the coefficient of q^d in the Gaussian
//! multinomial `[n]! / ([t]! [u]! ...)`, where `[m]! = (1 - q)(1 - q^2)...(1 - q^m)`.
//!
//! Sources: M. G. Kendall, "Rank Correlation Methods" (1948), for the statistic; with groups it is
//! that of T. J. Terpstra (1952) and A. R. Jonckheere (1954).

use trimbench_core::units::index;

use super::whole;

/// The most points for which arrangements are counted: 32! = 2.6e35 stays below `i128`'s 1.7e38,
/// also in the one intermediate product, whose terms are differences of two counts.
pub(super) const EXACT_POINTS: u64 = 32;

/// The largest k such that fewer than k falling pairs have a probability of at most `tail`, in
/// (0, 0.5]. `None` if not even k = 1 has: too few points.
pub(super) fn tail_count(groups: &[u64], tail: f64) -> Option<usize> {
    let points: u64 = groups.iter().sum();
    let count = if points <= EXACT_POINTS {
        exact_tail_count(&arrangements(groups), tail)
    } else {
        normal_tail_count(groups, tail)
    };
    (count > 0).then_some(count)
}

/// The arrangements by number of falling pairs: index d holds those with d.
pub(super) fn arrangements(groups: &[u64]) -> Vec<i128> {
    let mut counts = vec![1_i128];
    let mut placed = 0;
    for &group in groups {
        // Joins a group of `t` to `placed` points: times [placed + t]! / ([placed]! [t]!).
        for member in 1..=group {
            let factor = index(placed + member);
            counts = times_one_minus_power(&counts, factor);
            divide_by_one_minus_power(&mut counts, index(member));
        }
        placed += group;
    }
    counts
}

/// The polynomial times `1 - q^power`.
fn times_one_minus_power(counts: &[i128], power: usize) -> Vec<i128> {
    let mut product = counts.to_vec();
    product.resize(counts.len() + power, 0);
    for (degree, count) in counts.iter().enumerate() {
        product[degree + power] -= count;
    }
    product
}

/// The polynomial over `1 - q^power`, which divides it.
fn divide_by_one_minus_power(counts: &mut Vec<i128>, power: usize) {
    for degree in power..counts.len() {
        counts[degree] += counts[degree - power];
    }
    let quotient = counts.len() - power;
    debug_assert!(counts[quotient..].iter().all(|&count| count == 0), "the division is exact");
    counts.truncate(quotient);
}

fn exact_tail_count(arrangements: &[i128], tail: f64) -> usize {
    let total: i128 = arrangements.iter().sum();
    let allowed = tail * total as f64;
    let mut sum: i128 = 0;
    let fits = arrangements.iter().take_while(|&&count| {
        sum += count;
        sum as f64 <= allowed
    });
    fits.count()
}

fn normal_tail_count(groups: &[u64], tail: f64) -> usize {
    let points: u64 = groups.iter().sum();
    let spread = |n: u64| n as f64 * (n as f64 - 1.0) * (2.0 * n as f64 + 5.0);
    let ties: f64 = groups.iter().map(|&group| spread(group)).sum();
    let variance = (spread(points) - ties) / 18.0;
    let tied_pairs: u64 = groups.iter().map(|group| group * (group - 1) / 2).sum();
    let pairs = points * (points - 1) / 2 - tied_pairs;
    whole(((pairs as f64 - normal_upper(tail) * variance.sqrt()) / 2.0).max(0.0))
}

/// The z that a standard normal variable exceeds with probability `tail`, in (0, 0.5]; error below
/// 4.5e-4. Source: M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.2.23.
pub(super) fn normal_upper(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    (t - above / below).max(0.0)
}
