use std::collections::{BTreeMap, VecDeque};

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Capabilities, Interrupt, Opened, Virtual};
use trimbench_results::{Direction, Figure, Metric, PlannedSession, Session};
use trimbench_trace::NoTraces;

use super::*;
use crate::method::session::{KeepFailed, MethodSession, Monitor, SessionContext, Stage};
use crate::method::{self, Demand, Findings, Method, MethodError, MethodResult, Misfit};
use crate::slots::Slots;
use crate::testing::Toy;

/// Measures three steps, and computes its only figure from the first.
#[derive(Debug)]
struct ThreeSteps {
    measures_time: bool,
}

impl Method for ThreeSteps {
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn space(&self) -> Bytes {
        Bytes(0)
    }

    fn demand(&self, _: Bytes, _: u64) -> Demand {
        Demand { written: Bytes(0), time: Nanos::ZERO }
    }

    fn fits(&self, _: &Capabilities) -> Result<(), Misfit> {
        Ok(())
    }

    fn measures_time(&self) -> bool {
        self.measures_time
    }

    fn run(&self, _: Opened<'_>, session: &mut MethodSession<'_>) -> Result<(), MethodError> {
        for id in ["one", "two", "three"] {
            if !session.is_done(id) {
                session.keep(Step::new(id, "step"))?;
            }
        }
        Ok(())
    }

    fn analyse(&self, _: &mut Vec<Step>, _: &Rng) -> Findings {
        let rate = Metric::new("rate", "a rate", "MB/s", Direction::Higher);
        Findings::new(rate.measured(1.0).into_iter().collect(), Vec::new())
    }
}

/// Tells of these pauses, one after the other.
struct Paused(VecDeque<OwnPauses>);

impl Monitor for Paused {
    fn stage(&mut self, _: &Stage<'_>) {}

    fn keep(&mut self, _: &Step) -> Result<(), KeepFailed> {
        Ok(())
    }

    fn own_pauses(&mut self) -> OwnPauses {
        self.0.pop_front().expect("the session asks once a step")
    }
}

fn pauses(watched_ms: u64, longest_us: u64, total_us: u64) -> OwnPauses {
    let watched = Nanos::from_millis(watched_ms);
    OwnPauses {
        watched,
        longest: Nanos::from_micros(longest_us),
        total: Nanos::from_micros(total_us),
    }
}

fn run(method: &ThreeSteps, told: Vec<OwnPauses>, done: Vec<Step>) -> MethodResult {
    let (mut toy, mut monitor) = (Virtual::new(Toy::new()), Paused(told.into()));
    let context = SessionContext {
        rng: &Rng::new(1),
        interrupt: &Interrupt::default(),
        monitor: &mut monitor,
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done,
    };
    method::run(method, Opened::Device(&mut toy), context).unwrap()
}

/// The ids of the marked steps, and the caveats on the session.
fn marks(result: &MethodResult) -> (Vec<&str>, &[Caveat]) {
    let paused = |step: &&Step| step.caveats.contains(&Caveat::Paused.id().to_owned());
    let steps = result.steps.iter().filter(paused).map(|step| step.id.as_str()).collect();
    (steps, &result.caveats)
}

#[test]
fn one_long_pause_or_many_short_ones_mark_a_step() {
    let is_marked = |pauses| {
        let mut step = Step::new("one", "step");
        mark(&mut step, pauses);
        let is_marked = !step.caveats.is_empty();
        assert_eq!(step.read::<OwnPauseStep>().is_ok(), is_marked);
        is_marked
    };
    // One pause, whatever its share.
    assert!(!is_marked(pauses(3_600_000, 19_999, 19_999)));
    assert!(is_marked(pauses(3_600_000, 20_000, 20_000)));
    // Many, by their share.
    assert!(!is_marked(pauses(10_000, 4_000, 100_000)));
    assert!(is_marked(pauses(10_000, 4_000, 100_001)));
    // A short step: some milliseconds are normal.
    assert!(!is_marked(pauses(100, 4_000, 49_999)));
    assert!(is_marked(pauses(100, 4_000, 50_000)));
    assert!(!is_marked(OwnPauses::default()));
}

#[test]
fn a_pause_in_any_step_invalidates_every_figure() {
    let (none, long) = (pauses(1_000, 0, 0), pauses(1_000, 400_000, 410_000));
    let quiet = run(&ThreeSteps { measures_time: true }, vec![none; 3], Vec::new());
    assert_eq!(marks(&quiet), (vec![], &[][..]));
    let told = vec![none, long, none];
    let paused = run(&ThreeSteps { measures_time: true }, told, Vec::new());
    assert_eq!(marks(&paused), (vec!["two"], &[Caveat::Paused][..]));
    let told: OwnPauseStep = paused.steps[1].read().unwrap();
    assert!((told.own_pause_s_max - 0.4).abs() < 1e-12);
    assert!((told.own_pause_s_sum - 0.41).abs() < 1e-12);
    let figure: &Figure = &paused.figures[0];
    let plan = PlannedSession {
        method: "three-steps".to_owned(),
        target: "toy".to_owned(),
        preset: "quick".to_owned(),
        options: BTreeMap::new(),
    };
    let mut session = Session::planned(plan, 1);
    session.caveats = paused.caveats.iter().map(|caveat| caveat.id().to_owned()).collect();
    assert!(figure.is_valid() && !session.believes(figure));
}

#[test]
fn a_step_that_an_earlier_run_marked_still_invalidates() {
    let none = pauses(1_000, 0, 0);
    let mut earlier = Step::new("one", "step");
    earlier.caveat(Caveat::Paused);
    let result = run(&ThreeSteps { measures_time: true }, vec![none; 2], vec![earlier]);
    assert_eq!(marks(&result), (vec!["one"], &[Caveat::Paused][..]));
}

#[test]
fn pauses_are_no_matter_where_time_is_not_measured() {
    let long = pauses(1_000, 400_000, 400_000);
    let result = run(&ThreeSteps { measures_time: false }, vec![long; 3], Vec::new());
    assert_eq!(marks(&result), (vec![], &[][..]));
}
