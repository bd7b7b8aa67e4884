use super::*;
use crate::acceptance::planted::{Planted, failing, record, session};

/// What the runs found, with one figure of one of them changed.
fn found(run: &str, id: &str, value: f64) -> Vec<String> {
    let planted = Planted::new();
    let [(slow, ..), (slow_openzfs, ..)] = SLOW_DRIVES;
    for (name, _, _) in [STORM, slow, slow_openzfs, OTHERS[0], OTHERS[1]] {
        let mut figures = vec![
            ("write-time", 56.8),
            ("trim-time", 56.2),
            ("second-stall", 31.6),
            ("trim-over-write", 0.99),
            ("stall-over-trim", 0.56),
            ("stalled-without-write", 0.94),
            ("located-above", 0.91),
            ("located-device", 0.8),
        ];
        for figure in figures.iter_mut().filter(|figure| name == run && figure.0 == id) {
            figure.1 = value;
        }
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session(name, &figures)]));
    }
    let findings = read(&planted.raw()).unwrap();
    assert_eq!(findings.len(), 3 * 4 + 3);
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_figure_has_its_bar_in_each_run() {
    assert_eq!(found("storm", "write-time", 1.0), Vec::<String>::new());
    for (run, id, value, part) in [
        ("storm", "trim-over-write", 1.21, "discards, over writing alone, storm"),
        ("storm", "stall-over-trim", 0.34, "the next round's stall, over the discards, storm"),
        ("larger", "stall-over-trim", 0.66, "the next round's stall, over the discards, larger"),
        ("half-full", "stalled-without-write", 0.8, "while no drive completed a write, half-full"),
        ("storm", "located-above", 0.8, "of the stall, above the drives, storm"),
        ("slow-drive", "located-device", 0.4, "of the stall, in the drives, slow-drive"),
        ("slow-drive-openzfs", "located-above", 0.4, "above the drives, slow-drive-openzfs"),
    ] {
        let failing = found(run, id, value);
        assert!(failing.len() == 1 && failing[0].contains(part), "{failing:?}");
    }
}

#[test]
fn a_run_that_takes_too_long_is_seen() {
    let planted = Planted::new();
    let figures = [
        ("write-time", 1.0),
        ("trim-time", 1.0),
        ("second-stall", 0.5),
        ("trim-over-write", 1.0),
        ("stall-over-trim", 0.5),
        ("stalled-without-write", 1.0),
        ("located-above", 1.0),
        ("located-device", 1.0),
    ];
    planted.timed_capture((STORM.0, 61.0), 0, "");
    let slow = SLOW_DRIVES.map(|((name, ..), ..)| name);
    for name in slow {
        planted.capture(name, 0, "");
    }
    for name in slow.into_iter().chain([STORM.0]) {
        planted.record(&format!("{name}/run.json"), &record(vec![session(name, &figures)]));
    }
    assert_eq!(failing(&read(&planted.raw()).unwrap()), ["wall time, storm"]);
}
