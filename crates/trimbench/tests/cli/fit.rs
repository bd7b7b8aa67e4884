//! `trimbench fit` and `trimbench what-if`: a drive that is measured, its twin, and mistakes.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use super::interrupts::{signal, wait_until};
use super::{code, command, stderr, stdout, trimbench};

/// A drive whose TRIM costs what no profile says.
const DRIVE: &str = "sim:plain-nvme-tlc,trim.mode=queued,capacity=1GiB,trim.command=150us,\
                     trim.per_gib_mapped=8ms";

/// Measures it.
fn measured(folder: &Path) {
    let output = trimbench(
        folder,
        &[
            "run",
            "trim-sweep",
            "--target",
            DRIVE,
            "--seed",
            "5",
            "--output",
            "measured",
            "--set",
            "sizes=4KiB,16MiB",
            "--set",
            "commands=20",
            "--set",
            "queue-depths=1",
            "--set",
            "load-time=100ms",
            "--set",
            "unaligned=no",
        ],
    );
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
}

/// Searches for what a TRIM costs, in no time.
const FIT: [&str; 8] = [
    "fit",
    "measured",
    "--base",
    "plain-nvme-tlc,trim.mode=queued",
    "--free",
    "trim.command",
    "--free",
    "trim.per_gib_mapped",
];

#[test]
fn what_a_trim_costs_is_found_and_the_twin_is_a_target() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    measured(folder);
    let fit = [&FIT[..], &["--output", "twin.toml"]].concat();
    let output = trimbench(folder, &fit);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("trim.command") && text.contains("sim:twin.toml"), "{text}");
    let json = [&fit[..], &["--output-format", "json", "--quiet", "--jobs", "1"]].concat();
    let found = trimbench(folder, &json);
    let found: serde_json::Value = serde_json::from_str(&stdout(&found)).unwrap();
    for (number, truth) in [150e3, 8e6].into_iter().enumerate() {
        let best = found["parameters"][number]["numbers"][0].as_f64().unwrap();
        assert!((best / truth).ln().abs() < 0.02, "{number}: {best}");
    }
    let list = trimbench(folder, &["list", "profiles", "--explain", "./twin.toml"]);
    assert!(stdout(&list).contains("2 fitted"), "{}", stdout(&list));
    // The same again, beside a file of somebody else, which stays.
    let twin = fs::read_to_string(folder.join("twin.toml")).unwrap();
    let edited = twin.replacen("name = ", "name = # tuned by hand\n", 1);
    for theirs in ["mine\n", "name = \"mine\"\n", &format!("{twin}# mine\n"), &edited] {
        fs::write(folder.join("notes"), theirs).unwrap();
        let output = trimbench(folder, &[&FIT[..], &["--output", "notes"]].concat());
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(folder.join("notes")).unwrap(), theirs);
    }
    let output = trimbench(folder, &fit);
    assert_eq!(code(&output), Some(0), "its own file is replaced: {}", stderr(&output));
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    measured(folder);
    let refused = |arguments: &[&str], expected: &[&str]| {
        let output = trimbench(folder, arguments);
        let errors = stderr(&output);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {errors}");
        for text in expected {
            assert!(errors.contains(text), "{arguments:?}: no `{text}` in: {errors}");
        }
    };
    let with = |more: &[&'static str]| [&["fit", "measured"][..], more].concat();
    refused(&["fit"], &["RUN"]);
    refused(&["fit", "nowhere"], &["nowhere"]);
    refused(&with(&["--free", "nand.raed"]), &["`nand.raed`", "did you mean `nand.read`?"]);
    refused(&with(&["--free", "geometry.dies"]), &["no time, size or ratio"]);
    refused(&with(&["--set-aside", "trim-swep"]), &["did you mean `trim-sweep`?"]);
    refused(&with(&["--base", "plain-nvme-tl"]), &["did you mean `plain-nvme-tlc`?"]);
    refused(&with(&["--drive", "sim:other"]), &["sim:other"]);
    refused(&with(&["--capacity", "1TiB"]), &["1GiB to 16GiB, not 1TiB"]);
    refused(&with(&["--predict", "replya"]), &["did you mean `replay`?"]);
    refused(&with(&[]), &["cannot determine 8 values", "at least 8", "--free KEY"]);
    fs::write(folder.join("table.csv"), "method,figure,value,unit\ntrim-sweep,x,1,s\n").unwrap();
    refused(&["fit", "--table", "table.csv"], &["`table.csv`", "line 2", "no figure `x`"]);
    refused(&["what-if", "plain-nvme-tlc", "--free", "99%"], &["leave nothing to write to"]);
    refused(&["what-if", "plain-nvme-tl"], &["did you mean `plain-nvme-tlc`?"]);
}

#[test]
fn what_a_twin_of_another_capacity_cannot_do_is_left_out_with_the_reason() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    measured(folder);
    let output = trimbench(folder, &[&FIT[..], &["--capacity", "2GiB"]].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output).replace('\n', " ");
    assert!(text.contains("trim-sweep.trim-p50: it is not the same on 1GiB"), "{text}");
    let run = ["run", "steady-state", "--target", "sim:plain-nvme-tlc,capacity=2GiB"];
    let part = ["--set", "span=1GiB", "--output", "part"];
    let output = trimbench(folder, &[&run[..], &part].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let output = trimbench(folder, &["fit", "part", "--free", "nand.program"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    let errors = stderr(&output);
    assert!(errors.contains("steady-state: it covered 1GiB of 2GiB"), "{errors}");
    assert!(errors.contains("--set span=all"), "{errors}");
}

#[test]
fn only_a_drive_that_may_be_overwritten_is_measured_and_none_twice() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::File::create(folder.join("image")).unwrap().set_len(32 << 20).unwrap();
    let output = trimbench(folder, &["fit", "run", "--measure", "image"]);
    assert_eq!(code(&output), Some(3));
    assert!(stderr(&output).contains("--destroy"), "{}", stderr(&output));
    assert!(!folder.join("run").exists());
    let output = trimbench(folder, &["fit", "one", "other", "--measure", "image"]);
    assert!(stderr(&output).contains("needs one directory"), "{}", stderr(&output));
    measured(folder);
    let other = [&FIT[..], &["--measure", "sim:plain-nvme-tlc"]].concat();
    let output = trimbench(folder, &other);
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("measured is a record of `sim:"), "{}", stderr(&output));
    let again = ["--measure", DRIVE, "--dry-run"];
    let output = trimbench(folder, &[&FIT[..], &again].concat());
    assert_eq!((code(&output), stdout(&output)), (Some(0), String::new()));
    assert!(stderr(&output).contains("`measured` is measured"), "{}", stderr(&output));
    let output = trimbench(folder, &[&FIT[..], &again[..2]].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("trim.command"), "{}", stdout(&output));
}

#[test]
fn in_a_directory_an_unnamed_image_is_measured_and_no_file_there_is_touched() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let (there, theirs) = (folder.join("there"), folder.join("there/trimbench-fit.img"));
    fs::create_dir(&there).unwrap();
    fs::write(&theirs, "mine").unwrap();
    // A slow drive: what is simulated to choose the methods is over sooner.
    let begin = ["fit", "run", "--base", "vendor2", "--free", "trim.command", "--measure", "there"];
    let dry = trimbench(folder, &[&begin[..], &["--dry-run"]].concat());
    assert_eq!(code(&dry), Some(0), "{}", stderr(&dry));
    let place = fs::canonicalize(&there).unwrap();
    let on = format!("on scratch,size=1GiB:{}: at most", place.display());
    assert!(stdout(&dry).contains(&on), "{}", stdout(&dry));
    assert!(!folder.join("run").exists(), "nothing is left");
    // A record that names somebody's file, supplied or of a version that measured named images.
    measured(folder);
    let again = [&FIT[..], &["--measure", "there"]].concat();
    let output = trimbench(folder, &again);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    let record = folder.join("measured/run.json");
    let text = fs::read_to_string(&record).unwrap();
    let mut supplied: serde_json::Value = serde_json::from_str(&text).unwrap();
    let path = place.join("trimbench-fit.img");
    for finished in [true, false] {
        supplied["plan"][0]["target"] = path.to_str().unwrap().into();
        supplied["sessions"][0]["plan"]["target"] = path.to_str().unwrap().into();
        supplied["sessions"][0]["finished"] = finished.into();
        fs::write(&record, supplied.to_string()).unwrap();
        let output = trimbench(folder, &again);
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("is a record of `/"), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine");
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
}

#[test]
fn a_fit_that_is_interrupted_keeps_nothing() {
    let folder = tempdir().unwrap();
    measured(folder.path());
    let fit = [&FIT[..], &["--free", "nand.read", "--output", "twin.toml"]].concat();
    let mut child = command(folder.path(), &fit).spawn().unwrap();
    // From then on it answers to Ctrl-C.
    let status = format!("/proc/{}/status", child.id());
    wait_until(&mut child, || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & 2 != 0)
    });
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!folder.path().join("twin.toml").exists());
}

#[test]
fn free_space_buys_speed() {
    let folder = tempdir().unwrap();
    let output = trimbench(
        folder.path(),
        &["what-if", "plain-nvme-tlc,capacity=1GiB", "--free", "0%,30%", "--output-format", "json"],
    );
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let value = |row: usize, key: &str| found[row][key]["value"].as_f64().unwrap();
    assert!(value(1, "iops") > 2.0 * value(0, "iops"), "{found}");
    assert!(value(1, "amplification") < 0.5 * value(0, "amplification"), "{found}");
    assert!(value(1, "years") > 2.0 * value(0, "years"), "{found}");
    let [low, high] = [0, 1].map(|end| found[0]["iops"]["interval"][end].as_f64().unwrap());
    assert!(low < value(0, "iops") && value(0, "iops") < high, "{found}");
}
