use trimbench_results::{Interval, Step, Verdict};

use super::{CHUNK_MB, FILESYSTEMS, REAL_SEARCH_RUN, SEARCH_RUN, TRY_SECONDS, read};
use crate::acceptance::planted::{Planted, failing, record, session};

/// What the runs found.
struct Runs {
    /// In the order of drives and layers.
    stutters: [f64; 4],
    /// Steps of each real run, the intervals of its slope and of a deletion of any size, and its
    /// verdict.
    real: (usize, [[f64; 2]; 2], &'static str),
    filesystems: usize,
    /// Chunks in a try at the highest rate, on the modelled ext4.
    chunks: f64,
    /// Highest rate on the real one, MB/s, and p99.9 at it, ms.
    search: (f64, f64),
}

const GOOD: Runs = Runs {
    stutters: [0.000_2, -0.000_3, 0.249, 0.251],
    real: (12, [[-1.0, 3.0]; 2], "no slowdown found (at most 3.000 s/GB)"),
    filesystems: 3,
    chunks: 4.0,
    search: (80.0, 12.0),
};

/// What of the runs fails.
fn failed(runs: &Runs) -> String {
    let planted = Planted::new();
    let names = [
        "sim-like-optane-900p",
        "ext4-sim-like-optane-900p",
        "sim-like-rc100",
        "ext4-sim-like-rc100",
    ];
    for (name, stutter) in names.into_iter().zip(runs.stutters) {
        planted.capture(name, 0, "");
        let measured = session(name, &[("stutter", stutter)]);
        planted.record(&format!("{name}/run.json"), &record(vec![measured]));
    }
    let (steps, intervals, verdict) = runs.real;
    for name in &FILESYSTEMS[..runs.filesystems] {
        planted.capture(name, 4, "");
        let figures = [("stutter", 1.0), ("stutter-per-deletion", 1.0)];
        let mut measured = session(name, &figures);
        for (figure, [low, high]) in measured.figures.iter_mut().zip(intervals) {
            figure.interval = Interval::new(low, high, 0.95);
        }
        measured.figures[0].verdict = Some(Verdict::Other(verdict.to_owned()));
        measured.steps = (0..steps).map(|index| Step::new(index.to_string(), "delete")).collect();
        planted.record(&format!("{name}/run.json"), &record(vec![measured]));
    }
    let search = |name: &str, figures: &[(&str, f64)]| {
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session(name, figures)]));
    };
    let rate = runs.chunks * CHUNK_MB / TRY_SECONDS;
    search(SEARCH_RUN, &[("highest-deletion-rate", rate)]);
    let (rate, response) = runs.search;
    let found = [("highest-deletion-rate", rate), ("highest-deletion-rate-response", response)];
    search(REAL_SEARCH_RUN, &found);
    failing(&read(&planted.raw()).unwrap()).join(", ")
}

#[test]
fn good_runs_hold_in_both_forms() {
    assert_eq!(failed(&GOOD), "");
    assert_eq!(failed(&Runs { filesystems: 1, ..GOOD }), "");
    for real in [
        (12, [[0.5, 3.0], [-1.0, 3.0]], "differs from placebo"),
        (12, [[-1.0, 3.0], [0.5, 3.0]], "stalls, whatever the size"),
        (12, [[-0.000_4, 0.000_4], [-1.0, 3.0]], "nothing to notice"),
        (12, [[-1.0, 3.0], [0.5, 3.0]], "stalls: whether larger files longer is not told"),
    ] {
        assert_eq!(failed(&Runs { real, ..GOOD }), "");
    }
}

#[test]
fn each_figure_that_is_off_is_seen() {
    for (stutters, expected) in [
        ([0.001, 0.0, 0.25, 0.25], "stutter of like-optane-900p by itself"),
        ([0.0, -0.001, 0.25, 0.25], "stutter of like-optane-900p under the modelled ext4"),
        ([0.0, 0.0, 0.23, 0.25], "stutter of like-rc100 by itself"),
        ([0.0, 0.0, 0.25, 0.27], "stutter of like-rc100 under the modelled ext4"),
    ] {
        assert_eq!(failed(&Runs { stutters, ..GOOD }), expected);
    }
    for chunks in [2.0, 6.0] {
        assert!(failed(&Runs { chunks, ..GOOD }).starts_with("chunks of 32 MiB"));
    }
    assert!(failed(&Runs { search: (80.0, 21.0), ..GOOD }).starts_with("p99.9 at the highest"));
    let few = (11, [[-1.0, 3.0]; 2], "no slowdown found");
    let expected = "real ext4 on a loop device: deletions and placebos measured";
    assert_eq!(failed(&Runs { real: few, filesystems: 1, ..GOOD }), expected);
    for real in [
        (12, [[-1.0, 3.0]; 2], "differs from placebo"),
        (12, [[1.0, 3.0]; 2], "no slowdown found"),
        (12, [[-1.0, 3.0], [0.5, 3.0]], "no slowdown found"),
        (12, [[-1.0, 3.0]; 2], "stalls, whatever the size"),
    ] {
        let expected = "real ext4 on a loop device: the verdict is what the intervals say";
        assert_eq!(failed(&Runs { real, filesystems: 1, ..GOOD }), expected);
    }
}
