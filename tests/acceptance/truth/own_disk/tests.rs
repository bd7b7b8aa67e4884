use trimbench_results::{Interval, Session};

use super::{IN_DIRECTORY, ON_IMAGE, WHY, counter, fact, quantity, read};
use crate::acceptance::planted::{Planted, failing, record, session};

const FORECAST: &str = "seed 1\n\nrecovery (quick) on /image\n  space        16MiB needed\n  \
                        writes       at most about 1.50 GB, 0.7 times the drive\n  time         \
                        about 20 s of wall time\n";

/// A run whose seconds a GB have this interval.
fn measured(id: &str, (low, high): (f64, f64)) -> Session {
    let mut session = session("here", &[(id, f64::midpoint(low, high))]);
    session.figures[0].interval = Interval::new(low, high, 0.95);
    session
}

/// What does not hold where the run `name` took so many seconds, wrote so many bytes, and ended
/// with this code and these words; `idle-trim` found this, and the page says so.
fn failed(name: &str, run: (f64, u64, i32, &str), idle: (f64, f64), page: &str) -> Vec<String> {
    let planted = Planted::new();
    for (other, ..) in IN_DIRECTORY.into_iter().chain(ON_IMAGE) {
        let (seconds, bytes, code, words) =
            if other == name { run } else { (20.0, 1_500_000_000, 0, "") };
        planted.capture(&format!("{other}-forecast"), 0, FORECAST);
        planted.timed_capture((other, seconds), code, "");
        let errors = format!("{words}\nrchar: 1\nwrite_bytes: {bytes}\n");
        planted.file(&format!("{other}.stderr"), errors.as_bytes());
    }
    let stutter = measured("stutter", (0.1, 0.2));
    planted.record("delete-stall/run.json", &record(vec![stutter]));
    planted.record("idle-trim/run.json", &record(vec![measured("idle-trim", idle)]));
    planted.file("page.md", page.as_bytes());
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn runs_that_keep_their_forecast_hold() {
    let well = (23.0, 1_300_000_000, 0, "");
    assert_eq!(failed("recovery", well, (0.15, 0.3), ""), Vec::<String>::new());
    assert_eq!(failed("recovery", well, (0.3, 0.4), WHY), Vec::<String>::new());
    // Nothing is compared with the forecast of a run that was refused.
    let refused = (0.1, 0, 3, "error: no room");
    assert_eq!(failed("recovery", refused, (0.15, 0.3), ""), Vec::<String>::new());
}

#[test]
fn each_figure_can_miss_its_bar() {
    let overlapping = (0.15, 0.3);
    for (run, part) in [
        ((25.0, 1_500_000_000, 0, ""), "time over"),
        ((20.0, 1_100_000_000, 0, ""), "bytes over"),
        ((20.0, 1_500_000_000, 4, ""), "valid, or refused"),
        ((20.0, 1_500_000_000, 3, "it broke"), "valid, or refused"),
    ] {
        let found = failed("recovery", run, overlapping, "");
        assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
    }
    let well = (20.0, 1_500_000_000, 0, "");
    let found = failed("recovery", well, (0.3, 0.4), "");
    assert!(found.len() == 1 && found[0].contains("agree"), "{found:?}");
}

#[test]
fn forecasts_and_counters_are_read() {
    assert_eq!(fact(FORECAST, "writes").and_then(quantity), Some(1.5e9));
    assert_eq!(fact(FORECAST, "time").and_then(quantity), Some(20.0));
    assert_eq!(
        fact("  time         about 3 min of wall time", "time").and_then(quantity),
        Some(180.0)
    );
    assert_eq!(counter("wchar: 1\nwrite_bytes: 4096", "write_bytes: "), Some(4096.0));
    assert_eq!(quantity("at most about many GB"), None);
}
