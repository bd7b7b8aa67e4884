//! Computes figures from recorded curves. A pure function of the record.
//!
//! Throughput is compared slice by slice with a reference, after a running median of an odd number
//! of slices. The settling time is the end of the last slice below 95 % of the reference.

use trimbench_core::Caveat;
use trimbench_results::statistics::median;
use trimbench_results::{Figure, Step};

use super::options::{Reference, Settle};
use super::session::{CURVE, POINT, TWIN};
use trimbench_engine::method::Findings;
use trimbench_engine::settings::whole_percent;

/// Below this share of the reference the drive has not settled.
const SETTLED: f64 = 0.95;

/// What is known of one point.
struct Settled<'a> {
    step: &'a Step,
    /// When it was back at its pace; `None` if it was not within the window. s
    after: Option<f64>,
    /// What the window's end says at the least, s.
    window: f64,
    /// Time at the reference's pace that is missing from the window, s.
    lost: f64,
    /// The lowest running median, as a share of the reference.
    slowest: f64,
    /// The settling time of the twin itself, against its own plateau, s; 0 without a twin.
    twin: f64,
}

/// Computes all figures.
pub fn analyse(method: &Settle, steps: &[Step]) -> Findings {
    let steps: Vec<&Step> = steps.iter().filter(|step| step.kind == POINT).collect();
    let best = steps.iter().filter_map(|step| plateau(&rates(step, CURVE)?)).fold(0.0, f64::max);
    let points: Vec<Settled> =
        steps.iter().filter_map(|step| Settled::of(method, step, best)).collect();
    let Some(longest) = points.iter().max_by(|a, b| a.least().total_cmp(&b.least())) else {
        return Findings { figures: Vec::new(), caveats: vec![Caveat::TooFewPoints] };
    };
    let mut figures = Vec::new();
    let extreme = |of: fn(&Settled) -> f64, pick: fn(f64, f64) -> f64| {
        points.iter().map(of).reduce(pick).expect("there is a longest")
    };
    let title = "longest settling time of all ranges and amounts written";
    let headline = longest.figure("settle", title).map(|figure| Figure {
        headline: true,
        n: points.len() as u64,
        verdict: Some(verdict(&points)),
        ..figure
    });
    figures.extend(headline);
    let rest = [
        (
            "settle-slowest",
            "lowest pace after a TRIM, as a share of the reference",
            { extreme(|it| it.slowest, f64::min) },
            "",
        ),
        (
            "settle-lost",
            "most time at the reference's pace that was lost after a TRIM",
            { extreme(|it| it.lost, f64::max) },
            "s",
        ),
        (
            "settle-trim",
            "longest TRIM, until it was acknowledged",
            { extreme(|it| it.step.metrics.get("trim_s").copied().unwrap_or(0.0), f64::max) },
            "s",
        ),
        (
            "settle-twin",
            "longest settling time of the twins, against their own plateau",
            { extreme(|it| it.twin, f64::max) },
            "s",
        ),
    ];
    for (id, title, value, unit) in rest {
        if id == "settle-twin" && method.reference != Reference::Twin {
            continue;
        }
        let figure = Figure::new(id, title, value, unit);
        figures.extend(figure.map(|figure| Figure { n: points.len() as u64, ..figure }));
    }
    for &(trimmed, written) in &pairs(method) {
        let id = format!("settling-trimmed-{trimmed}-written-{written}");
        let title = format!("settling time, {trimmed} % trimmed, {written} % written before");
        let is_it = |it: &&Settled| it.percents() == (f64::from(trimmed), f64::from(written));
        let point = points.iter().find(is_it);
        figures.extend(point.and_then(|point| point.figure(&id, &title)));
    }
    Findings { figures, caveats: Vec::new() }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures(method: &Settle) -> Vec<(String, &'static str)> {
    let whole =
        [("settle", "s"), ("settle-slowest", ""), ("settle-lost", "s"), ("settle-trim", "s")];
    let mut figures: Vec<_> = whole.map(|(id, unit)| (id.to_owned(), unit)).into();
    if method.reference == Reference::Twin {
        figures.push(("settle-twin".to_owned(), "s"));
    }
    let point = |(trimmed, written)| format!("settling-trimmed-{trimmed}-written-{written}");
    figures.extend(pairs(method).into_iter().map(|pair| (point(pair), "s")));
    figures
}

/// Percentages of the points: what is trimmed, what was written before.
fn pairs(method: &Settle) -> Vec<(u32, u32)> {
    let percents = |shares: &[trimbench_core::Ppm]| -> Vec<u32> {
        shares.iter().filter_map(|share| whole_percent(*share)).collect()
    };
    let written = percents(&method.written);
    let with_all = |trimmed: u32| written.iter().map(move |written| (trimmed, *written));
    percents(&method.ranges).into_iter().flat_map(with_all).collect()
}

fn verdict(points: &[Settled]) -> String {
    let open = points.iter().filter(|it| it.after.is_none()).count();
    let slowed = points.iter().filter(|it| it.least() > 0.0).count();
    match (open, slowed) {
        (0, 0) => "at its pace at once".to_owned(),
        (0, slowed) => format!("slower after {slowed} of {} TRIMs", points.len()),
        (open, _) => format!("not reached at {open} of {} points", points.len()),
    }
}

impl<'a> Settled<'a> {
    /// Of a step; `best` is the highest plateau of all points.
    fn of(method: &Settle, step: &'a Step, best: f64) -> Option<Self> {
        let rates = rates(step, CURVE)?;
        let own = plateau(&rates)?;
        let slice = *step.parameters.get("slice_s")?;
        let window = slice * rates.len() as f64;
        let smooth = |rates: &[f64]| running_median(rates, method.smoothing);
        let (reference, twin) = match method.reference {
            Reference::Twin => {
                let twin = self::rates(step, TWIN)?;
                let level = vec![plateau(&twin)?; twin.len()];
                let below = last_below(&smooth(&twin), &level);
                (smooth(&twin), below as f64 * slice)
            }
            Reference::Plateau => (vec![own; rates.len()], 0.0),
        };
        let pace = smooth(&rates);
        let below = last_below(&pace, &reference);
        let reached = match method.reference {
            Reference::Twin => {
                let last = pace.len() - pace.len() / 10;
                median(&pace[last..])? >= SETTLED * median(&reference[last..])?
            }
            Reference::Plateau => below <= plateau_from(pace.len()) && own >= SETTLED * best,
        };
        let shares = pace.iter().zip(&reference).filter(|(_, full)| **full > 0.0);
        let slowest = shares.map(|(rate, full)| rate / full).fold(1.0, f64::min);
        let missing = rates.iter().zip(&reference).filter(|(_, full)| **full > 0.0);
        let lost: f64 = missing.map(|(rate, full)| (1.0 - rate / full) * slice).sum();
        let after = reached.then_some(below as f64 * slice);
        Some(Self { step, after, window, lost, slowest, twin })
    }

    /// The settling time, or the window's length where it was not reached.
    fn least(&self) -> f64 {
        self.after.unwrap_or(self.window)
    }

    fn percents(&self) -> (f64, f64) {
        let of = |key| self.step.parameters.get(key).copied().unwrap_or(-1.0);
        (of("trimmed_percent"), of("written_percent"))
    }

    /// Its settling time under this id.
    fn figure(&self, id: &str, title: &str) -> Option<Figure> {
        let mut figure = Figure::new(id, title, self.least(), "s")?;
        figure.n = 1;
        for caveat in self.step.caveats.iter().filter_map(|id| Caveat::from_id(id)) {
            figure.caveat(caveat);
        }
        if self.after.is_none() {
            figure.verdict = Some("not reached".to_owned());
            figure.caveat(Caveat::WindowTooShort);
        }
        if self.twin > 0.0 {
            figure.caveat(Caveat::UnsteadyTwin);
        }
        Some(figure)
    }
}

/// Throughput of each slice; `None` if the step has no such curve.
fn rates(step: &Step, curve: &str) -> Option<Vec<f64>> {
    step.series.get(curve)?.y.iter().copied().collect()
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

/// How many slices there are up to the last that is below the reference, itself included.
fn last_below(pace: &[f64], reference: &[f64]) -> usize {
    let below = |(rate, full): (&f64, &f64)| *rate < SETTLED * full;
    pace.iter().zip(reference).rposition(below).map_or(0, |last| last + 1)
}
