use trimbench_engine::Stage;
use trimbench_results::{Figure, Step};
use trimbench_ssd::MODEL_VERSION;

use super::*;

/// Keeps what it is told, in short.
#[derive(Default)]
struct Told {
    steps: Vec<(usize, String)>,
    figures: usize,
    begun: Vec<usize>,
    ended: Vec<(usize, bool)>,
    stages: usize,
}

impl RunMonitor for Told {
    fn session_begins(&mut self, index: usize) {
        self.begun.push(index);
    }

    fn stage(&mut self, _: usize, _: &Stage<'_>) {
        self.stages += 1;
    }

    fn step(&mut self, index: usize, step: &Step) {
        self.steps.push((index, step.id.clone()));
    }

    fn session_ends(&mut self, index: usize, left_out: bool) {
        self.ended.push((index, left_out));
    }

    fn figure(&mut self, _: usize, _: &Figure) {
        self.figures += 1;
    }
}

fn caller() -> RunCaller {
    let program = Program {
        name: "trimbench".to_owned(),
        version: "0.1.0".to_owned(),
        commit: "unknown".to_owned(),
        model_version: MODEL_VERSION,
    };
    RunCaller { program, command: vec!["test".to_owned()] }
}

/// A quick method on two drives.
fn plan() -> Plan {
    let options = PlanOptions {
        methods: vec!["delete-stall".to_owned()],
        targets: vec!["sim:like-rc100".into(), "sim:vendor1".into()],
        settings: vec!["sizes=16MiB,32MiB,64MiB".into(), "span=64MiB".into()],
        capacity: Some(Bytes::gib(1)),
        ..PlanOptions::default()
    };
    Plan::new(&options).unwrap()
}

#[test]
fn a_run_without_a_store_gives_the_record_and_its_monitor_is_told_all_of_it() {
    let (mut told, interrupt) = (Told::default(), Interrupt::default());
    let mut run = OpenRun::new(plan(), caller(), None).unwrap();
    let end = run.measure(&mut told, &interrupt).unwrap();
    assert!(end.result.is_ok() && end.kept.is_ok() && end.host_kept.is_ok());
    let record = run.into_record();
    assert_eq!(record.outcome, Outcome::Complete);
    let steps = |(index, session): (usize, &trimbench_results::Session)| {
        session.steps.iter().map(move |step| (index, step.id.clone())).collect::<Vec<_>>()
    };
    // One session after the other, however they ran.
    assert!(told.steps.is_sorted_by_key(|(index, _)| *index));
    let mut measured: Vec<_> = record.sessions.iter().enumerate().flat_map(steps).collect();
    measured.sort();
    told.steps.sort();
    assert_eq!(told.steps, measured);
    let figures: usize = record.sessions.iter().map(|session| session.figures.len()).sum();
    assert_eq!(told.figures, figures);
    told.begun.sort_unstable();
    told.ended.sort_unstable();
    assert_eq!((told.begun, told.ended), (vec![0, 1], vec![(0, false), (1, false)]));
    assert!(told.stages > 0);
    // Nobody who watches, and no store, changes a byte.
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("run")).unwrap();
    let mut kept = OpenRun::new(plan(), caller(), Some(store)).unwrap();
    kept.measure(&mut (), &interrupt).unwrap();
    assert_eq!(kept.record().to_json(), record.to_json());
    assert_eq!(kept.store().unwrap().load().unwrap().record, record);
}

#[test]
fn of_a_run_that_measured_nothing_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("run")).unwrap();
    let mut run = OpenRun::new(plan(), caller(), Some(store)).unwrap();
    assert!(folder.path().join("run/run.json").is_file());
    let interrupt = Interrupt::default();
    interrupt.request();
    let failure = run.measure(&mut (), &interrupt).unwrap_err();
    assert_eq!(failure.code, exit::INTERRUPTED);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
