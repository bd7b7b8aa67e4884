//! Which methods are worth measuring on a drive: the cheapest that determine the values.
//!
//! The drive is not known yet. So the twin is run at several places, the base and others spread
//! over the ranges, and at each the slopes of a method's figures say how well it would determine
//! each value. Fisher information adds up over methods. Of all sets of methods that determine as
//! many values as all together, the one that takes the least time is chosen.

use nalgebra::{DMatrix, DVector};
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Nanos};
use trimbench_engine::{MethodInfo, TwinUse};

use crate::error::FitError;
use crate::linear::covariance;
use crate::observed::{FigureName, Observed, TwinSession, is_fit_by_name};
use crate::parameter::coordinate_at;
use crate::search::{FIRST_SCATTER, Loss, Search, latin};
use crate::twin::{Outside, Twin};

/// Places at which the twin is run, and seeds at each: what two of them do not agree on is chance.
const PLACES: usize = 4;
const SEEDS: u64 = 2;
/// They lie in the middle of the ranges: so much of each end is left out.
const MARGIN: f64 = 0.2;
/// A value is determined if its logarithm has at most this standard deviation.
const DETERMINED: f64 = 0.15;
/// More candidates have too many sets.
const CANDIDATES_MAX: usize = 12;
/// Cheaper sets may determine so many fewer values, on average over the places.
const FEWER: f64 = 0.2;

/// A method that could be run on the drive, and what it would take there.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The method with its options.
    pub session: TwinSession,
    /// How long it takes.
    pub time: Nanos,
    /// What it writes.
    pub written: Bytes,
}

/// What a set of methods determines.
#[derive(Clone, Debug)]
pub struct MethodChoice {
    /// Which of the candidates are chosen.
    pub chosen: Vec<usize>,
    /// For each value: its key, at how many of the places the chosen determine it, and at how many
    /// all candidates do.
    pub determined: Vec<(String, usize, usize)>,
    /// How many places there were.
    pub places: usize,
}

impl Candidate {
    /// Whether figures of this method are fitted to at all.
    pub fn is_of_use(method: &MethodInfo) -> bool {
        method.twin != TwinUse::Never
    }
}

/// Chooses among candidates for what is searched for on `twin`.
///
/// # Errors
/// [`FitError::NoTwin`] if no candidate gives a figure, [`FitError::Interrupted`].
pub fn choose(
    twin: &Twin,
    candidates: &[Candidate],
    (seed, outside): (u64, Outside<'_>),
) -> Result<MethodChoice, FitError> {
    let candidates = &candidates[..candidates.len().min(CANDIDATES_MAX)];
    let sessions = candidates.iter().map(|candidate| candidate.session.clone()).collect();
    let twin = twin.with_sessions(sessions);
    let figures = figures_of(&twin, (seed, outside))?;
    let search = |number| {
        let seed = seed.wrapping_add(7_919 * number);
        Search::new(&twin, figures.iter().collect(), (seed, outside))
    };
    let searches: Vec<Search<'_>> = (0..SEEDS).map(search).collect();
    let mut at_places = Vec::new();
    for place in places(&twin, seed) {
        at_places.push(information_at(&searches, &place, candidates.len())?);
    }
    let determined_by = |set: usize| -> Vec<Vec<bool>> {
        at_places.iter().map(|place| place.determined(&twin, set)).collect()
    };
    let count = |places: &[Vec<bool>]| places.iter().flatten().filter(|it| **it).count() as f64;
    let all = (1_usize << candidates.len()) - 1;
    let (by_all, allowed) = (determined_by(all), FEWER * at_places.len() as f64);
    let cost = |set: usize| {
        let of = || members(set).map(|it| &candidates[it]);
        (of().map(|it| it.time.0).sum::<u64>(), of().map(|it| it.written.0).sum::<u64>())
    };
    let enough = |set: &usize| count(&determined_by(*set)) + allowed >= count(&by_all);
    let best = (1..=all).filter(enough).min_by_key(|set| cost(*set)).unwrap_or(all);
    let by_best = determined_by(best);
    let determined = twin.parameters().iter().enumerate().map(|(number, parameter)| {
        let places = |by: &[Vec<bool>]| by.iter().filter(|place| place[number]).count();
        (parameter.key.clone(), places(&by_best), places(&by_all))
    });
    Ok(MethodChoice {
        determined: determined.collect(),
        chosen: members(best).collect(),
        places: at_places.len(),
    })
}

/// The candidates of a set.
fn members(set: usize) -> impl Iterator<Item = usize> {
    (0..CANDIDATES_MAX).filter(move |number| set & (1 << number) != 0)
}

/// The figures that the twin gives at its base, with these values.
fn figures_of(twin: &Twin, (seed, outside): (u64, Outside<'_>)) -> Result<Vec<Observed>, FitError> {
    let points = [crate::TwinPoint { coordinates: twin.begin(), seed }];
    let found = twin.run(&points, outside)?.remove(0);
    let mut figures = Vec::new();
    let mut problem = String::new();
    for (number, (session, found)) in twin.sessions().iter().zip(found).enumerate() {
        let found = match found {
            Ok(found) => found,
            Err(reason) => {
                problem = reason.to_string();
                continue;
            }
        };
        let is_fit = |id: &str| is_fit_by_name(id) && session.holds(id);
        let fit = found.into_iter().filter(|(id, value)| *value > 0.0 && is_fit(id));
        figures.extend(fit.map(|(figure, value)| Observed {
            name: FigureName { method: session.method.id, figure },
            session: number,
            value,
            unit: String::new(),
            deviation: 0.0,
            doubt: 0.0,
            set_aside: false,
        }));
    }
    if figures.is_empty() {
        return Err(FitError::NoTwin { reason: problem });
    }
    Ok(figures)
}

/// The base, and others in the middle of the ranges.
fn places(twin: &Twin, seed: u64) -> Vec<DVector<f64>> {
    let mut rng = Rng::new(seed).split("choice");
    let mut places = vec![DVector::from_vec(twin.begin())];
    let inner = |share: f64| coordinate_at(MARGIN + (1.0 - 2.0 * MARGIN) * share);
    let others = latin(PLACES - 1, twin.parameters().len(), &mut rng);
    places.extend(others.into_iter().map(|shares| shares.map(inner)));
    places
}

/// Fisher information of each candidate at a place.
struct Information {
    place: DVector<f64>,
    by_candidate: Vec<DMatrix<f64>>,
}

fn information_at(
    searches: &[Search<'_>],
    place: &DVector<f64>,
    candidates: usize,
) -> Result<Information, FitError> {
    let mut slopes: Option<DMatrix<f64>> = None;
    for search in searches {
        let here =
            search.logarithms(&search.at(std::slice::from_ref(place)), Loss::Squares)?.remove(0);
        let mut found = search.slopes((place, &here), Loss::Squares)?;
        for (mut row, here) in found.row_iter_mut().zip(here.iter()) {
            if !Search::is_near(*here) {
                row.fill(0.0);
            }
        }
        slopes = Some(match slopes {
            Some(before) => before.zip_map(&found, agreed),
            None => found,
        });
    }
    let slopes = slopes.expect("there is a seed") / FIRST_SCATTER;
    let mut by_candidate = vec![DMatrix::zeros(place.len(), place.len()); candidates];
    for (figure, row) in searches[0].figures.iter().zip(slopes.row_iter()) {
        by_candidate[figure.session] += row.transpose() * row;
    }
    Ok(Information { place: place.clone(), by_candidate })
}

/// What two slopes have in common.
fn agreed(one: f64, other: f64) -> f64 {
    if one * other <= 0.0 {
        return 0.0;
    }
    one.abs().min(other.abs()).copysign(one)
}

impl Information {
    /// Which values these candidates determine.
    fn determined(&self, twin: &Twin, set: usize) -> Vec<bool> {
        let count = self.place.len();
        let mut information = DMatrix::zeros(count, count);
        for number in members(set) {
            information += &self.by_candidate[number];
        }
        let covariance = covariance(information);
        let parameters = twin.parameters().iter().enumerate();
        let determined = parameters.map(|(number, parameter)| {
            let deviation = covariance[(number, number)].sqrt();
            deviation * parameter.slope(self.place[number]) <= DETERMINED
        });
        determined.collect()
    }
}
