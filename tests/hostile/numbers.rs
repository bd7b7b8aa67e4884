//! Figures that were wrong, or that hid a problem.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Attack, Tool, attack, complaint, unless};
use crate::{LoopDevice, Need, scratch};

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[
    attack("damaged_group_of_rows_counts_as_one_row", &[], damaged_group),
    attack("damaged_checksum_is_counted_as_rows", &[], damaged_sum),
    attack(
        "file_below_a_loop_device_is_cut_off_unnoticed",
        &[Need::Root, Need::Loop],
        cut_off_midway,
    ),
    attack(
        "file_below_a_loop_device_is_too_short_from_the_start",
        &[Need::Root, Need::Loop],
        too_short,
    ),
    attack("session_of_another_plan_is_gone_on_with", &[], stray_session),
    attack("session_beyond_the_plan_is_gone_on_with", &[], surplus_session),
    attack("destroyed_histogram_is_reported_as_sound", &[], destroyed_histogram),
    attack("histogram_of_another_step_is_reported_as_sound", &[], foreign_histogram),
    attack("destroyed_histogram_is_compared_as_sound", &[], compared_histogram),
    attack("missing_trace_is_blamed_on_the_target", &[], missing_trace),
    attack("trace_that_is_the_target_is_taken_for_another_user", &[], trace_is_image),
    attack("trace_below_the_target_is_overwritten", &[Need::Root, Need::Loop], trace_below_loop),
    attack("reason_of_the_system_has_no_name", &[], nameless_reasons),
    attack("memory_of_an_emulated_drive_is_a_surprise", &[], announced_memory),
];

const DRIVE: &str = "sim:vendor2,capacity=1GiB";
/// A session of some 20 steps that takes a tenth of a second and touches 5 MiB.
const QUICK: [&str; 7] =
    ["run", "trim-integrity", "--no-report", "--set", "region=4MiB", "--set", "guard=512KiB"];
/// Of images.
const SIZE: u64 = 128 << 20;

fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&QUICK[..], more].concat()
}

/// A folder, by its whole name.
fn folder() -> (TempDir, PathBuf) {
    let folder = scratch();
    let path = fs::canonicalize(folder.path()).expect("it is there");
    (folder, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary names are ASCII")
}

fn ended(output: &Output, code: i32) -> Result<(), String> {
    unless(output.status.code() == Some(code), || complaint(output))
}

fn says(output: &Output, words: &str) -> Result<(), String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    unless(errors.contains(words), || complaint(output))
}

fn record(folder: &Path, run: &str) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join(run).join("run.json")).ok()?).ok()
}

/// A finished run of an emulated drive in `run`, its record changed.
fn changed_record(tool: &Tool, folder: &Path, run: &str, change: impl FnOnce(&mut Value)) {
    let method = ["run", "steady-state", "--no-report", "--target", DRIVE, "--output", run];
    let output = tool.run(folder, &method);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", complaint(&output));
    let mut json = record(folder, run).expect("the run was kept");
    change(&mut json);
    let bytes = serde_json::to_vec_pretty(&json).expect("it was JSON");
    fs::write(folder.join(run).join("run.json"), bytes).expect("the folder is ours");
}

/// A trace in the program's own format, of two groups of rows.
fn trace(tool: &Tool, folder: &Path, rows: u64) -> PathBuf {
    let rows = rows.to_string();
    let arguments = ["trace", "generate", "trace", "--to", "trimbench", "--capacity", "64MiB"];
    let output = tool.run(folder, &[&arguments[..], &["--commands", &rows]].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    folder.join("trace")
}

/// Rows that the program says it read and skipped, of a trace that is damaged.
fn stat(tool: &Tool, folder: &Path) -> Result<(u64, u64), String> {
    let arguments = ["trace", "stat", "trace", "--lenient", "--output-format", "json"];
    let output = tool.run(folder, &arguments);
    ended(&output, 0)?;
    let json: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let kinds = json["kinds"].as_array().ok_or("no kinds")?;
    let read = kinds.iter().filter_map(|kind| kind["commands"].as_u64()).sum();
    let errors = String::from_utf8_lossy(&output.stderr);
    let rows = errors.lines().filter(|line| line.contains("row"));
    let count = |line: &str| line.strip_prefix("skipped: ")?.split(' ').next()?.parse::<u64>().ok();
    Ok((read, rows.filter_map(count).sum()))
}

fn damaged_group(tool: &Tool) -> Result<(), String> {
    const ROWS: u64 = 300_000;
    let (_keep, folder) = folder();
    let file = File::options().read(true).write(true).open(trace(tool, &folder, ROWS));
    let file = file.expect("it was written");
    // The header of the first page of the first group, behind the file's magic.
    let mut bytes = [0; 20];
    file.read_exact_at(&mut bytes, 4).expect("it is longer");
    file.write_all_at(&bytes.map(|byte| byte ^ 0x5a), 4).expect("it is ours");
    let (read, skipped) = stat(tool, &folder)?;
    unless(read + skipped == ROWS && read < ROWS, || {
        format!("{read} rows were read and {skipped} skipped, of {ROWS}")
    })
}

fn damaged_sum(tool: &Tool) -> Result<(), String> {
    const ROWS: u64 = 1_000;
    let (_keep, folder) = folder();
    let path = trace(tool, &folder, ROWS);
    let mut bytes = fs::read(&path).expect("it was written");
    let key = b"trimbench.sum";
    let at = bytes.windows(key.len()).position(|part| part == key).expect("it has a checksum");
    // Sixteen digits behind the key and the length of the text.
    let digit = &mut bytes[at + key.len() + 4];
    *digit = if *digit == b'0' { b'1' } else { b'0' };
    fs::write(&path, bytes).expect("it is ours");
    let (read, skipped) = stat(tool, &folder)?;
    unless((read, skipped) == (ROWS, 0), || {
        format!("{read} rows were read and {skipped} skipped, of {ROWS}")
    })
}

/// A run whose standard output is a pipe with room for a few steps: it waits there, and cannot come
/// to its end before the pipe is emptied.
struct Waiting {
    child: std::process::Child,
    reader: std::io::PipeReader,
}

impl Waiting {
    /// Waits until the run has kept a step.
    #[expect(clippy::disallowed_methods, reason = "it waits for what another process does")]
    fn begin(mut command: Command, room: usize, run: &Path) -> Self {
        let (reader, mut writer) = pipe().expect("pipes can be made");
        // A pipe of Linux holds 64 KiB.
        writer.write_all(&vec![b'\n'; (64 << 10) - room]).expect("there is room");
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn();
        let child = child.expect("the program was built");
        // It has the other end, too.
        drop(command);
        let holds_step = |file: &str| {
            fs::read_to_string(run.join(file)).is_ok_and(|text| text.contains("\"metrics\""))
        };
        // The program of before kept steps in the record.
        let has_step = || ["steps.ndjson", "run.json"].into_iter().any(holds_step);
        let mut waiting = Self { child, reader };
        let mut waited = 0;
        while !has_step() && waited < 10_000 {
            std::thread::sleep(Duration::from_millis(2));
            waited += 1;
        }
        if waited == 10_000 {
            waiting.stop();
            panic!("no step was kept");
        }
        waiting
    }

    /// Ends it where it is.
    fn stop(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
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

fn cut_off_midway(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = folder.join("image");
    let device = LoopDevice::over(&image, SIZE >> 20);
    let named = ["--target", device.node(), "--destroy", text(&image), "--output", "run"];
    let more = [&named[..], &["--output-format", "ndjson"]].concat();
    let command = tool.command(&folder, &quick(&more));
    let waiting = Waiting::begin(command, 4 << 10, &folder.join("run"));
    // Behind what the run reads and writes: nothing fails.
    resize(&image, SIZE / 2);
    let output = waiting.end();
    ended(&output, 3)?;
    says(&output, "its backing file has")?;
    let marked = |record: &Value| {
        let steps = record["sessions"][0]["steps"].as_array().cloned().unwrap_or_default();
        let is_marked = |step: &Value| step["caveats"] == json!(["target-changed"]);
        (steps.len(), steps.iter().filter(|step| is_marked(step)).count())
    };
    let kept = record(&folder, "run").ok_or("the record is lost")?;
    let (steps, bad) = marked(&kept);
    unless(steps > 1 && bad == 1, || format!("{bad} of {steps} steps are marked"))?;
    // The step is measured again once the file is as it was.
    resize(&image, SIZE);
    let resume = ["run", "--no-report", "--resume", "run", "--destroy", text(&image)];
    let output = tool.run(&folder, &resume);
    unless(matches!(output.status.code(), Some(0 | 4)), || complaint(&output))?;
    let (all, bad) = marked(&record(&folder, "run").ok_or("the record is lost")?);
    unless(all > steps && bad == 0, || format!("{bad} of {all} steps are marked in the end"))
}

fn too_short(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = folder.join("image");
    let device = LoopDevice::over(&image, SIZE >> 20);
    resize(&image, SIZE / 2);
    let named = ["--target", device.node(), "--destroy", text(&image), "--output", "run"];
    let output = tool.run(&folder, &quick(&named));
    ended(&output, 3)?;
    says(&output, "its backing file has")?;
    unless(!folder.join("run").exists(), || "something was measured".to_owned())
}

fn resume(tool: &Tool, folder: &Path) -> Output {
    tool.run(folder, &["run", "--no-report", "--resume", "run"])
}

fn stray_session(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    changed_record(tool, &folder, "run", |json| {
        json["sessions"][0]["plan"]["preset"] = json!("published");
    });
    let output = resume(tool, &folder);
    ended(&output, 2)?;
    says(&output, "session 0 of the record")
}

fn surplus_session(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    changed_record(tool, &folder, "run", |json| {
        let session = json["sessions"][0].clone();
        json["sessions"].as_array_mut().expect("a list").push(session);
    });
    let output = resume(tool, &folder);
    ended(&output, 2)?;
    says(&output, "session 1 of the record")
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

fn destroyed_histogram(tool: &Tool) -> Result<(), String> {
    for histogram in ["not base64", "bm8gaGlzdG9ncmFt"] {
        let (_keep, folder) = folder();
        let mut step = String::new();
        changed_record(tool, &folder, "run", |json| step = destroy(json, histogram));
        let output = tool.run(&folder, &["report", "run"]);
        ended(&output, 2)?;
        says(&output, &format!("step `{step}`"))?;
        says(&output, "histogram")?;
    }
    Ok(())
}

fn foreign_histogram(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let mut step = String::new();
    changed_record(tool, &folder, "run", |json| {
        let count = |step: &Value| step["metrics"]["command_count"].clone();
        let steps = with_histogram(json);
        let own = count(steps[0]);
        let other = steps.iter().find(|step| count(step) != own).expect("steps differ");
        let histogram = other["histograms"]["latency"].as_str().expect("a text").to_owned();
        step = destroy(json, &histogram);
    });
    let output = tool.run(&folder, &["report", "run"]);
    ended(&output, 2)?;
    says(&output, &format!("step `{step}`"))?;
    says(&output, "command_count")
}

fn compared_histogram(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    changed_record(tool, &folder, "before", |_| {});
    changed_record(tool, &folder, "after", |json| {
        destroy(json, "AAAA");
    });
    let output = tool.run(&folder, &["compare", "before", "after"]);
    ended(&output, 2)?;
    says(&output, "histogram")
}

fn missing_trace(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let arguments = ["run", "replay", "--target", DRIVE, "--output", "run", "--set"];
    let output = tool.run(&folder, &[&arguments[..], &["trace=missing.trace"]].concat());
    ended(&output, 2)?;
    says(&output, "the trace cannot be read: missing.trace: ENOENT")?;
    let blamed = String::from_utf8_lossy(&output.stderr).contains("error: `sim:");
    unless(!blamed, || complaint(&output))?;
    unless(!folder.join("run").exists(), || "a run was begun".to_owned())
}

/// A trace whose file is as large as an image must be: with a hole between its rows, whose places
/// its end names, and its end.
fn large_trace(tool: &Tool, folder: &Path) -> PathBuf {
    let path = trace(tool, folder, 1_000);
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
fn replayed(tool: &Tool, folder: &Path, target: &str, image: &Path) -> Result<(), String> {
    let before = fs::read(image).expect("it is ours");
    let trace = format!("trace={}", text(image));
    let named = ["--target", target, "--destroy", text(image), "--output", "run"];
    let replay = ["run", "replay", "--no-report", "--set", "passes=kept", "--set", "rest=0s"];
    let more = ["--set", trace.as_str()];
    let output = tool.run(folder, &[&replay[..], &more, &named].concat());
    unless(fs::read(image).is_ok_and(|after| after == before), || {
        format!("the trace was overwritten: {}", complaint(&output))
    })?;
    ended(&output, 3)?;
    says(&output, "lies on the target")
}

fn trace_is_image(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = large_trace(tool, &folder);
    replayed(tool, &folder, text(&image), &image)
}

fn trace_below_loop(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let image = large_trace(tool, &folder);
    let device = LoopDevice::on(&image);
    replayed(tool, &folder, device.node(), &image)
}

fn nameless_reasons(tool: &Tool) -> Result<(), String> {
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
        let output = tool.run(&folder, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        unless(errors.contains(name) && !errors.contains("os error"), || complaint(&output))?;
    }
    Ok(())
}

fn announced_memory(tool: &Tool) -> Result<(), String> {
    let (_keep, folder) = folder();
    let drive = "sim:vendor2,capacity=32GiB";
    let method = ["run", "steady-state", "--no-report", "--target", drive];
    let output = tool.run(&folder, &[&method[..], &["--dry-run"]].concat());
    ended(&output, 0)?;
    let plan = String::from_utf8_lossy(&output.stdout);
    let line = plan.lines().find(|line| line.trim_start().starts_with("memory"));
    let line = line.ok_or("the plan does not say how much memory it takes")?;
    let word = |words: &str| words.split_whitespace().nth(2).and_then(|word| word.parse().ok());
    let announced: f64 = word(line).ok_or_else(|| line.to_owned())?;
    unless(line.contains(" MB "), || line.to_owned())?;
    // The peak, when the first step is printed: by then the drive was made, filled and purged.
    let more = ["--output", "run", "--output-format", "ndjson"];
    let mut command = tool.command(&folder, &[&method[..], &more].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let measured = lines.map_while(Result::ok).any(|line| line.contains("\"event\":\"step\""));
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    unless(measured, || "no step was printed".to_owned())?;
    let status = status.map_err(|error| error.to_string())?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let peak = peak.ok_or("no peak")? * 1_024.0 / 1e6;
    let least = announced * 0.9;
    unless((least..=announced * 1.1 + 25.0).contains(&peak), || {
        format!("{announced} MB were announced, and the peak was {peak} MB")
    })
}
