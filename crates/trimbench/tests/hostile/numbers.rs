//! Figures that were wrong, or that hid a problem.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tests::LoopDevice;
use tests::Need::{Loop, Root};

use super::running::wait_for;
use super::{
    DRIVE, command, complaint, ended, folder, measured, quick, refused, says, text, trimbench,
};

/// Of images.
const SIZE: u64 = 128 << 20;

/// The record in a directory of `folder`.
fn record(folder: &Path, run: &str) -> Value {
    let bytes = fs::read(folder.join(run).join("run.json")).expect("the run was kept");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

/// A finished run of an emulated drive in `run`, its record changed.
fn changed_record(folder: &Path, run: &str, change: impl FnOnce(&mut Value)) {
    let method = ["run", "steady-state", "--no-report", "--target", DRIVE, "--output", run];
    let output = trimbench(folder, &method);
    measured(&output);
    let mut json = record(folder, run);
    change(&mut json);
    let bytes = serde_json::to_vec_pretty(&json).expect("it was JSON");
    fs::write(folder.join(run).join("run.json"), bytes).expect("the folder is ours");
}

/// A trace in the program's own format, of two groups of rows.
fn trace(folder: &Path, rows: u64) -> PathBuf {
    let rows = rows.to_string();
    let arguments = ["trace", "generate", "trace", "--to", "trimbench", "--capacity", "64MiB"];
    let output = trimbench(folder, &[&arguments[..], &["--commands", &rows]].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    folder.join("trace")
}

/// Rows that the program says it read and skipped, of a trace that is damaged.
fn stat(folder: &Path) -> (u64, u64) {
    let arguments = ["trace", "stat", "trace", "--lenient", "--output-format", "json"];
    let output = trimbench(folder, &arguments);
    ended(&output, 0);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let kinds = json["kinds"].as_array().expect("a list");
    let read = kinds.iter().filter_map(|kind| kind["commands"].as_u64()).sum();
    let errors = String::from_utf8_lossy(&output.stderr);
    let rows = errors.lines().filter(|line| line.contains("row"));
    let count = |line: &str| line.strip_prefix("skipped: ")?.split(' ').next()?.parse::<u64>().ok();
    (read, rows.filter_map(count).sum())
}

/// A run whose standard output is a pipe with room for a few steps: it waits there, and cannot come
/// to its end before the pipe is emptied.
struct Waiting {
    child: std::process::Child,
    reader: std::io::PipeReader,
}

impl Waiting {
    /// Waits until the run has kept a step.
    fn begin(mut command: Command, room: usize, run: &Path) -> Self {
        let (reader, mut writer) = pipe().expect("pipes can be made");
        // A pipe of Linux holds 64 KiB.
        writer.write_all(&vec![b'\n'; (64 << 10) - room]).expect("there is room");
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn();
        let child = child.expect("the program was built");
        // It has the other end, too.
        drop(command);
        let waiting = Self { child, reader };
        wait_for("step that was kept", || {
            let kept = fs::read_to_string(run.join("steps.ndjson")).ok()?;
            kept.contains("\"metrics\"").then_some(())
        });
        waiting
    }

    /// Lets it go on to its end.
    fn end(mut self) -> Output {
        let mut stdout = Vec::new();
        self.reader.read_to_end(&mut stdout).expect("the pipe is ours");
        self.child.wait_with_output().expect("it is our child")
    }
}

fn resize(image: &Path, size: u64) {
    let file = File::options().write(true).open(image).expect("it is ours");
    file.set_len(size).expect("it is ours");
}

/// The steps of a record that have a histogram.
fn with_histogram(json: &mut Value) -> Vec<&mut Value> {
    let steps = json["sessions"][0]["steps"].as_array_mut().expect("a list").iter_mut();
    steps.filter(|step| step["histograms"]["latency"].is_string()).collect()
}

/// Replaces the first one; the step's id.
fn destroy(json: &mut Value, histogram: &str) -> String {
    let mut steps = with_histogram(json);
    steps[0]["histograms"]["latency"] = json!(histogram);
    steps[0]["id"].as_str().expect("a text").to_owned()
}

/// A trace whose file is as large as an image must be: with a hole between its rows, whose places
/// its end names, and its end.
fn large_trace(folder: &Path) -> PathBuf {
    let path = trace(folder, 1_000);
    let bytes = fs::read(&path).expect("it was written");
    let length = bytes[bytes.len() - 8..][..4].try_into().expect("four bytes");
    let end = usize::try_from(u32::from_le_bytes(length)).expect("it is short") + 8;
    let (rows, end) = bytes.split_at(bytes.len() - end);
    let file = File::create(&path).expect("it is ours");
    file.write_all_at(rows, 0).expect("there is room");
    file.write_all_at(end, SIZE - end.len() as u64).expect("there is room");
    path
}

/// Replays the trace on `target`, and looks whether it is still there.
fn replayed(folder: &Path, target: &str, image: &Path) {
    let before = fs::read(image).expect("it is ours");
    let trace = format!("trace={}", text(image));
    let named = ["--target", target, "--destroy", text(image), "--output", "run"];
    let replay = ["run", "replay", "--no-report", "--set", "passes=kept", "--set", "rest=0s"];
    let more = ["--set", trace.as_str()];
    let output = trimbench(folder, &[&replay[..], &more, &named].concat());
    assert!(
        fs::read(image).is_ok_and(|after| after == before),
        "the trace was overwritten: {}",
        complaint(&output)
    );
    refused(&output, "lies on the target");
}

#[test]
fn a_damaged_group_of_rows_counts_as_all_of_its_rows() {
    const ROWS: u64 = 300_000;
    let (_keep, folder) = folder();
    let file = File::options().read(true).write(true).open(trace(&folder, ROWS));
    let file = file.expect("it was written");
    // The header of the first page of the first group, behind the file's magic.
    let mut bytes = [0; 20];
    file.read_exact_at(&mut bytes, 4).expect("it is longer");
    file.write_all_at(&bytes.map(|byte| byte ^ 0x5a), 4).expect("it is ours");
    let (read, skipped) = stat(&folder);
    assert!(
        read + skipped == ROWS && read < ROWS,
        "{read} rows were read and {skipped} skipped, of {ROWS}"
    );
}

#[test]
fn a_damaged_checksum_is_not_counted_as_rows() {
    const ROWS: u64 = 1_000;
    let (_keep, folder) = folder();
    let path = trace(&folder, ROWS);
    let mut bytes = fs::read(&path).expect("it was written");
    let key = b"trimbench.sum";
    let at = bytes.windows(key.len()).position(|part| part == key).expect("it has a checksum");
    // Sixteen digits behind the key and the length of the text.
    let digit = &mut bytes[at + key.len() + 4];
    *digit = if *digit == b'0' { b'1' } else { b'0' };
    fs::write(&path, bytes).expect("it is ours");
    let (read, skipped) = stat(&folder);
    assert!((read, skipped) == (ROWS, 0), "{read} rows were read and {skipped} skipped, of {ROWS}");
}

#[test]
fn a_file_below_a_loop_device_that_is_cut_off_is_noticed() {
    machine!(beside, &[Root, Loop]);
    let (_keep, folder) = folder();
    let image = folder.join("image");
    let device = LoopDevice::over(&image, SIZE >> 20);
    let named = ["--target", device.node(), "--destroy", text(&image), "--output", "run"];
    let more = [&named[..], &["--output-format", "ndjson"]].concat();
    let waiting = Waiting::begin(command(&folder, &quick(&more)), 4 << 10, &folder.join("run"));
    // Behind what the run reads and writes: nothing fails.
    resize(&image, SIZE / 2);
    let output = waiting.end();
    refused(&output, "its backing file has");
    let marked = |record: &Value| {
        let steps = record["sessions"][0]["steps"].as_array().cloned().unwrap_or_default();
        let is_marked = |step: &Value| step["caveats"] == json!(["target-changed"]);
        (steps.len(), steps.iter().filter(|step| is_marked(step)).count())
    };
    let kept = record(&folder, "run");
    let (steps, bad) = marked(&kept);
    assert!(steps > 1 && bad == 1, "{bad} of {steps} steps are marked");
    // The step is measured again once the file is as it was.
    resize(&image, SIZE);
    let resume = ["run", "--no-report", "--resume", "run", "--destroy", text(&image)];
    let output = trimbench(&folder, &resume);
    measured(&output);
    let (all, bad) = marked(&record(&folder, "run"));
    assert!(all > steps && bad == 0, "{bad} of {all} steps are marked in the end");
}

#[test]
fn a_file_below_a_loop_device_that_is_too_short_is_refused() {
    machine!(beside, &[Root, Loop]);
    let (_keep, folder) = folder();
    let image = folder.join("image");
    let device = LoopDevice::over(&image, SIZE >> 20);
    resize(&image, SIZE / 2);
    let named = ["--target", device.node(), "--destroy", text(&image), "--output", "run"];
    let output = trimbench(&folder, &quick(&named));
    refused(&output, "its backing file has");
    assert!(!folder.join("run").exists(), "something was measured");
}

#[test]
fn sessions_of_another_plan_or_beyond_it_are_not_gone_on_with() {
    for (number, is_surplus) in [(0, false), (1, true)] {
        let (_keep, folder) = folder();
        changed_record(&folder, "run", |json| {
            let session = json["sessions"][0].clone();
            if is_surplus {
                json["sessions"].as_array_mut().expect("a list").push(session);
            } else {
                json["sessions"][0]["plan"]["preset"] = json!("published");
            }
        });
        let output = trimbench(&folder, &["run", "--no-report", "--resume", "run"]);
        ended(&output, 2);
        says(&output, &format!("session {number} of the record"));
    }
}

#[test]
fn a_destroyed_histogram_is_not_reported() {
    for histogram in ["not base64", "bm8gaGlzdG9ncmFt"] {
        let (_keep, folder) = folder();
        let mut step = String::new();
        changed_record(&folder, "run", |json| step = destroy(json, histogram));
        let output = trimbench(&folder, &["report", "run"]);
        ended(&output, 2);
        says(&output, &format!("step `{step}`"));
        says(&output, "histogram");
    }
}

#[test]
fn the_histogram_of_another_step_is_not_reported() {
    let (_keep, folder) = folder();
    let mut step = String::new();
    changed_record(&folder, "run", |json| {
        let count = |step: &Value| step["metrics"]["command_count"].clone();
        let steps = with_histogram(json);
        let own = count(steps[0]);
        let other = steps.iter().find(|step| count(step) != own).expect("steps differ");
        let histogram = other["histograms"]["latency"].as_str().expect("a text").to_owned();
        step = destroy(json, &histogram);
    });
    let output = trimbench(&folder, &["report", "run"]);
    ended(&output, 2);
    says(&output, &format!("step `{step}`"));
    says(&output, "command_count");
}

#[test]
fn a_destroyed_histogram_is_not_compared() {
    let (_keep, folder) = folder();
    changed_record(&folder, "before", |_| {});
    changed_record(&folder, "after", |json| {
        destroy(json, "AAAA");
    });
    let output = trimbench(&folder, &["compare", "before", "after"]);
    ended(&output, 2);
    says(&output, "histogram");
}

#[test]
fn a_missing_trace_is_not_blamed_on_the_target() {
    let (_keep, folder) = folder();
    let arguments = ["run", "replay", "--target", DRIVE, "--output", "run", "--set"];
    let output = trimbench(&folder, &[&arguments[..], &["trace=missing.trace"]].concat());
    ended(&output, 2);
    says(&output, "the trace cannot be read: missing.trace: ENOENT");
    let blamed = String::from_utf8_lossy(&output.stderr).contains("error: `sim:");
    assert!(!blamed, "{}", complaint(&output));
    assert!(!folder.join("run").exists(), "a run was begun");
}

#[test]
fn a_trace_that_is_the_target_is_not_taken_for_another_user() {
    let (_keep, folder) = folder();
    let image = large_trace(&folder);
    replayed(&folder, text(&image), &image);
}

#[test]
fn a_trace_below_the_target_is_not_overwritten() {
    machine!(beside, &[Root, Loop]);
    let (_keep, folder) = folder();
    let image = large_trace(&folder);
    let device = LoopDevice::on(&image);
    replayed(&folder, device.node(), &image);
}

#[test]
fn reasons_of_the_system_have_names() {
    let (_keep, folder) = folder();
    fs::write(folder.join("file"), "no folder").expect("the folder is ours");
    for (arguments, name) in [
        (&["report", "missing"][..], "ENOENT"),
        (&["trace", "stat", "file/trace"], "ENOTDIR"),
        (&["import", "postmark", "missing"], "ENOENT"),
        (&["run", "--dry-run", "--target", "sim:./missing.toml"], "ENOENT"),
        (&["run", "--dry-run", "--target", "file/image"], "ENOTDIR"),
        (&["run", "--target", DRIVE, "--output", "file/run"], "ENOTDIR"),
        (&["trace", "generate", "file/x", "--to", "iolog", "--commands", "1"], "ENOTDIR"),
    ] {
        let output = trimbench(&folder, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(name) && !errors.contains("os error"), "{}", complaint(&output));
    }
}

#[test]
fn the_memory_of_an_emulated_drive_is_as_announced() {
    let (_keep, folder) = folder();
    let drive = "sim:vendor2,capacity=32GiB";
    let method = ["run", "steady-state", "--no-report", "--target", drive];
    let output = trimbench(&folder, &[&method[..], &["--dry-run"]].concat());
    ended(&output, 0);
    let plan = String::from_utf8_lossy(&output.stdout);
    let line = plan.lines().find(|line| line.trim_start().starts_with("memory"));
    let line = line.expect("the plan says how much memory it takes");
    let word = |words: &str| words.split_whitespace().nth(2).and_then(|word| word.parse().ok());
    let announced: f64 = word(line).unwrap_or_else(|| panic!("{line}"));
    assert!(line.contains(" MB "), "{line}");
    // The peak, when the first step is printed: by then the drive was made, filled and purged.
    let more = ["--output", "run", "--output-format", "ndjson"];
    let mut run = command(&folder, &[&method[..], &more].concat());
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let is_measured = lines.map_while(Result::ok).any(|line| line.contains("\"event\":\"step\""));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(is_measured, "no step was printed");
    let status = status.expect("it was there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let peak = peak.expect("it had memory") * 1_024.0 / 1e6;
    let least = announced * 0.9;
    assert!(
        (least..=announced * 1.1 + 25.0).contains(&peak),
        "{announced} MB were announced, and the peak was {peak} MB"
    );
}
