use trimbench_results::Step;

use super::read;
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing, record, session};

/// A pass of 256 GB at so many MB/s.
fn pass(id: &str, megabytes_per_second: f64) -> Step {
    let mut step = Step::new(id, "pass");
    step.measure("written_bytes", 256e9);
    step.measure("elapsed_s", 256e3 / megabytes_per_second);
    step
}

fn round(number: f64, is_steady: f64) -> Step {
    let mut step = Step::new(format!("torture-1-{number}"), "torture");
    step.set("round", number);
    step.measure("iops", 8000.0);
    step.measure("window_steady", is_steady);
    step
}

/// Runs whose wall times are these, in the order of presets and drives.
struct Runs {
    speeds: [f64; 4],
    walls: [f64; 4],
    is_steady: f64,
    is_short: bool,
}

const GOOD: Runs = Runs {
    speeds: [250.0, 117.0, 249.0, 249.0],
    walls: [90.0, 60.0, 200.0, 300.0],
    is_steady: 1.0,
    is_short: false,
};

/// What of a run fails.
fn failed(runs: &Runs) -> String {
    let planted = Planted::new();
    let names = [
        "published-like-m4-256",
        "published-generic-sata-tlc",
        "standard-like-m4-256",
        "standard-generic-sata-tlc",
    ];
    for (name, wall) in names.into_iter().zip(runs.walls) {
        planted.timed_capture((name, wall), 0, "");
        let mut measured = session("drive", &[]);
        let passes = ["fresh", "fragmented", "self-healed", "trimmed"].into_iter();
        measured.steps = passes.zip(runs.speeds).map(|(id, speed)| pass(id, speed)).collect();
        if name.starts_with("standard") {
            // More of the drive's time, as the wall's bar is higher.
            measured.steps.extend(["healed-2", "healed-3", "healed-4"].map(|id| pass(id, 30.0)));
            measured.steps.extend([round(1.0, 0.0), round(2.0, runs.is_steady)]);
        }
        planted.record(&format!("{name}/run.json"), &record(vec![measured]));
        if runs.is_short {
            break;
        }
    }
    let form = if runs.is_short { Form::Short } else { Form::Full };
    failing(&read(&planted.raw_of(form)).unwrap()).join(", ")
}

#[test]
fn figures_at_their_bars_hold_in_both_forms() {
    assert_eq!(failed(&GOOD), "");
    assert_eq!(failed(&Runs { is_short: true, ..GOOD }), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    let speeds = |speeds| Runs { speeds, ..GOOD };
    for (runs, what) in [
        (speeds([260.0, 117.0, 258.0, 258.0]), "fresh"),
        (speeds([250.0, 180.0, 249.0, 249.0]), "fragmented over fresh"),
        (speeds([250.0, 117.0, 118.0, 249.0]), "second pass"),
        (speeds([250.0, 117.0, 249.0, 240.0]), "trimmed over fresh"),
        (Runs { walls: [121.0, 60.0, 200.0, 300.0], ..GOOD }, "wall time"),
        (Runs { walls: [90.0, 60.0, 301.0, 300.0], ..GOOD }, "wall time"),
        (Runs { is_steady: 0.0, ..GOOD }, "steady"),
    ] {
        let failed = failed(&runs);
        assert!(failed.contains(what), "{what}: {failed}");
    }
}

#[test]
fn a_run_as_slow_as_the_drive_fails() {
    // 5,256 s of the drive's time.
    let failed = failed(&Runs { walls: [110.0, 60.0, 200.0, 300.0], ..GOOD });
    assert!(failed.contains("over the wall's"), "{failed}");
}
