//! Lost and falsified data, from every session: finished or not, valid or not.
//!
//! A session that did not finish has steps and mostly no figures; both count here. So such a
//! session speaks against TRIM, and nowhere for it.
//!
//! Data that were lost while others used or exchanged the target accuse nobody: they may have
//! written over them. They leave no recommendation all the same.

use trimbench_core::Caveat;

use super::Reason;
use super::facts::{Facts, Found};
use crate::harm::Harm;
use crate::number::ShownFigure;
use crate::record::{Session, Step};

/// Data that TRIM destroyed or mixed up.
pub(super) fn by_trim(facts: &Facts<'_>) -> Vec<Reason> {
    reasons(facts, |harm, session| harm.is_by_trim() && !was_shared(session))
}

/// Why the drive cannot be relied on, although TRIM destroyed nothing.
pub(super) fn by_drive(facts: &Facts<'_>) -> Vec<Reason> {
    reasons(facts, |harm, session| !harm.is_by_trim() || was_shared(session))
}

fn reasons(facts: &Facts<'_>, counts: impl Fn(Harm, &Session) -> bool) -> Vec<Reason> {
    let worst = |harm| Evidence::worst(facts, harm, |session| counts(harm, session));
    Harm::ALL.into_iter().filter_map(|harm| Some(worst(harm)?.reason(harm))).collect()
}

/// Whether others used or exchanged the target of a session.
fn was_shared(session: &Session) -> bool {
    session.has_caveat(Caveat::TargetChanged)
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
    fn worst(facts: &Facts<'a>, harm: Harm, counts: impl Fn(&Session) -> bool) -> Option<Self> {
        let sessions = facts.all_sessions().filter(|(_, session)| counts(session));
        let of = sessions.map(|it| Self::of(facts, it, harm));
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
        let shared = if was_shared(self.session) { ", while others used the target" } else { "" };
        let text = format!("{text}{shared}");
        let figures: Vec<Found<'_>> = self.figure.into_iter().collect();
        let steps = self.steps.iter().map(|step| (self.index, step.id.clone())).collect();
        Reason { steps, ..Reason::new(text, &figures) }.in_short(short)
    }
}
