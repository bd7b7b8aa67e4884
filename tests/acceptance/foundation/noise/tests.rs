use super::read;
use crate::acceptance::planted::{Planted, deletion, failing, record, with_interval};

/// `runs` placebo-only runs of which `missing` intervals lie above 0, and the filesystems with the
/// share that each discarded.
fn planted((runs, missing): (usize, usize), filesystems: &[(&str, f64)]) -> Planted {
    let planted = Planted::new();
    for run in 1..=runs {
        let name = format!("placebo-{run}");
        planted.capture(&name, 0, "");
        let interval = if run <= missing { (0.001, 0.002) } else { (-0.001, 0.002) };
        let session = with_interval(interval, 5, Vec::new());
        planted.record(&format!("{name}.json"), &record(vec![session]));
    }
    for (name, share) in filesystems {
        planted.capture(name, 130, "");
        let session = with_interval((0.0, 0.0), 0, vec![deletion("delete-1", *share)]);
        planted.record(&format!("{name}.json"), &record(vec![session]));
    }
    planted
}

const SHORT: [(&str, f64); 3] = [("ext4", 1.0), ("xfs", 1.0), ("btrfs", 1.0)];
const FULL: [(&str, f64); 4] = [("ext4", 1.2), ("xfs", 1.0), ("btrfs", 1.0), ("btrfs-async", 1.0)];

#[test]
fn intervals_that_cover_0_and_complete_discards_hold() {
    for (runs, missing, filesystems) in [(1, 0, &SHORT[..]), (20, 2, &FULL[..])] {
        let findings = read(&planted((runs, missing), filesystems).raw()).unwrap();
        assert_eq!(failing(&findings), Vec::<&str>::new());
        assert_eq!(findings.len(), 1 + filesystems.len());
        assert_eq!(findings[0].figure.to_string(), (runs - missing).to_string());
    }
}

#[test]
fn too_many_intervals_beside_0_do_not_hold() {
    for (runs, missing) in [(1, 1), (20, 3)] {
        let findings = read(&planted((runs, missing), &FULL).raw()).unwrap();
        let what = "placebo-only runs whose interval of the stutter covers 0";
        assert_eq!(failing(&findings), [what]);
    }
}

#[test]
fn discards_that_come_too_late_do_not_hold() {
    for late in 0..FULL.len() {
        let mut filesystems = FULL;
        filesystems[late].1 = 0.99;
        let findings = read(&planted((20, 0), &filesystems).raw()).unwrap();
        let what = format!("discarded within the window over freed, {}", FULL[late].0);
        assert_eq!(failing(&findings), [what.as_str()]);
    }
}

#[test]
fn a_filesystem_or_runs_that_are_missing_are_errors() {
    assert!(read(&planted((20, 0), &SHORT).raw()).is_err(), "the full form needs btrfs-async");
    assert!(read(&planted((1, 0), &SHORT[1..]).raw()).is_err());
    assert!(read(&planted((19, 0), &FULL).raw()).is_err());
}

#[test]
fn a_run_that_deleted_something_is_not_placebo_only() {
    let planted = planted((1, 0), &SHORT);
    let session = with_interval((-1.0, 1.0), 5, vec![deletion("delete-1", 1.0)]);
    planted.record("placebo-1.json", &record(vec![session]));
    let error = read(&planted.raw()).unwrap_err().to_string();
    assert!(error.contains("not placebo-only"), "{error}");
}
