use std::collections::BTreeMap;

use trimbench_engine::Preset;
use trimbench_results::{
    Direction, Figure, Metric, Outcome, PlannedSession, Program, RunRecord, Session, TargetRecord,
};

use super::*;

/// A record of a format, with a figure of each metric of a method.
fn record(schema: u32, method: &str, figures: Vec<Figure>) -> RunRecord {
    let text = str::to_owned;
    let plan = PlannedSession {
        method: text(method),
        target: text("sim:x"),
        preset: text("quick"),
        options: BTreeMap::new(),
    };
    let target = TargetRecord {
        name: text("x"),
        kind: text("emulated"),
        clock: text("virtual"),
        identity: BTreeMap::new(),
        capabilities: BTreeMap::new(),
        provenance: None,
    };
    let session = Session {
        plan: plan.clone(),
        method_version: 1,
        target,
        state: String::new(),
        environment_before: BTreeMap::new(),
        environment_after: BTreeMap::new(),
        steps: Vec::new(),
        figures,
        caveats: Vec::new(),
        trace_hash: None,
        finished: true,
        left_out: None,
    };
    let (name, version, commit) = (text("trimbench"), text("0.0.0"), text("0"));
    let program = Program { name, version, commit, model_version: 1 };
    let (plan, sessions) = (vec![plan], vec![session]);
    RunRecord { schema, program, seed: 1, outcome: Outcome::Complete, plan, sessions }
}

/// Metrics of today; one that is newer than a format has nothing to agree with.
#[test]
fn records_of_older_formats_are_read_with_what_the_metrics_say() {
    for info in METHODS {
        for preset in Preset::ALL {
            let metrics = info.resolve(preset, &BTreeMap::new()).unwrap().metrics();
            let now: Vec<Figure> = metrics.iter().filter_map(|it| it.measured(1.0)).collect();
            let bare = |figure: &Figure| Figure { direction: Direction::Neither, ..figure.clone() };
            let old = record(1, info.id, now.iter().map(bare).collect());
            let read = RunRecord::from_json(&old.to_json()).unwrap();
            assert_eq!(read.sessions[0].figures, now);
        }
    }
}

#[test]
fn every_metric_has_an_id_of_its_own() {
    for info in METHODS {
        let metrics = info.resolve(Preset::Standard, &BTreeMap::new()).unwrap().metrics();
        for (index, Metric { id, .. }) in metrics.iter().enumerate() {
            assert!(!metrics[..index].iter().any(|other| other.id == *id), "{id}");
        }
        assert!(metrics.iter().any(|metric| metric.headline), "{}", info.id);
    }
}
