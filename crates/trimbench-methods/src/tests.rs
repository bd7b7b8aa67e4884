use std::collections::BTreeMap;

use trimbench_engine::Preset;
use trimbench_results::{Chart, Direction, Figure, Metric, RunRecord};

use super::*;

/// Any record.
const RECORD: &[u8] = include_bytes!("../../trimbench-results/src/advice/golden/four-drives.json");

/// The methods that there were when records had formats 1 and 2: the list does not grow.
const OF_OLDER_FORMATS: [&str; 11] = [
    "delete-stall",
    "trim-sweep",
    "idle-trim",
    "recovery",
    "steady-state",
    "trim-integrity",
    "settle",
    "postmark",
    "delete-storm",
    "policy",
    "replay",
];

/// Figures that no record of these formats has, and one that is a mean now and has lost its role.
const NEWER: [&str; 3] = ["response-max", "largest-response-max", "policy-over-none"];

/// Metrics of today; one that is newer than a format has nothing to agree with.
#[test]
fn records_of_older_formats_are_read_with_what_the_metrics_say() {
    let record = RunRecord::from_json(RECORD).unwrap();
    let methods = METHODS.iter().filter(|info| OF_OLDER_FORMATS.contains(&info.id));
    for (info, preset) in methods.flat_map(|it| Preset::ALL.map(|preset| (it, preset))) {
        let mut metrics = info.resolve(preset, &BTreeMap::new()).unwrap().method.metrics();
        metrics.retain(|metric| !NEWER.contains(&metric.id.as_ref()));
        let now: Vec<Figure> = metrics.iter().filter_map(|it| it.measured(1.0)).collect();
        let mut old = RunRecord { schema: 1, ..record.clone() };
        old.sessions[0].plan.method = info.id.to_owned();
        old.sessions[0].figures.clone_from(&now);
        for figure in &mut old.sessions[0].figures {
            (figure.direction, figure.role) = (Direction::Neither, None);
        }
        let read = RunRecord::from_json(&old.to_json()).unwrap();
        assert_eq!(read.sessions[0].figures, now);
    }
}

#[test]
fn every_metric_has_an_id_of_its_own() {
    for info in METHODS {
        let metrics = info.resolve(Preset::Standard, &BTreeMap::new()).unwrap().method.metrics();
        for (index, Metric { id, .. }) in metrics.iter().enumerate() {
            assert!(!metrics[..index].iter().any(|other| other.id == *id), "{id}");
        }
        assert!(metrics.iter().any(|metric| metric.headline), "{}", info.id);
    }
}

#[test]
fn a_session_that_lacks_everything_gives_no_chart_and_no_error() {
    for info in METHODS {
        let charts = testing::charts(info, Vec::new(), &[]);
        assert!(charts.iter().all(Chart::is_empty), "{}", info.id);
    }
}

#[test]
fn every_page_is_that_of_its_method() {
    for info in METHODS {
        assert!(info.page.starts_with(&format!("# {}", info.id)), "{}", info.id);
    }
}
