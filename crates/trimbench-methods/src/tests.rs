use std::collections::BTreeMap;

use trimbench_engine::Preset;
use trimbench_results::{Chart, Coordinates, Direction, Figure, Metric, MetricAxis, RunRecord};

use super::*;

/// Any record.
const RECORD: &[u8] = include_bytes!("../../trimbench-results/src/advice/golden/four-drives.json");

/// The methods that there were when records had formats 1 and 2, and those that came with format 3:
/// the lists do not grow.
const OF_FORMAT_3: [&str; 2] = ["kernels", "latency-under-load"];
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
            figure.coordinates = Coordinates::none();
        }
        let read = RunRecord::from_json(&old.to_json()).unwrap();
        assert_eq!(read.sessions[0].figures, now);
    }
}

/// Settings with which a method has metrics that it has not by default.
const FURTHER: [(&str, &str, &str); 8] = [
    ("delete-stall", "p999-limit", "5ms"),
    ("delete-stall", "readers", "8"),
    ("recovery", "compare-data", "compressible-10%"),
    ("recovery", "free-space", "90%"),
    ("steady-state", "ageing-rounds", "6"),
    ("settle", "idle-halvings", "4"),
    ("replay", "passes", "kept,stripped,synthesised"),
    ("replay", "pace", "100%"),
];

/// The metrics of every method with each preset, and with further settings.
fn all_metrics() -> impl Iterator<Item = (&'static str, Vec<Metric>)> {
    METHODS.iter().flat_map(|info| {
        let metrics = |preset, set: &[(&str, &str)]| {
            let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            info.resolve(preset, &set.collect()).unwrap().method.metrics()
        };
        let further = FURTHER.iter().filter(|(method, ..)| *method == info.id);
        let further = further.map(|(_, key, value)| metrics(Preset::Standard, &[(*key, *value)]));
        let all = Preset::ALL.iter().map(|preset| metrics(*preset, &[])).chain(further);
        all.map(|metrics| (info.id, metrics)).collect::<Vec<_>>()
    })
}

#[test]
fn no_two_metrics_of_a_method_stand_at_one_place() {
    for (method, metrics) in all_metrics() {
        let placed: Vec<&Metric> = metrics.iter().filter(|it| !it.coordinates.is_empty()).collect();
        for (index, Metric { id, coordinates, .. }) in placed.iter().enumerate() {
            assert!(coordinates.key(MetricAxis::Measure).is_some(), "{id}");
            let mut others = placed[..index].iter();
            assert!(!others.any(|other| other.coordinates == *coordinates), "{method}: {id}");
        }
    }
}

#[test]
fn figures_of_an_older_format_stand_where_their_metrics_do() {
    let record = RunRecord::from_json(RECORD).unwrap();
    let is_old = |method: &str| OF_FORMAT_3.iter().chain(&OF_OLDER_FORMATS).any(|it| *it == method);
    let mut families = 0;
    for (method, metrics) in all_metrics().filter(|(method, _)| is_old(method)) {
        families += usize::from(metrics.iter().any(|it| !it.coordinates.is_empty()));
        let now: Vec<Figure> = metrics.iter().filter_map(|it| it.measured(1.0)).collect();
        let mut old = RunRecord { schema: 3, ..record.clone() };
        old.sessions[0].plan.method = method.to_owned();
        old.sessions[0].figures.clone_from(&now);
        for figure in &mut old.sessions[0].figures {
            figure.coordinates = Coordinates::none();
        }
        let read = RunRecord::from_json(&old.to_json()).unwrap();
        for (read, now) in read.sessions[0].figures.iter().zip(&now) {
            assert_eq!(read.coordinates, now.coordinates, "{method}: {}", now.id);
        }
    }
    assert!(families > OF_OLDER_FORMATS.len(), "{families} lists of metrics have families");
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
