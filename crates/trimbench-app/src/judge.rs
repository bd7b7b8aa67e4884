//! How the limits of a plan fared in the record of its run, in words.

use trimbench_results::limits::{JudgedLimit, LimitError, LimitOutcome, evaluate};
use trimbench_results::{Figure, Limit, RunRecord, Session as SessionRecord, VerdictOutcome};

use crate::plan::Plan;

/// Nearer to a limit than this share, a figure is also said in full.
const NEAR: f64 = 0.01;

/// How all limits fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Each limit where it was judged, and each demand of a method that failed.
    pub limits: Vec<JudgedLimit>,
    /// Whether none failed.
    pub holds: bool,
}

impl Plan {
    /// Judges the limits, and what the methods demand. An error where no session has a figure that
    /// a limit names.
    pub fn judge(&self, record: &RunRecord) -> Result<Judgement, LimitError> {
        let concerns = |limit: &Limit, session: &SessionRecord| {
            let planned = self.sessions.iter().find(|planned| planned.planned == session.plan);
            let metrics = planned.map(|planned| planned.method.metrics());
            let named = metrics.into_iter().flatten().any(|it| limit.names(&it.id));
            named && session.left_out.is_none()
        };
        let outcomes = evaluate(record, &self.limits, concerns)?;
        let finished =
            |limit: &Limit, session: &SessionRecord| session.finished && concerns(limit, session);
        let demanded = evaluate(record, &self.demands, finished).unwrap_or_default();
        let failed = demanded.iter().filter(|outcome| !outcome.holds);
        let mut limits: Vec<JudgedLimit> =
            outcomes.iter().chain(failed).map(|outcome| judged(record, outcome)).collect();
        let verdicts: Vec<VerdictOutcome> =
            self.verdicts.iter().flat_map(|limit| limit.judge(record)).collect();
        limits.extend(verdicts.iter().map(|outcome| JudgedLimit {
            limit: outcome.limit.to_string(),
            place: outcome.place.clone(),
            found: outcome.found.clone(),
            holds: Some(outcome.holds),
        }));
        let holds = outcomes.iter().chain(&demanded).all(|outcome| outcome.holds)
            && verdicts.iter().all(|outcome| outcome.holds);
        Ok(Judgement { limits, holds })
    }
}

/// The figure that a limit judged, as it is shown everywhere; in full where its rounding hides on
/// which side of the limit it is.
fn judged_value(figure: &Figure, outcome: &LimitOutcome) -> String {
    let shown = figure.shown().quantity();
    let limit = &outcome.limit;
    let near = |value: &f64| {
        let apart = (value - limit.value).abs();
        apart > 0.0 && apart < limit.value.abs() * NEAR
    };
    match outcome.value.filter(near) {
        Some(value) => format!("{shown}, exactly {value} {}", limit.unit).trim_end().to_owned(),
        None => shown,
    }
}

/// How one limit fared on one target.
fn judged(record: &RunRecord, outcome: &LimitOutcome) -> JudgedLimit {
    let session = record.sessions.get(outcome.session);
    let place = session.map_or_else(String::new, |session| {
        format!("{} on {}", session.plan.method, session.target.name)
    });
    let figures = session.into_iter().flat_map(|session| &session.figures);
    let judged = figures.into_iter().find(|figure| Some(&figure.id) == outcome.figure.as_ref());
    let value = judged.map_or_else(|| "not measured".to_owned(), |it| judged_value(it, outcome));
    // A limit on a slope says nothing of a stall that is the same for every size.
    let remark = judged.and_then(Figure::words);
    let reason = outcome.unmeasured.map(|caveat| format!("{}: {}", caveat.id(), caveat.meaning()));
    let remark = remark.or(reason).map_or_else(String::new, |remark| format!(" ({remark})"));
    JudgedLimit {
        limit: outcome.limit.to_string(),
        place,
        found: format!("{value}{remark}"),
        holds: outcome.unmeasured.is_none().then_some(outcome.holds),
    }
}
