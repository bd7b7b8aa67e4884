//! The dry run's forecast of bytes, compared with what the record says was written: for every kind
//! of target. A forecast is "at most": never less than what is written, and, where a method's
//! amount is known beforehand, at most a quarter more, so that what is written is within 20 % of
//! it.

use std::path::Path;

use tempfile::{TempDir, tempdir, tempdir_in};
use tests::Need::{self, Filesystem, Loop, Program, Root};
use tests::{LoopDevice, requires};

use super::{code, record, stderr, stdout, trimbench};

/// What is written is at least this share of the forecast.
const KEPT: f64 = 0.8;
/// Writers and the size to which their files grow: the amount of `delete-storm` is known.
const STORM: [&str; 2] = ["writers=2", "file-size=16MiB"];

/// Bytes of the line `label` of a dry run: `writes       at most about 4.30 GB to its files`.
fn forecast(plan: &str, label: &str) -> f64 {
    let of_label = |line: &&str| line.trim_start().starts_with(label);
    let line = plan.lines().find(of_label).unwrap_or_else(|| panic!("no {label} in {plan}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    let about = words.iter().position(|word| *word == "about").unwrap();
    let scale = match words[about + 2].trim_end_matches([',', ';']) {
        "TB" => 1e12,
        "GB" => 1e9,
        "MB" => 1e6,
        "kB" => 1e3,
        other => panic!("{other}: {line}"),
    };
    scale * words[about + 1].parse::<f64>().unwrap()
}

/// The sum of a metric or parameter over all steps of the only session.
fn sum(folder: &Path, run: &str, key: &str) -> f64 {
    let record = record(folder, run);
    // The step of a purge names the span, too, and writes nothing.
    let steps = record.sessions[0].steps.iter().filter(|step| !step.kind.starts_with("purge"));
    steps.filter_map(|step| step.metrics.get(key).or_else(|| step.parameters.get(key))).sum()
}

/// A method on a target, and the key of its steps that says what was written.
struct Case<'a> {
    method: &'a str,
    set: &'a [&'a str],
    target: &'a str,
    written: &'a str,
    /// What may be overwritten.
    destroy: Option<&'a str>,
}

impl Case<'_> {
    /// Asks for a forecast and runs; forecast and record, and both of the drives of a pool.
    fn run(&self, folder: &Path, run: &str) -> (f64, f64, String) {
        let set = self.set.iter().flat_map(|set| ["--set", set]);
        let destroy = self.destroy.map_or_else(Vec::new, |path| vec!["--destroy", path]);
        let arguments: Vec<&str> = ["run", self.method, "--target", self.target]
            .into_iter()
            .chain(set)
            .chain(destroy)
            .collect();
        let dry = trimbench(folder, &[&arguments[..], &["--dry-run"]].concat());
        let plan = stdout(&dry);
        assert!(!plan.contains("refused"), "{}: {plan}", self.target);
        let output = trimbench(folder, &[&arguments[..], &["--output", run]].concat());
        // A small one may be too short to be valid.
        assert!(matches!(code(&output), Some(0 | 4)), "{}: {}", self.target, stderr(&output));
        (forecast(&plan, "writes"), sum(folder, run, self.written), plan)
    }

    /// Whether the forecast is kept.
    fn check(&self, folder: &Path, run: &str) -> String {
        let (forecast, written, plan) = self.run(folder, run);
        let kept = written <= forecast && written >= KEPT * forecast;
        assert!(kept, "{} on {}: {written} of {forecast}", self.method, self.target);
        plan
    }
}

#[test]
fn an_emulated_drive_is_written_what_the_dry_run_says() {
    let folder = tempdir().unwrap();
    let target = "sim:generic-sata-tlc,capacity=256MiB";
    for (method, written) in [("idle-trim", "span_bytes"), ("recovery", "written_bytes")] {
        Case { method, set: &["rest=0"], target, written, destroy: None }
            .check(folder.path(), method);
    }
    // How many rounds it takes is not known beforehand: at most.
    let set = &["precondition=100%"][..];
    let case =
        Case { method: "steady-state", set, target, written: "written_bytes", destroy: None };
    let (forecast, written, _) = case.run(folder.path(), "steady");
    assert!(written <= forecast && written > 0.0, "{written} of {forecast}");
}

#[test]
fn modelled_filesystems_are_written_what_the_dry_run_says() {
    let folder = tempdir().unwrap();
    for name in ["ext4", "xfs", "btrfs", "f2fs"] {
        let target = format!("{name}:sim:generic-sata-tlc,capacity=1GiB");
        let written = "callers_written_bytes";
        let case =
            Case { method: "delete-storm", set: &STORM, target: &target, written, destroy: None };
        case.check(folder.path(), name);
    }
    let (target, written) = ("ext4:sim:vendor2", "written_bytes");
    let set = &["number=100", "transactions=400", "repetitions=3"][..];
    Case { method: "postmark", set, target, written, destroy: None }
        .check(folder.path(), "postmark");
}

#[test]
fn a_pool_and_its_drives_are_written_what_the_dry_run_says() {
    let folder = tempdir().unwrap();
    for (name, drives, ratio) in [("raidz2", 10, 1.25), ("raidz1", 3, 1.5), ("stripe", 2, 1.0)] {
        let target = format!("{name}:sim:generic-sata-tlc,capacity=1GiB*{drives}");
        let written = "callers_written_bytes";
        let set = &["writers=2", "file-size=64MiB"][..];
        let case = Case { method: "delete-storm", set, target: &target, written, destroy: None };
        let plan = case.check(folder.path(), name);
        let below = forecast(&plan, "on drives");
        let files = forecast(&plan, "writes");
        assert!((below / files / ratio - 1.0).abs() < 0.02, "{name}: {below} of {files}");
        // What is deleted before it leaves memory reaches no drive; metadata come on top.
        let reached = sum(folder.path(), name, "write_bytes");
        assert!(reached <= 1.1 * below && reached >= 0.5 * below, "{name}: {reached} of {below}");
        assert!(plan.contains("the room for them"), "{plan}");
    }
}

#[test]
fn a_pool_of_ten_slow_drives_is_written_what_the_dry_run_says_within_a_fifth() {
    let (folder, target) = (tempdir().unwrap(), "raidz2:sim:vendor2*10");
    let (set, written) = (&["file-size=128MiB"][..], "callers_written_bytes");
    let plan = Case { method: "delete-storm", set, target, written, destroy: None }
        .check(folder.path(), "run");
    let share = sum(folder.path(), "run", "write_bytes") / forecast(&plan, "on drives");
    assert!((0.8..=1.05).contains(&share), "{share} of what its drives were to be written");
}

#[test]
fn a_directory_is_written_what_the_dry_run_says() {
    let folder = tempdir_in("/var/tmp").unwrap();
    let target = folder.path().to_str().unwrap();
    let written = "callers_written_bytes";
    Case { method: "delete-storm", set: &STORM, target, written, destroy: None }
        .check(folder.path(), "run");
}

/// An image that takes no room.
fn image(mebibytes: u64) -> (TempDir, String) {
    let folder = tempdir_in("/var/tmp").unwrap();
    let path = std::fs::canonicalize(folder.path()).unwrap().join("disk.img");
    std::fs::File::create(&path).unwrap().set_len(mebibytes << 20).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn an_image_file_is_written_what_the_dry_run_says() {
    let (folder, target) = image(64);
    let set = &["rest=0"][..];
    for (method, written) in [("idle-trim", "span_bytes"), ("recovery", "written_bytes")] {
        let destroy = Some(&*target);
        Case { method, set, target: &target, written, destroy }.check(folder.path(), method);
    }
}

#[test]
fn a_loop_device_is_written_what_the_dry_run_says_by_the_kernels_own_count() {
    const TEST: &str =
        "forecasts::a_loop_device_is_written_what_the_dry_run_says_by_the_kernels_own_count";
    if !requires(TEST, &[Root, Loop]) {
        return;
    }
    let device = LoopDevice::new(64);
    let target = device.node().to_owned();
    let sectors = || {
        let name = Path::new(&target).file_name().unwrap().to_str().unwrap().to_owned();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(6).unwrap().parse::<f64>().unwrap() * 512.0
    };
    let folder = tempdir().unwrap();
    let before = sectors();
    let image = device.image().to_str().unwrap().to_owned();
    let destroy = Some(&*image);
    let written = "written_bytes";
    let case = Case { method: "recovery", set: &["rest=0"], target: &target, written, destroy };
    let (forecast, written, _) = case.run(folder.path(), "run");
    let counted = sectors() - before;
    for (who, bytes) in [("record", written), ("kernel", counted)] {
        assert!(bytes <= forecast && bytes >= KEPT * forecast, "{who}: {bytes} of {forecast}");
    }
}

#[test]
fn a_filesystem_that_is_made_on_an_image_is_written_what_the_dry_run_says() {
    const NEEDS: [Need; 4] = [Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")];
    const TEST: &str =
        "forecasts::a_filesystem_that_is_made_on_an_image_is_written_what_the_dry_run_says";
    if !requires(TEST, &NEEDS) {
        return;
    }
    let (folder, path) = image(512);
    let target = format!("ext4:{path}");
    let written = "callers_written_bytes";
    let destroy = Some(&*path);
    let case = Case { method: "delete-storm", set: &STORM, target: &target, written, destroy };
    case.check(folder.path(), "run");
}

/// Without rests the time is that of the bytes.
#[test]
fn the_time_is_foretold_for_the_rate_that_is_assumed() {
    let folder = tempdir().unwrap();
    let time = |rate: &[&str]| {
        let run =
            ["run", "recovery", "--target", "sim:like-rc100,capacity=2GiB", "--set", "rest=0s"];
        let output = trimbench(folder.path(), &[&run[..], &["--dry-run"], rate].concat());
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let plan = stdout(&output);
        let line = plan.lines().find(|line| line.trim_start().starts_with("time")).unwrap();
        line.to_owned()
    };
    let seconds = |line: &str| line.split_whitespace().nth(2).unwrap().parse::<f64>().unwrap();
    let (slow, fast) = (time(&[]), time(&["--assumed-rate", "2GB"]));
    assert!(slow.contains("at 500 MB a second (assumed)"), "{slow}");
    assert!(fast.contains("at 2.00 GB a second (assumed)"), "{fast}");
    let ratio = seconds(&slow) / seconds(&fast);
    assert!((3.5..4.5).contains(&ratio), "{slow} and {fast}");
}

/// A run of the same method on the same target says how long another takes there; one on emulated
/// drives says nothing of it, and nothing of other targets.
#[test]
fn the_time_is_foretold_by_that_of_an_earlier_run() {
    const TEST: &str = "forecasts::the_time_is_foretold_by_that_of_an_earlier_run";
    if !requires(TEST, &[Root]) {
        return;
    }
    let folder = tempdir().unwrap();
    let place = folder.path().join("place");
    std::fs::create_dir(&place).unwrap();
    let target = place.to_str().unwrap();
    let run = |more: &[&str]| {
        let run = ["run", "postmark", "--set", "number=20", "--set", "transactions=20"];
        trimbench(folder.path(), &[&run, more].concat())
    };
    let once = run(&["--target", target, "--set", "repetitions=1", "--output", "once"]);
    assert!(matches!(code(&once), Some(0 | 4)), "{}", stderr(&once));
    let host: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("once/host.json")).unwrap())
            .unwrap();
    let took = host["sessions"][0]["took_s"].as_f64().unwrap();

    let more = ["--target", target, "--set", "repetitions=4", "--dry-run", "--timed-by", "once"];
    let told = run(&more);
    assert_eq!(code(&told), Some(0), "{}", stderr(&told));
    let plan = stdout(&told);
    let line = plan.lines().find(|line| line.trim_start().starts_with("time")).unwrap();
    let words: Vec<&str> = line.split_whitespace().skip(2).take(2).collect();
    // Whole minutes from two on.
    let step = if words[1].starts_with("min") { 60.0 } else { 1.0 };
    let seconds = words[0].parse::<f64>().unwrap() * step;
    assert!(line.ends_with("as in the earlier run"), "{line}");
    // Rounded up to whole seconds first.
    assert!((0.0..step + 1.0).contains(&(seconds - 4.0 * took)), "{line}, of {took} s once");

    let elsewhere = run(&["--target", folder.path().to_str().unwrap(), "--dry-run"]);
    assert!(stdout(&elsewhere).contains("TRIMs comes on top"), "{}", stdout(&elsewhere));
    let on_drive = ["--target", "ext4:sim:vendor2", "--output", "drive"];
    assert!(matches!(code(&run(&on_drive)), Some(0 | 4)));
    let refused = run(&["--target", target, "--dry-run", "--timed-by", "drive"]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("does not say how long a session took"), "{refused:?}");
}

#[test]
fn the_memory_that_the_largest_drives_need_is_said_before_they_are_built() {
    let folder = tempdir().unwrap();
    for settings in ["capacity=61.44TB", "capacity=256TB,drive.over_provisioning=7%"] {
        let target = format!("sim:generic-nvme-qlc-large,drive.mapping_unit=64KiB,{settings}");
        let plan =
            trimbench(folder.path(), &["run", "trim-sweep", "--dry-run", "--target", &target]);
        // Where the machine has less, the refusal says how much it is.
        let said = if code(&plan) == Some(0) { stdout(&plan) } else { stderr(&plan) };
        assert!(said.contains("memory") && !said.contains("is beyond"), "{settings}: {said}");
    }
}
