//! The drives of \[S0\] and \[S1\]: loads that they do not serve, and TRIMs that they work off when
//! they are idle.

use tempfile::tempdir;
use tests::program::Run;
use trimbench_core::exit;
use trimbench_results::number::quantity;

use super::program;

/// `trim-sweep` on a drive whose own load overloads it, and whose TRIMs cost nothing, with the
/// limits of \[HLK\].
fn limited(options: &[&str]) -> Run {
    let folder = tempdir().unwrap();
    let place = folder.path().join("run");
    let mut command = program().run_command("trim-sweep", ("sim:vendor4", options), &place);
    let output = program().call(command.args(["--limit", "hlk"])).unwrap();
    Run::read(output, &place).unwrap()
}

/// How many limits a run says this of.
fn limits(run: &Run, word: &str) -> usize {
    let lines = run.output.stderr.lines();
    lines.filter(|line| line.starts_with("limit ") && line.contains(word)).count()
}

#[test]
fn the_published_limits_are_judged_beside_a_load_that_the_drive_serves() {
    let run = limited(&[]);
    run.output.expect_status(exit::DONE).unwrap();
    assert_eq!(limits(&run, " holds "), 3, "{}", run.output.stderr);
    let rate = run.value("load-rate").unwrap();
    assert!((50.0..=500.0).contains(&rate), "{rate} IOPS");
    for id in ["trim-max", "alone-max", "loaded-max"] {
        assert!(run.value(id).unwrap() <= 0.5, "{id}: {:?}", run.value(id));
    }
}

#[test]
fn waits_beside_a_load_that_the_drive_does_not_serve_are_neither_measured_nor_judged() {
    let run = limited(&["load-rate=1000"]);
    run.output.expect_status(exit::INVALID).unwrap();
    assert_eq!((limits(&run, " FAILS "), limits(&run, " NOT JUDGED ")), (0, 2));
    assert_eq!(run.steps("mapped-loaded").count(), 0);
    assert!(run.value("trim-max").unwrap() <= 0.5, "without the load");
}

#[test]
fn the_headline_of_an_idle_trim_says_what_the_whole_drive_takes() {
    let run = program().run("idle-trim", "sim:vendor2", &[]).unwrap();
    let words = run.figure("idle-trim").unwrap().words().unwrap();
    let full = quantity(run.value("idle-trim-full").unwrap(), "s");
    assert!(words.contains(&format!("{full} full")), "{words}");
    let longest = run.step("one-go-1").unwrap().metrics["full_s"];
    assert!((0.5..=1.0).contains(&longest), "{longest} s");
}

/// \[S1\]: the time is shorter on an idle drive. 100 ms of work a GiB, for which it takes 30 % of
/// its time under load.
#[test]
fn an_idle_vendor6_works_its_trim_off_in_the_work_and_a_busy_one_in_work_over_share() {
    let options = ["ranges=100%", "written=100%", "slice=1ms", "idle-halvings=7"];
    let run = program().run("settle", "sim:vendor6", &options).unwrap();
    for (id, expected) in [("settle-idle", 0.2), ("settle-idle-over-loaded", 0.3)] {
        let value = run.value(id).unwrap();
        assert!((value / expected - 1.0).abs() <= 0.05, "{id}: {value}, not {expected}");
    }
}
