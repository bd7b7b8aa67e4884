//! What a fit found: values, figures, predictions, and the profile.

use serde::Serialize;
use trimbench_core::Bytes;
use trimbench_core::rng::Rng;
use trimbench_ssd::{Origin, Profile, ProfileValue};

use crate::error::FitError;
use crate::interval::{Determined, Known, next_of, quantile};
use crate::observed::{FigureName, Observations, Observed, TwinSession};
use crate::search::{Search, logarithm};
use crate::twin::{Outside, SessionFigures, Twin, TwinPoint, settings_text};

/// Twins that might be the true one, by which predictions get their intervals.
const DRAWN: usize = 8;
/// Seeds of the best twin, by which predictions get their value.
const SEEDS: usize = 3;
/// A figure that is off by more of its scatters than this contradicts the others.
const CONTRADICTS: f64 = 4.0;
/// ... if it is off by more than this, too.
const NOTICED: f64 = 0.05;

/// Why a figure was left out.
const NO_FIGURE: &str = "the twin has no such figure above 0, or only with some values";

/// What a figure was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// The values were fitted to it.
    Fitted,
    /// The twin's was too far off for that: no values in reach give it.
    TooFarOff,
    /// It was set aside, and so predicted.
    SetAside,
    /// Nobody has measured it.
    Predicted,
}

/// A value that was searched for.
#[derive(Clone, Debug, Serialize)]
pub struct FittedParameter {
    /// Table and key, as `nand.read`.
    pub key: String,
    /// The best value, as a profile has it.
    pub value: String,
    /// The ends of its interval of 95 %, likewise.
    pub low: String,
    /// Likewise.
    pub high: String,
    /// `yes`, `at-most`, `at-least` or `no`.
    pub determined: &'static str,
    /// Best value and ends in ns, bytes or millionths.
    pub numbers: [f64; 3],
}

/// A figure, and what the twin says of it.
#[derive(Clone, Debug, Serialize)]
pub struct FittedFigure {
    /// Method and figure, as `steady-state.steady-iops`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// What was measured, if it was.
    pub measured: Option<f64>,
    /// The twin's: the mean over seeds.
    pub twin: f64,
    /// The interval of 95 % of the next measurement, of what is predicted.
    pub interval: Option<[f64; 2]>,
    /// What it was used for.
    pub used: Use,
    /// How many of its scatters it is off; 0 where it was not fitted to.
    pub off: f64,
}

/// What a fit found.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// The drive, as its records name it.
    pub drive: String,
    /// The emulated drive that it began with.
    pub base: String,
    /// The twin's capacity, bytes.
    pub capacity: u64,
    /// Of the search.
    pub seed: u64,
    /// Runs of all sessions of the twin.
    pub runs: usize,
    /// The values.
    pub parameters: Vec<FittedParameter>,
    /// The figures.
    pub figures: Vec<FittedFigure>,
    /// Mean of |ln(twin / measured)| over the figures that were fitted to.
    pub error: f64,
    /// Chi-square over the degrees of freedom: about 1 where the twin follows the figures.
    pub misfit: f64,
    /// Sessions and figures that were not used, and why.
    pub left_out: Vec<(String, String)>,
    #[serde(skip)]
    profile: Vec<ProfileValue>,
    /// Twins that might be the true one: the settings of each.
    pub drawn: Vec<Vec<(String, String)>>,
}

/// What figures sessions of the best twin and of those that might be the true one gave.
struct Runs {
    best: Vec<Vec<SessionFigures>>,
    drawn: Vec<Vec<SessionFigures>>,
}

impl Runs {
    /// Value and interval of a figure.
    fn figure(&self, session: usize, id: &str) -> Option<(f64, Option<[f64; 2]>)> {
        let of = |sessions: &Vec<SessionFigures>| {
            sessions[session].as_ref().ok()?.get(id).filter(|value| **value > 0.0).map(|it| it.ln())
        };
        let best: Vec<f64> = self.best.iter().filter_map(of).collect();
        let mean = best.iter().sum::<f64>() / best.len() as f64;
        let drawn: Vec<f64> = self.drawn.iter().filter_map(of).collect();
        let value = mean.is_finite().then(|| mean.exp())?;
        if drawn.len() < 2 {
            return Some((value, None));
        }
        // Around the best twin, not around their own mean, which chance moves.
        let squares: f64 = drawn.iter().map(|it| (it - mean).powi(2)).sum();
        let half =
            quantile(drawn.len() + 1) * (squares / drawn.len() as f64).sqrt() * next_of(best.len());
        Some((value, Some([(mean - half).exp(), (mean + half).exp()])))
    }
}

impl Fit {
    pub(crate) fn new(
        search: &Search<'_>,
        known: &Known<'_>,
        observations: &Observations,
        rng: &Rng,
    ) -> Result<Self, FitError> {
        let twin = search.twin;
        let parameters: Vec<FittedParameter> =
            twin.parameters().iter().zip(&known.values).map(parameter).collect();
        let mut draws = rng.split("drawn");
        let drawn: Vec<Vec<f64>> =
            (0..DRAWN).map(|_| known.drawn(search, &mut draws).iter().copied().collect()).collect();
        let mut figures = fitted_figures(known);
        let mut left_out = observations.left_out.clone();
        for figure in lacking(known, observations) {
            match given(known, figure).filter(|off| !Search::is_near(*off)) {
                Some(off) => {
                    let twin = figure.value * off.exp();
                    figures.push(FittedFigure::of(figure, twin, Use::TooFarOff));
                }
                None => left_out.push((figure.name.to_string(), NO_FIGURE.to_owned())),
            }
        }
        let aside: Vec<_> = observations.figures.iter().filter(|it| it.set_aside).collect();
        if !aside.is_empty() {
            let runs = runs(search, known, &drawn)?;
            figures.extend(aside.into_iter().filter_map(|it| {
                let (twin, interval) = runs.figure(it.session, &it.name.figure)?;
                Some(FittedFigure { interval, ..FittedFigure::of(it, twin, Use::SetAside) })
            }));
        }
        let profile = profile_values(twin, &parameters, observations);
        let settings = |drawn: &Vec<f64>| twin.settings(drawn);
        Ok(Self {
            drive: observations.drive.clone(),
            base: twin.base().to_owned(),
            capacity: twin.capacity().0,
            seed: search.seed,
            runs: search.runs(),
            error: known.error(),
            misfit: known.misfit,
            left_out,
            drawn: drawn.iter().map(settings).collect(),
            parameters,
            figures,
            profile,
        })
    }

    /// Runs other sessions on the best twin and on those that might be the true one, and adds their
    /// figures, as predictions.
    pub fn predict(
        &mut self,
        sessions: &[TwinSession],
        outside: Outside<'_>,
    ) -> Result<(), FitError> {
        let capacity = Bytes(self.capacity);
        let best = self.parameters.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
        let base = &self.base;
        let run = |settings: &Vec<(String, String)>, seeds: usize| {
            let base = base.clone() + &settings_text(settings);
            let twin = Twin::new(&base, capacity, Vec::new(), sessions.to_vec())?;
            let seed = |number| self.seed.wrapping_add(7_919 * (number as u64 + 1));
            let point = |number| TwinPoint { coordinates: Vec::new(), seed: seed(number) };
            twin.run(&(0..seeds).map(point).collect::<Vec<_>>(), outside)
        };
        let best = run(&best, SEEDS)?;
        if let Some(reason) = best[0].iter().find_map(|session| session.as_ref().err()) {
            return Err(FitError::NoTwin { reason: reason.to_string() });
        }
        let drawn: Result<Vec<_>, _> = self.drawn.iter().map(|it| run(it, 1)).collect();
        let runs = Runs { best, drawn: drawn?.into_iter().flatten().collect() };
        for (number, session) in sessions.iter().enumerate() {
            let Ok(found) = &runs.best[0][number] else { continue };
            for id in found.keys() {
                let Some((twin, interval)) = runs.figure(number, id) else { continue };
                let name = FigureName { method: session.method.id, figure: id.clone() };
                let figure = FittedFigure {
                    name: name.to_string(),
                    unit: unit_of(session, id),
                    measured: None,
                    twin,
                    interval,
                    used: Use::Predicted,
                    off: 0.0,
                };
                self.figures.push(figure);
            }
        }
        Ok(())
    }

    /// The text of the drive's profile.
    pub fn profile(&self, name: &str) -> String {
        let summary = format!(
            "A twin of {} on top of {}: off by {:.1} % in the figures that it was fitted to",
            self.drive,
            self.base,
            100.0 * (self.error.exp() - 1.0)
        );
        Profile::text_of(name, &summary, &self.profile)
    }

    /// The figures that contradict all others, as far as the twin can follow them: the worst first.
    pub fn contradictions(&self) -> Vec<&FittedFigure> {
        let scatters = |it: &FittedFigure| match it.used {
            Use::TooFarOff => f64::INFINITY,
            Use::Fitted if it.error().is_some_and(|error| error.abs() > NOTICED) => it.off.abs(),
            Use::Fitted | Use::SetAside | Use::Predicted => 0.0,
        };
        let is_off = |it: &&FittedFigure| scatters(it) > CONTRADICTS;
        let mut found: Vec<&FittedFigure> = self.figures.iter().filter(is_off).collect();
        found.sort_by(|one, two| scatters(two).total_cmp(&scatters(one)));
        found
    }
}

impl FittedFigure {
    /// One that was measured, without interval.
    fn of(figure: &Observed, twin: f64, used: Use) -> Self {
        Self {
            name: figure.name.to_string(),
            unit: figure.unit.clone(),
            measured: Some(figure.value),
            twin,
            interval: None,
            used,
            off: 0.0,
        }
    }

    /// Whether the values should give it: it was neither set aside nor predicted.
    pub fn counts(&self) -> bool {
        matches!(self.used, Use::Fitted | Use::TooFarOff)
    }

    /// ln(twin / measured), if it was measured.
    pub fn error(&self) -> Option<f64> {
        Some((self.twin / self.measured?).ln())
    }
}

fn parameter(
    (parameter, known): (&crate::Parameter, &crate::interval::Knowledge),
) -> FittedParameter {
    FittedParameter {
        key: parameter.key.clone(),
        value: parameter.text(known.value),
        low: parameter.text(known.low),
        high: parameter.text(known.high),
        determined: match known.determined {
            Determined::Yes => "yes",
            Determined::AtMost => "at-most",
            Determined::AtLeast => "at-least",
            Determined::No => "no",
        },
        numbers: [known.value, known.low, known.high],
    }
}

fn fitted_figures(known: &Known<'_>) -> Vec<FittedFigure> {
    let of = |(at, figure): (usize, &&Observed)| {
        let logarithm = known.logarithms[at];
        let off = logarithm / known.surface.chances[at];
        let twin = figure.value * logarithm.exp();
        FittedFigure { off, ..FittedFigure::of(figure, twin, Use::Fitted) }
    };
    known.surface.figures.iter().enumerate().map(of).collect()
}

fn runs(search: &Search<'_>, known: &Known<'_>, drawn: &[Vec<f64>]) -> Result<Runs, FitError> {
    let point = |(number, coordinates): (usize, &Vec<f64>)| TwinPoint {
        coordinates: coordinates.clone(),
        seed: search.seed_of(100 + number),
    };
    let points: Vec<TwinPoint> = drawn.iter().enumerate().map(point).collect();
    Ok(Runs { best: known.runs.clone(), drawn: search.run(&points)? })
}

/// The figures that the last surface has not, though they were not set aside.
fn lacking<'b>(
    known: &'b Known<'_>,
    observations: &'b Observations,
) -> impl Iterator<Item = &'b Observed> {
    let figures = observations.figures.iter().filter(|figure| !figure.set_aside);
    figures.filter(|figure| !known.surface.figures.iter().any(|used| used.name == figure.name))
}

/// ln(twin / measured) of a figure at the best point, by the first seed that gives it.
fn given(known: &Known<'_>, figure: &Observed) -> Option<f64> {
    known.runs.iter().find_map(|sessions| logarithm(figure, sessions))
}

/// The values of the base with those that were found.
fn profile_values(
    twin: &Twin,
    parameters: &[FittedParameter],
    observations: &Observations,
) -> Vec<ProfileValue> {
    let mut values = twin.profile().values.clone();
    for value in &mut values {
        if value.origin == Origin::Set {
            (value.origin, value.source) = (Origin::Assumed, "set for the fit".to_owned());
        }
        if value.key == "drive.capacity" {
            value.value = twin.capacity().to_string();
            "a scaling, by which the twin was fitted; --capacity sets it"
                .clone_into(&mut value.source);
            value.origin = Origin::Assumed;
        }
        let Some(found) = parameters.iter().find(|found| found.key == value.key) else { continue };
        let (low, high) = (&found.low, &found.high);
        let known = match found.determined {
            "yes" => format!("95 %: {low} to {high}"),
            "at-most" => format!("not determined, at most {high}"),
            "at-least" => format!("not determined, at least {low}"),
            _ => "not determined by these figures".to_owned(),
        };
        value.value.clone_from(&found.value);
        value.origin = if found.determined == "no" { Origin::Assumed } else { Origin::Fitted };
        value.source = format!("`trimbench fit` to {}: {known}", observations.drive);
    }
    values
}

fn unit_of(session: &TwinSession, id: &str) -> String {
    let metrics = session.metrics();
    metrics.into_iter().find(|metric| metric.id == id).map_or(String::new(), |it| it.unit.into())
}
