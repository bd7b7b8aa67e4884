//! Runs that work: what is printed, what is kept, and that the same seed gives the same bytes.

use tempfile::tempdir;

use super::{code, record, small, stderr, stdout, trimbench};

fn bytes(folder: &std::path::Path, run: &str) -> Vec<u8> {
    std::fs::read(folder.join(run).join("run.json")).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let folder = tempdir().unwrap();
    for (run, seed) in [("a", "7"), ("b", "7"), ("c", "8")] {
        let arguments = small(&["--seed", seed, "--output", run]);
        let output = trimbench(folder.path(), &arguments);
        // On so small a drive a deletion gives the SLC cache much of its space back, so that a run
        // may come out faster than placebo, which is invalid.
        assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    }
    assert!(bytes(folder.path(), "a") == bytes(folder.path(), "b"), "equal seeds, equal bytes");
    let (a, c) = (record(folder.path(), "a"), record(folder.path(), "c"));
    assert_eq!(a.sessions.len(), 4);
    for (one, other) in a.sessions.iter().zip(&c.sessions) {
        assert!(one.trace_hash.is_some() && one.trace_hash != other.trace_hash);
    }
}

#[test]
fn a_planted_stop_of_two_seconds_is_measured_as_one() {
    let folder = tempdir().unwrap();
    let arguments = small(&[
        "--target",
        "sim:like-optane-900p,freeze-on-discard=2s",
        "--set",
        "window=4s",
        "--output",
        "run",
    ]);
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let record = record(folder.path(), "run");
    let figure = |id: &str| record.sessions[0].figure(id).unwrap().value;
    for (id, expected) in [
        ("largest-stutter", 2.0),
        ("largest-delay", 1_000.0 * 2.0 * 2.0 / 2.0),
        ("largest-equivalent-stop", 2.0),
        ("largest-overdue", 2.0),
        ("largest-read-gap", 2.0),
        ("largest-response-max", 2.0),
    ] {
        let error = figure(id) / expected - 1.0;
        assert!(error.abs() < 0.01, "{id} is {}", figure(id));
    }
    assert!(stdout(&output).contains("planted-fault"), "the caveat is said");
}

#[test]
fn the_calibrated_drive_stutters_a_quarter_of_a_second_per_gigabyte() {
    let folder = tempdir().unwrap();
    let output = trimbench(
        folder.path(),
        &[
            &[
                "run",
                "delete-stall",
                "--target",
                "sim:like-rc100,wbt=0",
                "--set",
                "sizes=1GB,2GB,4GB,8GB",
            ][..],
            // A full stop: all at once, and nothing that holds discards back.
            &["--set", "as=blkdiscard", "--set", "window=5s", "--output", "run"],
        ]
        .concat(),
    );
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let record = record(folder.path(), "run");
    let figure = |id: &str| record.sessions[0].figure(id).unwrap().value;
    assert!((figure("stutter") / 0.25 - 1.0).abs() < 0.03, "{}", figure("stutter"));
    // At each size, too.
    let of_size = |size: f64| {
        let steps = record.sessions[0].steps.iter().filter(|step| step.kind == "delete");
        let of = steps.filter(|step| (step.parameters["size_bytes"] / 1e9 - size).abs() < 0.01);
        let mut stutters: Vec<f64> = of.map(|step| step.metrics["stutter_s"] / size).collect();
        stutters.sort_by(f64::total_cmp);
        f64::midpoint(stutters[(stutters.len() - 1) / 2], stutters[stutters.len() / 2])
    };
    for size in [1.0, 2.0, 4.0, 8.0] {
        assert!((of_size(size) / 0.25 - 1.0).abs() < 0.03, "{size} GB: {}", of_size(size));
    }
    assert!((figure("delay-exponent") - 2.0).abs() < 0.1, "{}", figure("delay-exponent"));
    // The profile is fitted to this very figure, and says so.
    assert!(record.sessions[0].caveats.iter().any(|id| id == "calibrated"));
}

#[test]
fn nothing_is_found_where_nothing_is_deleted() {
    let folder = tempdir().unwrap();
    let mut covered = 0;
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let arguments = [
            &small(&["--target", "sim:generic-sata-tlc", "--seed", seed, "--output", seed])[..],
            &["--set", "placebo-only=yes", "--set", "sizes=16MiB,24MiB,32MiB,48MiB,64MiB"],
        ]
        .concat();
        let arguments: Vec<&str> =
            arguments.into_iter().filter(|text| *text != "sizes=16MiB,32MiB,64MiB").collect();
        let at = arguments.iter().position(|text| *text == "--set").unwrap();
        let arguments = [&arguments[..at], &arguments[at + 1..]].concat();
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let record = record(folder.path(), seed);
        covered +=
            u32::from(record.sessions[0].headline().unwrap().interval.unwrap().contains(0.0));
    }
    // A 95 % interval: 8 of 8 in two thirds of all cases, 6 or more in 99.4 %.
    assert!(covered >= 6, "{covered} of 8 intervals hold 0");
}

#[test]
fn limits_decide_the_exit_code() {
    let folder = tempdir().unwrap();
    for (run, limit, exit) in
        [("a", "stutter=30s/GB", 0), ("b", "stutter=1ms/GB", 1), ("c", "p99.9=1us", 1)]
    {
        // A load of reads: scattered writes take vendor2 more time than there is.
        let set = ["chunk=4MiB", "--set", "read-share=100%", "--limit", limit, "--output", run];
        let arguments = small(&[&["--target", "sim:vendor2", "--set"], &set[..]].concat());
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(exit), "{limit}: {}", stderr(&output));
        assert!(stderr(&output).contains("limit"), "{}", stderr(&output));
    }
}

#[test]
fn a_limit_on_the_slope_says_so_when_every_deletion_stalls_alike() {
    let folder = tempdir().unwrap();
    // One TRIM of 82 ms for each of these sizes, under a load that the drive can serve.
    let vendor2 = ["--target", "sim:vendor2", "--set", "read-share=100%"];
    let limit = ["--limit", "stutter=5ms/GB", "--output", "run"];
    let arguments = small(&[&vendor2[..], &limit[..]].concat());
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("(stalls: whether larger files longer is not told)"),
        "{}",
        stderr(&output)
    );
    let limit = ["--limit", "stutter-per-deletion=50ms", "--output", "fixed"];
    let arguments = small(&[&vendor2[..], &limit[..]].concat());
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
}

#[test]
fn an_invalid_run_is_kept_marked_and_ends_with_code_4() {
    let folder = tempdir().unwrap();
    // vendor2 needs 82 ms a chunk: 16 of them outlast this window.
    let set = ["--set", "window=200ms", "--set", "chunk=1MiB", "--output", "run"];
    let arguments = small(&[&["--target", "sim:vendor2"], &set[..]].concat());
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(4), "{}", stderr(&output));
    let record = record(folder.path(), "run");
    assert!(!record.is_valid());
    assert!(stdout(&output).contains("window-too-short"), "{}", stdout(&output));
}

#[test]
fn machines_get_json_or_lines_and_nothing_else_on_stdout() {
    let folder = tempdir().unwrap();
    let arguments = small(&["--target", "sim:vendor2", "--output", "a", "--output-format", "json"]);
    let output = trimbench(folder.path(), &arguments);
    assert!(output.stdout == bytes(folder.path(), "a"), "stdout is the record");
    let arguments =
        small(&["--target", "sim:vendor2", "--output", "b", "--output-format", "ndjson"]);
    let output = trimbench(folder.path(), &arguments);
    let events: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!((count("step"), count("end")), (18, 1));
    assert!(count("figure") > 10);
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let folder = tempdir().unwrap();
    let output = trimbench(folder.path(), &["run", "--dry-run", "--capacity", "4GiB"]);
    assert_eq!(code(&output), Some(0));
    let plan = stdout(&output);
    for text in ["sim:vendor2,capacity=4GiB", "virtual time", "written", "privileges", "destroys"] {
        assert!(plan.contains(text), "no `{text}` in {plan}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_report_and_its_tables_come_from_the_record_alone() {
    let folder = tempdir().unwrap();
    let arguments = small(&["--target", "sim:like-rc100", "--output", "run"]);
    let run = trimbench(folder.path(), &arguments);
    let report = trimbench(folder.path(), &["report", "run", "--csv", "tables"]);
    assert_eq!(code(&report), Some(0), "{}", stderr(&report));
    assert_eq!(stdout(&report), "tables\n", "what was asked for is in the files");
    let again = trimbench(folder.path(), &["report", "run", "run"]);
    assert!(stdout(&again).starts_with(&format!("run\n\n{}", stdout(&run))), "{}", stdout(&again));
    let full = stdout(&trimbench(folder.path(), &["report", "run"]));
    for part in ["trace hash", "options", "Verdict on like-rc100"] {
        assert!(full.contains(part) && !stdout(&run).contains(part), "{part}: {full}");
    }
    let figures = std::fs::read_to_string(folder.path().join("tables/figures.csv")).unwrap();
    assert!(figures.contains("stutter"), "{figures}");
}
