//! Sessions made by hand, for tests.

use std::collections::BTreeMap;

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
