//! Sessions made by hand, for tests.

use std::collections::BTreeMap;

use crate::harm::{Harm, HarmStep};
use crate::metric::{Direction, Metric};
use crate::record::{
    Figure, Interval, Outcome, PlannedSession, Program, RunRecord, SCHEMA, Session,
};

/// A figure without interval.
pub(crate) fn figure(id: &str, value: f64, unit: &'static str) -> Figure {
    let direction = match unit {
        "IOPS" | "MB/s" | "GB/s" => Direction::Higher,
        "B" | "" => Direction::Neither,
        _ => Direction::Lower,
    };
    Metric::member(id, id, unit, direction).measured(value).unwrap()
}

/// A figure with an interval.
pub(crate) fn between(id: &str, (low, value, high): (f64, f64, f64), unit: &'static str) -> Figure {
    Figure { interval: Interval::new(low, high, 0.95), ..figure(id, value, unit) }
}

/// A finished session on an emulated drive, its figures in the roles that those of a method have.
pub(crate) fn session(method: &str, mut figures: Vec<Figure>) -> Session {
    for figure in &mut figures {
        figure.role = crate::record::role(method, &figure.id);
    }
    let plan = PlannedSession {
        method: method.to_owned(),
        target: "sim:x".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let mut session = Session { figures, finished: true, ..Session::planned(plan, 1) };
    session.target.name = "x".to_owned();
    session.state = String::new();
    session
}

/// What a step has that found so many blocks of one harm, and did not look for others.
pub(crate) fn harm_step(harm: Harm, blocks: u64) -> HarmStep {
    let of = |it| (it == harm).then_some(blocks);
    HarmStep {
        neighbour_blocks_lost: of(Harm::NeighboursLost),
        rewritten_blocks_lost: of(Harm::RewrittenLost),
        trimmed_blocks_foreign: of(Harm::ForeignRead),
        trimmed_blocks_against_promise: of(Harm::PromiseBroken),
        unwritten_blocks: of(Harm::WritesLost),
    }
}

/// A complete record of these sessions.
pub(crate) fn record(sessions: Vec<Session>) -> RunRecord {
    RunRecord {
        schema: SCHEMA,
        program: Program {
            name: "trimbench".to_owned(),
            version: "0.0.0".to_owned(),
            commit: "abc".to_owned(),
            model_version: 1,
        },
        run_id: None,
        seed: 1,
        outcome: Outcome::Complete,
        advice: Vec::new(),
        plan: sessions.iter().map(|session| session.plan.clone()).collect(),
        sessions,
    }
}
