//! Lost and falsified data, from every session: finished or not, valid or not.
//!
//! A session that did not finish has steps and mostly no figures; both count here. So such a
//! session speaks against TRIM, and nowhere for it.

use super::Reason;
use super::facts::{Facts, Found};
use crate::harm::Harm;
use crate::number::ShownFigure;
use crate::record::{Session, Step};

/// Data that TRIM destroyed or mixed up.
pub(super) fn by_trim(facts: &Facts<'_>) -> Vec<Reason> {
    reasons(facts, Harm::is_by_trim)
}

/// Why the drive cannot be relied on, although TRIM destroyed nothing.
pub(super) fn by_drive(facts: &Facts<'_>) -> Vec<Reason> {
    reasons(facts, |harm| !harm.is_by_trim())
}

fn reasons(facts: &Facts<'_>, counts: impl Fn(Harm) -> bool) -> Vec<Reason> {
    let all = Harm::ALL.into_iter().filter(|harm| counts(*harm));
    all.filter_map(|harm| Some(Evidence::worst(facts, harm)?.reason(harm))).collect()
}

/// What one session says of a harm.
struct Evidence<'a> {
    index: usize,
    session: &'a Session,
    blocks: f64,
    figure: Option<Found<'a>>,
    steps: Vec<&'a Step>,
}

impl<'a> Evidence<'a> {
    /// That of the session which found most.
    fn worst(facts: &Facts<'a>, harm: Harm) -> Option<Self> {
        let of = facts.all_sessions().map(|it| Self::of(facts, it, harm));
        let found = of.filter(|evidence| evidence.blocks > 0.0);
        found.reduce(|worst, other| if other.blocks > worst.blocks { other } else { worst })
    }

    fn of(facts: &Facts<'a>, (index, session): (usize, &'a Session), harm: Harm) -> Self {
        let role = harm.role();
        let figure = role.and_then(|role| facts.within((index, session), &role));
        let steps = session.steps.iter().filter(|step| harm.of_step(step) > 0.0);
        let by_figure = figure.map_or(0.0, |found| found.value());
        let blocks = harm.of_steps(session).max(by_figure);
        Self { index, session, blocks, figure, steps: steps.collect() }
    }

    fn reason(&self, harm: Harm) -> Reason {
        let number = ShownFigure::of(self.blocks, None, "blocks").number;
        let short = format!("{number} {}", harm.words());
        let text = match self.steps.first() {
            Some(step) if !self.session.finished => format!(
                "{short}, first in the step `{}` of `{}`, which did not finish",
                step.id, self.session.plan.method
            ),
            _ => short.clone(),
        };
        let figures: Vec<Found<'_>> = self.figure.into_iter().collect();
        let steps = self.steps.iter().map(|step| (self.index, step.id.clone())).collect();
        Reason { steps, ..Reason::new(text, &figures) }.in_short(short)
    }
}
