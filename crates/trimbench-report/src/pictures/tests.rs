use trimbench_results::Outcome;

use super::*;
use crate::page::PageSource;
use crate::testing::{figure, record, session};

/// The charts of one session of `method` with these steps and figures.
fn charts(method: &str, steps: Vec<Step>, figures: &[(&str, f64, Option<Verdict>)]) -> Vec<Chart> {
    let mut one = session("vendor2", 0.4, [0.3, 0.5]);
    one.plan.method = method.to_owned();
    one.steps = steps;
    one.figures = figures
        .iter()
        .map(|(id, value, verdict)| {
            let mut figure = figure(id, id, *value, "");
            figure.verdict = verdict.clone();
            figure
        })
        .collect();
    let sources = [PageSource::of("run", record(vec![one], Outcome::Complete))];
    let entries = crate::entries::entries(&sources);
    let sessions: Vec<&Entry<'_>> = entries.iter().collect();
    pictures(method, &sessions)
}

fn step(id: &str, kind: &str, parameters: &[(&str, f64)], metrics: &[(&str, f64)]) -> Step {
    let mut step = Step::new(id, kind);
    for (key, value) in parameters {
        step.set(key, *value);
    }
    for (key, value) in metrics {
        step.measure(key, *value);
    }
    step
}

fn with(mut step: Step, name: &str, x: &[f64], y: &[f64]) -> Step {
    let y = y.iter().copied().map(Some).collect();
    step.series.insert(name.to_owned(), Series::new("s", "MB/s", x.to_vec(), y).unwrap());
    step
}

fn find<'a>(charts: &'a [Chart], end: &str) -> &'a Chart {
    let found = charts.iter().find(|chart| chart.id.ends_with(end));
    found.unwrap_or_else(|| {
        panic!("no {end} in {:?}", charts.iter().map(|one| &one.id).collect::<Vec<_>>())
    })
}

fn curve<'a>(chart: &'a Chart, name: &str) -> &'a ChartSeries {
    chart.series.iter().find(|curve| curve.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn deletions_stand_over_their_sizes_with_placebos_at_nothing() {
    let charts = charts(
        "delete-stall",
        vec![
            step("delete-2", "delete", &[("size_bytes", 2e9)], &[("stutter_s", 1.0)]),
            step("delete-1", "delete", &[("size_bytes", 1e9)], &[("stutter_s", 0.6)]),
            step("placebo", "placebo", &[("size_bytes", 0.0)], &[("stutter_s", 0.1)]),
        ],
        &[("stutter", 0.45, None), ("stutter-intercept", 0.1, None)],
    );
    let chart = find(&charts, "regression");
    let points = curve(chart, "vendor2");
    assert_eq!(points.x, [0.0, 1.0, 2.0]);
    assert_eq!(points.y, [Some(0.1), Some(0.6), Some(1.0)]);
    assert_eq!(curve(chart, "vendor2: line").y, [Some(0.1), Some(1.0)]);
}

#[test]
fn phases_of_a_storm_stand_in_a_row() {
    let phase = |id: &str, span: f64, y: &[f64]| {
        with(step(id, "phase", &[], &[("duration_s", span)]), "write-throughput", &[0.5, 1.0], y)
    };
    let charts = charts(
        "delete-storm",
        vec![phase("write", 2.0, &[5.0, 6.0]), phase("second-write", 3.0, &[0.0, 7.0])],
        &[("located-above", 0.9, None)],
    );
    let chart = find(&charts, "throughput");
    assert_eq!(curve(chart, "writes").x, [0.5, 1.0, 2.5, 3.0]);
    let phases: Vec<_> =
        chart.marks.iter().map(|mark| (mark.label.as_str(), mark.at, mark.to)).collect();
    assert_eq!(phases, [("write", 0.0, Some(2.0)), ("second-write", 2.0, Some(5.0))]);
    assert_eq!(curve(find(&charts, "places"), "above").y, [Some(0.9)]);
}

#[test]
fn the_policies_that_are_not_beaten_are_joined_and_one_is_to_choose() {
    let charts = charts(
        "policy",
        Vec::new(),
        &[
            ("p99.9-under-none", 5.0, Some(Verdict::Front)),
            ("amplification-under-none", 2.0, None),
            ("p99.9-under-online", 900.0, None),
            ("amplification-under-online", 1.5, None),
            ("p99.9-under-paced", 10.0, Some(Verdict::ToChoose)),
            ("amplification-under-paced", 1.2, None),
        ],
    );
    let chart = find(&charts, "pareto");
    assert_eq!(curve(chart, "not beaten").x, [5.0, 10.0]);
    for (name, x, y) in
        [("none", 5.0, 2.0), ("paced (to choose)", 10.0, 1.2), ("online", 900.0, 1.5)]
    {
        let point = curve(chart, name);
        assert_eq!((point.x.as_slice(), point.y.as_slice()), (&[x][..], &[Some(y)][..]), "{name}");
    }
}

#[test]
fn noise_is_drawn_hollow_and_says_so() {
    let charts = charts(
        "postmark",
        Vec::new(),
        &[
            ("total-duration-diff-buffered", 16.0, None),
            ("transactions-diff-buffered", 0.2, Some(Verdict::Noise)),
        ],
    );
    let bars = curve(find(&charts, "diff"), "buffered");
    assert_eq!(bars.faint, Some(vec![false, true]));
    assert_eq!(bars.labels, Some(vec![String::new(), "noise".to_owned()]));
}

#[test]
fn a_gain_is_the_ratio_of_both_passes_window_by_window() {
    let pass = |id: &str, y: &[f64]| {
        with(step(id, "pass", &[("queue_depth", 32.0)], &[]), "iops-window", &[1.0, 2.0, 3.0], y)
    };
    let charts = charts(
        "replay",
        vec![pass("qd32-kept", &[10.0, 40.0, 5.0]), pass("qd32-stripped", &[10.0, 10.0, 0.0])],
        &[],
    );
    assert_eq!(curve(find(&charts, "gain"), "qd32").y, [Some(1.0), Some(4.0), None]);
    let windows = find(&charts, "iops-window");
    assert_eq!(
        curve(windows, "vendor2: qd32-stripped").like.as_deref(),
        Some("vendor2: qd32-kept")
    );
}

#[test]
fn settling_times_stand_where_they_were_measured() {
    let point = |trimmed: f64, written: f64| {
        let id = format!("trimmed-{trimmed}-written-{written}");
        step(&id, "point", &[("trimmed_percent", trimmed), ("written_percent", written)], &[])
    };
    let charts = charts(
        "settle",
        vec![point(25.0, 0.0), point(100.0, 50.0)],
        &[
            ("settling-trimmed-25-written-0", 0.5, None),
            ("settling-trimmed-100-written-50", 2.0, None),
        ],
    );
    let chart = find(&charts, "surface");
    assert_eq!(chart.x.categories, ["25 %", "100 %"]);
    let cells = curve(chart, "settling time");
    assert_eq!((&cells.x, &cells.y), (&vec![0.0, 1.0], &vec![Some(0.0), Some(1.0)]));
    assert_eq!(cells.z, Some(vec![Some(0.5), Some(2.0)]));
    assert_eq!(chart.z.as_ref().unwrap().max, Some(2.0));
}

#[test]
fn the_steady_window_has_its_band_and_its_slope() {
    let round = |number: u32, iops: f64| {
        let parameters = [("trimmed_percent", 0.0), ("round", f64::from(number))];
        step(&format!("round-{number}"), "round", &parameters, &[("iops", iops)])
    };
    let iops = [200.0, 98.0, 99.0, 100.0, 101.0, 102.0];
    let rounds = (1..).zip(iops).map(|(number, iops)| round(number, iops)).collect();
    let charts = charts("steady-state", rounds, &[]);
    let chart = find(&charts, "rounds");
    let measured = curve(chart, "0 % trimmed");
    assert_eq!(measured.low.as_ref().unwrap()[..2], [None, Some(90.0)]);
    assert_eq!(measured.high.as_ref().unwrap()[5], Some(100.0 * (1.0 + 0.1)));
    let slope = curve(chart, "0 % trimmed: slope");
    assert_eq!((&slope.x, &slope.y), (&vec![2.0, 6.0], &vec![Some(98.0), Some(102.0)]));
}

/// A method of a later version is shown all the same.
#[test]
fn curves_of_an_unknown_method_are_drawn_as_they_are() {
    let one = with(step("phase-1", "phase", &[], &[]), "temperature", &[0.0, 1.0], &[30.0, 40.0]);
    let charts = charts("of-the-future", vec![one], &[]);
    assert_eq!(curve(find(&charts, "temperature"), "vendor2: phase-1").y, [Some(30.0), Some(40.0)]);
}

#[test]
fn a_session_that_lacks_everything_gives_no_picture_and_no_error() {
    for method in [
        "delete-stall",
        "delete-storm",
        "idle-trim",
        "policy",
        "postmark",
        "recovery",
        "replay",
        "settle",
        "steady-state",
        "trim-integrity",
        "trim-sweep",
    ] {
        assert!(charts(method, Vec::new(), &[]).is_empty(), "{method}");
    }
}
