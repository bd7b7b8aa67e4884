use super::read;
use crate::acceptance::Finding;
use crate::acceptance::planted::{Planted, failing, record, session};

const DRIVES: [(&str, f64); 4] = [
    ("generic-sata-tlc", 0.015),
    ("vendor2", 0.67),
    ("generic-nvme-tlc", 0.0005),
    ("like-optane-900p", -0.0001),
];

fn planted((build, run): (f64, f64), run_status: i32, drives: &[(&str, f64)]) -> Planted {
    let planted = Planted::new();
    planted.capture("commit", 0, "0123456789abcdef\n");
    planted.timed_capture(("build", build), 0, "");
    planted.timed_capture(("run", run), run_status, "");
    let sessions = drives.iter().map(|(name, stutter)| session(name, &[("stutter", *stutter)]));
    planted.record("run.json", &record(sessions.collect()));
    planted
}

fn findings(times: (f64, f64), drives: &[(&str, f64)]) -> Vec<Finding> {
    read(&planted(times, 0, drives).raw()).unwrap()
}

#[test]
fn a_quick_clone_whose_drives_differ_holds() {
    let findings = findings((90.25, 8.5), &DRIVES);
    assert_eq!(failing(&findings), Vec::<&str>::new());
    let figures: Vec<String> = findings.iter().map(|it| format!("{:.4}", it.figure)).collect();
    assert_eq!(figures, ["90.2500", "8.5000", "0.0001", "44.6667"]);
    assert_eq!(findings[0].command, "build it");
    assert_eq!(findings[0].raw, "captures.ndjson");
    assert_eq!(findings[0].note, "a clone of commit 0123456789ab");
    assert_eq!(findings[3].raw, "run.json");
    assert!(findings[3].note.contains("vendor2 0.6700 s/GB"), "{}", findings[3].note);
}

#[test]
fn each_figure_is_judged_by_itself() {
    assert_eq!(
        failing(&findings((180.1, 19.9), &DRIVES)),
        ["first release build of a clean clone"]
    );
    assert_eq!(failing(&findings((90.0, 20.1), &DRIVES)), ["`trimbench run delete-stall`"]);
    let mut drives = DRIVES;
    drives[3].1 = -0.0006;
    let failed = ["stutter of like-optane-900p, without its sign"];
    assert_eq!(failing(&findings((90.0, 8.0), &drives)), failed);
    drives = DRIVES;
    drives[0].1 = 0.7;
    assert_eq!(
        failing(&findings((90.0, 8.0), &drives)),
        ["stutter of vendor2 over the second worst"]
    );
}

#[test]
fn a_run_that_failed_is_no_figure_however_quick() {
    let error = read(&planted((90.0, 0.1), 101, &DRIVES).raw()).unwrap_err().to_string();
    assert!(error.contains("101"), "{error}");
}

#[test]
fn a_drive_that_is_missing_is_an_error() {
    let error = read(&planted((90.0, 8.0), 0, &DRIVES[1..]).raw()).unwrap_err().to_string();
    assert!(error.contains("3 drives"), "{error}");
    let idle = DRIVES.map(|(name, stutter)| (name, if name == "vendor2" { stutter } else { 0.0 }));
    let error = read(&planted((90.0, 8.0), 0, &idle).raw()).unwrap_err().to_string();
    assert!(error.contains("ratio"), "{error}");
}
