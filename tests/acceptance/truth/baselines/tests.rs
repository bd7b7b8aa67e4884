use trimbench_results::Verdict;

use super::{ALIKE, DISK, Outcome, PLANTED_RUNS, WORKING, read};
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing};

/// How many runs of each series find something; limits and p99.9 as given.
struct Series {
    alike: usize,
    working: usize,
    planted: usize,
    disk: usize,
    limit: f64,
    tail_ms: f64,
}

const GOOD: Series =
    Series { alike: 64, working: 16, planted: 190, disk: 2, limit: 0.005, tail_ms: 0.2 };

fn failed(series: &Series, form: Form) -> String {
    let planted = Planted::new();
    let keep = |name: &str, runs: usize, found: usize, (limit, tail_ms): (f64, f64)| {
        let line = |run: usize| {
            let verdict = if run < found {
                Verdict::DiffersFromPlacebo
            } else {
                Verdict::NoSlowdownFound { at_most: "0.004 s/GB".to_owned() }
            };
            let drive = format!("sim:{}", run % 20);
            let (limit, tail_ms) = (Some(limit), Some(tail_ms));
            let outcome = Outcome { drive, seed: run as u64 / 20 + 1, verdict, limit, tail_ms };
            serde_json::to_string(&outcome).unwrap() + "\n"
        };
        planted.capture(name, 0, &(0..runs).map(line).collect::<String>());
    };
    let fine = (series.limit, series.tail_ms);
    keep(ALIKE, 1_000, series.alike, fine);
    keep(WORKING, 198, series.working, fine);
    keep(PLANTED_RUNS, 200, series.planted, (0.006_5, 1.0));
    if form == Form::Full {
        keep(DISK, 10, series.disk, fine);
    }
    failing(&read(&planted.raw_of(form)).unwrap()).join(", ")
}

#[test]
fn series_at_their_bars_hold() {
    assert_eq!(failed(&GOOD, Form::Full), "");
    assert_eq!(failed(&GOOD, Form::Short), "");
    assert_eq!(failed(&Series { alike: 0, limit: 0.000_5, ..GOOD }, Form::Full), "");
}

#[test]
fn each_figure_can_miss_its_bar() {
    for (series, what) in [
        (Series { alike: 65, ..GOOD }, "drives as they are"),
        (Series { working: 17, ..GOOD }, "drives at work"),
        (Series { planted: 189, ..GOOD }, "a planted slowdown"),
        (Series { disk: 3, ..GOOD }, "this machine's disk"),
        (Series { limit: 0.005_1, ..GOOD }, "highest detection limit"),
    ] {
        let failed = failed(&series, Form::Full);
        assert!(failed.starts_with(what) && !failed.contains(','), "{what}: {failed}");
    }
}

#[test]
fn without_a_quiet_drive_there_is_no_limit_to_judge() {
    let result = std::panic::catch_unwind(|| failed(&Series { tail_ms: 1.0, ..GOOD }, Form::Full));
    assert!(result.is_err(), "it is an error, not a pass");
}
