//! Ours beside a peer, in turns.
//!
//! Speeds of one machine at different times cannot be compared; ratios of what ran in turns can,
//! because what else the machine does falls on all sides alike. So each side is measured once a
//! repetition, in an order that changes, and medians are compared.

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};
use trimbench_core::Nanos;
use trimbench_core::rng::Rng;
use trimbench_core::units::index;
use trimbench_results::statistics::{Bootstrap, bootstrap_ratio_of_medians, median};

use crate::figure::{Bar, Figure};

/// Measures each of so many sides once a repetition; what came of it, by side.
pub(super) fn in_turns<T>(
    sides: usize,
    repetitions: usize,
    mut measure: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Vec<T>>> {
    let mut rng = Rng::new(1).split("turns");
    let mut measured: Vec<Vec<T>> = (0..sides).map(|_| Vec::new()).collect();
    for _ in 0..repetitions {
        for side in shuffled(sides, &mut rng) {
            measured[side].push(measure(side)?);
        }
    }
    Ok(measured)
}

/// The median of one side's values over that of another's; `unit` is that of the values.
pub(super) fn ratio(
    what: impl Into<String>,
    (above, below): (&[f64], &[f64]),
    unit: &str,
    bar: Bar,
) -> Result<Figure> {
    let middle = |values| median(values).context("a side has no value");
    let (one, other) = (middle(above)?, middle(below)?);
    let interval = interval(above, below).map_or_else(String::new, |text| format!("; {text}"));
    let count = above.len();
    let note = format!("{one:.3} over {other:.3} {unit}, medians of {count}{interval}");
    Ok(Figure::new(what, (one / other, ""), bar).with_note(note))
}

/// The 95 % interval of the ratio of two medians, in words; `None` with too few values.
pub(super) fn interval(above: &[f64], below: &[f64]) -> Option<String> {
    let mut rng = Rng::new(1).split("interval");
    let interval = bootstrap_ratio_of_medians(above, below, &mut rng, Bootstrap::default())?;
    Some(format!("95 % interval {:.3} to {:.3}", interval.low, interval.high))
}

/// User and system time of this process so far.
pub(super) fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    Nanos::from_secs(part(time.tv_sec)) + Nanos(part(time.tv_nsec))
}

fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, index(rng.below(last as u64 + 1)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_measured_once_a_repetition_and_in_changing_order() {
        let mut order = Vec::new();
        let measured = in_turns(3, 50, |side| {
            order.push(side);
            Ok(side * 10)
        });
        assert_eq!(measured.unwrap(), [vec![0; 50], vec![10; 50], vec![20; 50]]);
        let turns = order.chunks(3).map(<[usize]>::to_vec);
        let orders: std::collections::BTreeSet<Vec<usize>> = turns.collect();
        assert_eq!(orders.len(), 6, "all orders come");
    }

    #[test]
    fn a_ratio_is_that_of_medians() {
        let (ours, peer) = ([98.0, 97.0, 99.0, 98.5, 5.0], [100.0, 99.0, 101.0, 100.5, 900.0]);
        let figure = ratio("speed", (&ours, &peer), "IOPS", Bar::AtLeast(0.97)).unwrap();
        assert!((figure.value - 98.0 / 100.5).abs() < 1e-9 && figure.holds(), "{figure:?}");
        let note = "98.000 over 100.500 IOPS, medians of 5; 95 % interval ";
        assert!(figure.note.starts_with(note), "{}", figure.note);
        let few = ratio("speed", (&[2.0], &[8.0]), "s", Bar::AtMost(0.2)).unwrap();
        assert_eq!((few.value, few.holds()), (0.25, false));
        assert!(ratio("speed", (&[], &[8.0]), "s", Bar::AtMost(1.0)).is_err());
    }
}
