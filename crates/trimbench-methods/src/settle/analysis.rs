//! Computes figures from recorded curves. A pure function of the record.
//!
//! Throughput is compared slice by slice with a reference, after a running median of an odd number
//! of slices. The settling time is the end of the last slice below 95 % of the reference, in a run
//! of such slices that is longer than any that the twins show by themselves.

use std::ops::Range;

use trimbench_core::Caveat;
use trimbench_results::number::quantity;
use trimbench_results::statistics::median;
use trimbench_results::{Figure, Metric, Series, Step, StepOf, Verdict};

use super::metrics::{self, IDLE_OVER_LOADED, IDLE_WORK, LONGEST};
use super::options::{Reference, Settle};
use super::session::{IDLE, POINT};
use super::steps::{SettleIdleStep, SettlePaceStep, SettlePointStep};
use trimbench_engine::Findings;

/// Below this share of the reference the drive has not settled.
const SETTLED: f64 = 0.95;

/// A point, and what is known of it.
struct SettledPoint<'a> {
    point: StepOf<'a, SettlePointStep>,
    settled: Settled,
}

/// What a load shows beside its reference.
struct Settled {
    /// When it was back at its pace; `None` if it was not within the window. s
    after: Option<f64>,
    /// What the window's end says at the least, s.
    window: f64,
    /// Time at the reference's pace that is missing from the window, s.
    lost: f64,
    /// The lowest running median until it settled, as a share of the reference.
    slowest: f64,
    /// The settling time of the twin itself, against its own plateau, s; 0 without a twin.
    twin: f64,
    /// What is shorter is not told from what the drive does without a TRIM, s.
    noise: f64,
}

/// Computes all figures.
pub fn analyse(method: &Settle, steps: &[Step]) -> Findings {
    let points = steps.iter().filter(|step| step.kind == POINT);
    let points: Vec<StepOf<'_, SettlePointStep>> = points.filter_map(StepOf::read).collect();
    let paces: Vec<&SettlePaceStep> = points.iter().map(|point| &point.pace).collect();
    let best = paces.iter().filter_map(|pace| plateau(&rates(pace.trimmed.as_ref())?));
    let best = best.fold(0.0, f64::max);
    let noise = noise(method, &paces);
    let points: Vec<SettledPoint<'_>> = points
        .into_iter()
        .filter_map(|point| {
            let settled = Settled::of(method, &point.pace, best, noise)?;
            Some(SettledPoint { point, settled })
        })
        .collect();
    let Some(longest) =
        points.iter().max_by(|a, b| a.settled.least().total_cmp(&b.settled.least()))
    else {
        return Findings::new(Vec::new(), vec![Caveat::TooFewPoints]);
    };
    let n = points.len() as u64;
    let headline = longest.figure(&LONGEST);
    let at_most = points.iter().map(|it| it.settled.noise).fold(0.0, f64::max);
    let headline = headline.map(|figure| figure.with_n(n).judged(verdict(&points, at_most)));
    let mut figures = Vec::from_iter(headline);
    let mut add = |metric: &Metric, of: fn(&SettledPoint<'_>) -> f64, pick: fn(f64, f64) -> f64| {
        let figure = metric.measured(points.iter().map(of).reduce(pick));
        figures.extend(figure.map(|figure| figure.with_n(n)));
    };
    add(&metrics::SLOWEST, |it| it.settled.slowest, f64::min);
    add(&metrics::LOST, |it| it.settled.lost, f64::max);
    add(&metrics::TRIM, |it| it.point.trim_s, f64::max);
    if method.reference == Reference::Twin {
        add(&metrics::TWIN, |it| it.settled.twin, f64::max);
    }
    figures.extend(idle(method, steps, &points));
    for (metric, percents) in metrics::of_points(method) {
        let point = points.iter().find(|it| it.percents() == percents);
        figures.extend(point.and_then(|point| point.figure(&metric)));
    }
    Findings::new(figures, Vec::new())
}

/// The settling time of a load, against its own twin or plateau; `None` if it was not reached.
pub(super) fn settled_after(method: &Settle, pace: &SettlePaceStep) -> Option<f64> {
    Settled::of(method, pace, 0.0, noise(method, &[pace]))?.after
}

/// The longest run of slices in which a twin is below the other twin of its point, or below its own
/// plateau, though not from its start on: so long the drive is slower without any TRIM.
fn noise(method: &Settle, paces: &[&SettlePaceStep]) -> usize {
    let smooth = |curve: &Option<Series>| {
        let rates = rates(curve.as_ref()).filter(|_| method.reference == Reference::Twin)?;
        Some((running_median(&rates, method.smoothing), plateau(&rates)?))
    };
    let longest = |runs: Vec<Range<usize>>| runs.into_iter().map(|run| run.len()).max();
    let mut most = 0;
    for pace in paces {
        let (twin, placebo) = (smooth(&pace.twin), smooth(&pace.placebo));
        for (pace, level) in [&twin, &placebo].into_iter().flatten() {
            let mut runs = runs_below(pace, &vec![*level; pace.len()]);
            runs.retain(|run| run.start > 0);
            most = most.max(longest(runs).unwrap_or(0));
        }
        if let (Some((one, _)), Some((other, _))) = (&twin, &placebo) {
            let both = [runs_below(one, other), runs_below(other, one)];
            most = both.into_iter().filter_map(longest).fold(most, usize::max);
        }
    }
    most
}

/// The shortest idle time after which the load was at its pace at once, alone and over the settling
/// time under load of the same TRIM, which is as long as it can be.
fn idle(method: &Settle, steps: &[Step], points: &[SettledPoint<'_>]) -> Vec<Figure> {
    let largest = points.iter().max_by_key(|it| it.percents());
    let Some(loaded) = largest.and_then(|it| it.settled.after).filter(|after| *after > 0.0) else {
        return Vec::new();
    };
    let tried = steps.iter().filter(|step| step.kind == IDLE);
    let tried: Vec<StepOf<'_, SettleIdleStep>> = tried.filter_map(StepOf::read).collect();
    let enough = tried.iter().filter(|step| settled_after(method, &step.pace) == Some(0.0));
    let shortest = enough.map(|step| step.idle_s).fold(loaded, f64::min);
    let value = (!tried.is_empty()).then_some(shortest);
    let table = [(IDLE_WORK, value), (IDLE_OVER_LOADED, value.map(|value| value / loaded))];
    let figures = table.into_iter().filter_map(|(metric, value)| {
        let mut figure = metric.measured(value)?;
        figure.rests_on(tried.iter().map(|tried| tried.step));
        Some(figure)
    });
    figures.collect()
}

fn verdict(points: &[SettledPoint<'_>], at_most: f64) -> Verdict {
    let count =
        |is: fn(&Settled) -> bool| points.iter().filter(|it| is(&it.settled)).count() as u64;
    let (open, slowed) = (count(|it| it.after.is_none()), count(|it| it.least() > 0.0));
    let trims = points.len() as u64;
    match (open, slowed) {
        (0, 0) if at_most > 0.0 => Verdict::SettledWithin { at_most: quantity(at_most, "s") },
        (0, 0) => Verdict::SettledAtOnce,
        (0, slowed) => Verdict::SlowerAfter { slowed, trims },
        (open, _) => Verdict::SlowerForAtLeast { open, trims },
    }
}

impl Settled {
    /// Of a load; `best` is the highest plateau of all points, and runs of up to `noise` slices are
    /// the drive's own.
    fn of(method: &Settle, load: &SettlePaceStep, best: f64, noise: usize) -> Option<Self> {
        let rates = rates(load.trimmed.as_ref())?;
        let own = plateau(&rates)?;
        let slice = load.slice_s;
        let window = slice * rates.len() as f64;
        let smooth = |rates: &[f64]| running_median(rates, method.smoothing);
        let (reference, twin) = match method.reference {
            Reference::Twin => {
                let twin = self::rates(load.twin.as_ref())?;
                let level = vec![plateau(&twin)?; twin.len()];
                let below = runs_below(&smooth(&twin), &level).last().map_or(0, |run| run.end);
                (smooth(&twin), below as f64 * slice)
            }
            Reference::Plateau => (vec![own; rates.len()], 0.0),
        };
        let pace = smooth(&rates);
        let mut runs = runs_below(&pace, &reference);
        runs.retain(|run| run.len() > noise);
        let below = runs.last().map_or(0, |run| run.end);
        let reached = match method.reference {
            Reference::Twin => {
                let last = pace.len() - pace.len() / 10;
                below <= last || median(&pace[last..])? >= SETTLED * median(&reference[last..])?
            }
            Reference::Plateau => below <= plateau_from(pace.len()) && own >= SETTLED * best,
        };
        let slow = pace.iter().zip(&reference).take(below);
        let shares = slow.filter(|(_, full)| **full > 0.0);
        let slowest = shares.map(|(rate, full)| rate / full).fold(1.0, f64::min);
        let missing = rates.iter().zip(&reference).filter(|(_, full)| **full > 0.0);
        let lost: f64 = missing.map(|(rate, full)| (1.0 - rate / full) * slice).sum();
        let after = reached.then_some(below as f64 * slice);
        let noise = noise as f64 * slice;
        Some(Self { after, window, lost, slowest, twin, noise })
    }

    /// The settling time, or the window's length where it was not reached.
    fn least(&self) -> f64 {
        self.after.unwrap_or(self.window)
    }
}

impl SettledPoint<'_> {
    fn percents(&self) -> (u32, u32) {
        (self.point.trimmed_percent, self.point.written_percent)
    }

    /// Its settling time as this metric.
    fn figure(&self, metric: &Metric) -> Option<Figure> {
        let mut figure = metric.measured(self.settled.least())?;
        figure.rests_on([self.point.step]);
        if self.settled.after.is_none() {
            figure.verdict = Some(Verdict::AtLeast);
            figure.caveat(Caveat::LowerBound);
        }
        if self.settled.twin > 0.0 {
            figure.caveat(Caveat::UnsteadyTwin);
        }
        Some(figure)
    }
}

/// Throughput of each slice; `None` without a curve.
fn rates(curve: Option<&Series>) -> Option<Vec<f64>> {
    curve?.y.iter().copied().collect()
}

/// The first slice of the last quarter.
fn plateau_from(slices: usize) -> usize {
    slices - slices / 4
}

/// The median of the last quarter.
fn plateau(rates: &[f64]) -> Option<f64> {
    median(&rates[plateau_from(rates.len())..])
}

/// The median of each value and its neighbours, `count` together; of fewer, equally many on both
/// sides, at the ends.
fn running_median(values: &[f64], count: usize) -> Vec<f64> {
    let of = |at: usize| {
        let reach = (count / 2).min(at).min(values.len() - 1 - at);
        median(&values[at - reach..=at + reach]).expect("the value itself is among them")
    };
    (0..values.len()).map(of).collect()
}

/// The runs of slices that are below the reference, in their order.
fn runs_below(pace: &[f64], reference: &[f64]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, (rate, full)) in pace.iter().zip(reference).enumerate() {
        if *rate >= SETTLED * full {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}
