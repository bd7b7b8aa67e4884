//! Bad input: a clear error that names the thing and what to do, the right exit code, and nothing
//! measured before is lost.

use tempfile::tempdir;
use trimbench_results::SCHEMA;

use super::{code, small, stderr, stdout, trimbench};

/// Runs the arguments and checks the exit code and that stderr holds every one of `expected`.
fn check(arguments: &[&str], exit: i32, expected: &[&str]) {
    let folder = tempdir().unwrap();
    let output = trimbench(folder.path(), arguments);
    let errors = stderr(&output);
    assert_eq!(code(&output), Some(exit), "{arguments:?}: {errors}");
    for text in expected {
        assert!(errors.contains(text), "{arguments:?}: no `{text}` in: {errors}");
    }
    assert!(!folder.path().join("trimbench-runs").exists(), "{arguments:?} left a run behind");
}

#[test]
fn wrong_names_are_named_with_the_nearest_right_one() {
    check(&["run", "delete-stal"], 2, &["no method `delete-stal`", "did you mean `delete-stall`?"]);
    check(&["run", "--preset", "quik"], 2, &["no preset `quik`", "did you mean `quick`?"]);
    check(&["run", "--set", "windw=1s"], 2, &["no option `windw`", "did you mean `window`?"]);
    check(&["run", "--target", "sim:vendr2"], 2, &["no profile `vendr2`", "`vendor2`"]);
    check(&["run", "--target", "vendor2"], 2, &["did you mean `sim:vendor2`?"]);
    check(&["run", "--limit", "stuter=1s/GB"], 2, &["stuter", "did you mean `stutter`?"]);
    let explain = |kind, name| ["list", kind, "--explain", name];
    check(&explain("profiles", "vendr2"), 2, &["no profile `vendr2`", "did you mean `vendor2`?"]);
    check(&explain("profiles", "like-m50"), 2, &["did you mean `like-m500`?", "like-vertex4"]);
    check(&explain("methods", "recovry"), 2, &["no method `recovry`", "did you mean `recovery`?"]);
    check(&["run", "--outptu", "x"], 2, &["--outptu", "--output"]);
}

#[test]
fn an_unknown_option_is_told_those_of_its_method_the_nearest_first() {
    let near = "options of `trim-sweep`, the nearest first: row-time-max, row-bytes-max, ";
    check(&["run", "--set", "row-time-mx=1s"], 2, &["did you mean `row-time-max`?", near]);
    let only = "options of `idle-trim`, the nearest first: ";
    check(&["run", "idle-trim", "--set", "colour=1s"], 2, &["no option `colour`\n", only]);
    let folder = tempdir().unwrap();
    for set in ["row-time-mx=1s", "colour=1s"] {
        let errors = stderr(&trimbench(folder.path(), &["run", "--set", set]));
        assert!(!errors.contains("overdue-after"), "an option of `delete-stall`: {errors}");
    }
}

#[test]
fn a_named_limit_names_the_method_that_it_takes() {
    let limited = ["run", "delete-stall", "--limit", "hlk"];
    check(&limited, 2, &["`--limit hlk`", "`trim-sweep`, which is not in this run", "hint: run"]);
}

#[test]
fn wrong_values_say_what_would_be_right() {
    check(&["run", "--set", "window"], 2, &["is not `KEY=VALUE`", "window=10s"]);
    check(&["run", "--set", "window=10"], 2, &["option `window`", "no unit"]);
    check(&["run", "--set", "window=9h"], 2, &["out of range; give 100ms to 1h", "hint:"]);
    check(&["run", "--set", "mode=burn"], 2, &["`burn` is not one of unlink"]);
    check(&["run", "--set", "sizes="], 2, &["option `sizes`"]);
    check(&["run", "--set", "window=1s", "--set", "window=2s"], 2, &["given twice"]);
    check(&["run", "--limit", "stutter"], 2, &["`stutter` is not a limit"]);
    check(&["run", "--seed", "minus"], 2, &["--seed"]);
}

#[test]
fn rates_that_nobody_can_offer_are_usage_errors() {
    let hint = "hint: see `trimbench list methods --explain latency-under-load`";
    for rate in ["0", "-5", "0%", "201%", "20000000", "many"] {
        let set = format!("rates={rate}");
        let said = format!("option `rates` of `latency-under-load`: `{rate}` is neither a share");
        let range = "nor a rate of 1 to 10000000 accesses a second";
        check(&["run", "latency-under-load", "--set", &set], 2, &[&said, range, hint]);
    }
    for (rate, said) in [("-1", "is not a whole number"), ("100001", "is out of range")] {
        let set = format!("trim-rate={rate}");
        let said = format!("option `trim-rate` of `latency-under-load`: `{rate}` {said}");
        check(&["run", "latency-under-load", "--set", &set], 2, &[&said, "0 to 100000", hint]);
    }
}

#[test]
fn rates_that_the_target_cannot_do_are_refused_with_what_it_can() {
    let hint = "hint: name another target, or other options";
    let small = "sim:generic-nvme-tlc,capacity=256MiB";
    let refused = |set: &[&str], expected: &[&str]| {
        let folder = tempdir().unwrap();
        let quick = ["span=all", "warm-up=0", "rate-time=200ms"];
        let set = quick.iter().chain(set).flat_map(|set| ["--set", set]);
        let start = ["run", "latency-under-load", "--target", small, "--output", "run"];
        let arguments: Vec<&str> = start.into_iter().chain(set).collect();
        let output = trimbench(folder.path(), &arguments);
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(3), "{arguments:?}: {errors}");
        for text in expected.iter().chain([&hint]) {
            assert!(errors.contains(text), "no `{text}` in: {errors}");
        }
    };
    let beyond = "is beyond what the drive sustains, ";
    refused(&["rates=9000000"], &["its lowest rate, 9,000,000, ", beyond, "give lower `rates`"]);
    let beside = "with `reads=9000000` beside it, ";
    refused(&["rates=50%", "reads=9000000"], &[beside, beyond, "or fewer `reads`"]);
    let room = "100000 TRIMs a second of 1MiB discard ";
    refused(&["trim-rate=100000"], &[room, "more than half of the 256MiB in use"]);
}

#[test]
fn absurd_capacities_are_refused_before_anything_is_made() {
    check(&["run", "--capacity", "0"], 2, &["capacity 0B is too small", "larger `--capacity`"]);
    check(&["run", "--capacity", "1PiB"], 2, &["16TiB", "smaller `--capacity`"]);
    check(&["run", "--capacity", "1000TiB"], 2, &["16TiB", "smaller `--capacity`"]);
    check(&["run", "--capacity", "16TiB"], 2, &["smaller `--capacity`"]);
    check(&["run", "--capacity", "16G"], 2, &["GiB"]);
    check(&["run", "--assumed-rate", "0B"], 2, &["`--assumed-rate 0`", "as `500MB`"]);
}

#[test]
fn unsuitable_targets_are_refused_with_code_3() {
    check(&["run", "--target", "/nowhere/at/all"], 3, &["`/nowhere/at/all` does not exist"]);
    check(&["run", "--target", "/dev/null"], 3, &["neither a directory nor a block device"]);
    check(
        &["run", "delete-stall", "--target", "sim:vendor2,capacity=1GiB", "--set", "sizes=4GiB"],
        3,
        &["it needs 5GiB and there are 1GiB"],
    );
}

#[test]
fn a_record_that_is_no_record_is_refused_with_advice() {
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let good =
        trimbench(folder.path(), &small(&["--target", "sim:like-rc100", "--output", "good"]));
    assert_eq!(code(&good), Some(0), "{}", stderr(&good));
    let text = std::fs::read_to_string(folder.path().join("good/run.json")).unwrap();
    for (broken, expected) in [
        (String::new(), "cut off"),
        (text[..text.len() / 2].to_owned(), "cut off"),
        (text.replacen(&format!("\"schema\": {SCHEMA}"), "\"schema\": 99", 1), "99"),
        ("{\"hello\": 1}\n".to_owned(), "not a run record"),
    ] {
        std::fs::write(run.join("run.json"), &broken).unwrap();
        for arguments in [["report", "run"], ["run", "--resume=run"]] {
            let output = trimbench(folder.path(), &arguments);
            assert_eq!(code(&output), Some(2), "{expected}: {}", stderr(&output));
            assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
            assert!(stderr(&output).contains("hint:"), "{expected}: {}", stderr(&output));
        }
        assert_eq!(
            std::fs::read_to_string(run.join("run.json")).unwrap(),
            broken,
            "left as it was"
        );
    }
    let output = trimbench(folder.path(), &["report", "nowhere"]);
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("nowhere/run.json"), "{}", stderr(&output));
}

#[test]
fn nobody_reading_the_messages_ends_no_run() {
    let folder = tempdir().unwrap();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = small(&["--target", "sim:like-rc100", "--output", "run"]);
    let mut command = super::command(folder.path(), &arguments);
    let status = command.stderr(full()).stdout(std::process::Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0), "messages that cannot be written are no error");
    let mut command = super::command(folder.path(), &["report", "run"]);
    let output = command.stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "data that cannot be written is one");
    assert!(stderr(&output).contains("cannot write to stdout"), "{}", stderr(&output));
}

#[test]
fn a_limit_in_another_unit_is_refused_before_the_run() {
    check(&["run", "--limit", "stutter=1ms"], 2, &["`s/GB`", "`ms`"]);
    check(&["run", "--limit", "largest-delay=300"], 2, &["request-s"]);
}

#[test]
fn a_run_directory_with_something_in_it_is_not_touched() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "data").unwrap();
    let output = trimbench(folder.path(), &small(&["--output", "."]));
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("not empty"), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_run_directory_that_cannot_be_made_is_an_error_before_the_run() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "data").unwrap();
    let output = trimbench(folder.path(), &small(&["--output", "file/run"]));
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot create the run directory"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn a_drive_that_fails_midway_keeps_what_was_measured_before() {
    let folder = tempdir().unwrap();
    let target = "sim:generic-nvme-tlc,eio-from=120s";
    let output = trimbench(folder.path(), &small(&["--target", target, "--output", "run"]));
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("EIO"), "{}", stderr(&output));
    let record = super::record(folder.path(), "run");
    assert!(matches!(record.outcome, trimbench_results::Outcome::Failed { .. }));
    let steps = &record.sessions[0].steps;
    assert!(steps.len() >= 2 && steps.len() < 18, "{} steps", steps.len());
    let report = trimbench(folder.path(), &["report", "run"]);
    assert!(stdout(&report).contains("EIO"), "{}", stdout(&report));
}

#[test]
fn a_profile_that_contradicts_its_data_sheet_is_refused() {
    let folder = tempdir().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/micron-7450-max-800.toml");
    let good = std::fs::read_to_string(path).unwrap();
    let text = good.replacen("value = 530000", "value = 1200000", 1);
    assert_ne!(text, good);
    std::fs::write(folder.path().join("drive.toml"), text).unwrap();
    let list = ["list", "profiles", "--explain", "./drive.toml"];
    for arguments in [&small(&["--target", "sim:./drive.toml"])[..], &list] {
        let output = trimbench(folder.path(), arguments);
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {errors}");
        for text in [
            "./drive.toml",
            "`host.command` contradicts `data_sheet.random_reads`",
            "the data sheet has 1200000 a second: less by more than a factor of 1.5",
            "correct one of them",
        ] {
            assert!(errors.contains(text), "no `{text}` in: {errors}");
        }
    }
}

#[test]
fn a_profile_file_with_a_mistake_is_named_with_the_place() {
    let folder = tempdir().unwrap();
    let good = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../profiles/generic-sata-tlc.toml"
    ))
    .unwrap();
    let check = |from: &str, to: &str, expected: &str| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        std::fs::write(folder.path().join("drive.toml"), text).unwrap();
        let output = trimbench(folder.path(), &small(&["--target", "sim:./drive.toml"]));
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        for text in ["./drive.toml", expected] {
            assert!(stderr(&output).contains(text), "no `{text}` in {}", stderr(&output));
        }
    };
    check("write_buffer =", "write_bufer =", "write_bufer");
    check("\"60us\"", "\"60\"", "no unit");
    check("channels = { value = 4", "channels = { value = 0", "channels");
    std::fs::write(folder.path().join("drive.toml"), good).unwrap();
    let arguments = small(&["--target", "sim:./drive.toml", "--output", "run"]);
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
}
