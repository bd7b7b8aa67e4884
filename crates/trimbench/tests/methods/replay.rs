//! `replay`: the schedule of a trace, and a trace that was recorded here.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tests::Need::{Filesystem, Loop, Program, Root, Tracing};
use tests::program::Run;
use tests::{LoopDevice, LoopFilesystem, machine, requires, run};

use super::program;

/// A TRIM of 4 GiB and 4 KiB: longer than a drive takes at once, and than 32 bits hold.
const HUGE: u64 = (4 << 30) + 4_096;

/// A mix of commands some 20 ms apart, one in twenty a TRIM, with a huge one in it; on a drive
/// that stops for 80 ms for each TRIM.
#[test]
fn a_trace_keeps_its_times_with_and_without_trims_and_a_huge_trim_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (mix, trace) = (folder.path().join("mix"), folder.path().join("trace"));
    let shares = ["--trims", "5%", "--flushes", "0.5%", "--sequential", "25%"];
    let sizes = ["--capacity", "8GiB", "--commands", "4000", "--size", "16KiB", "--gap", "20ms"];
    let mut generate = program().command(&["trace", "generate", "--to", "iolog"]);
    generate.args(shares).args(sizes).arg(&mix);
    program().call_well(&mut generate).unwrap();
    let (mut text, mut trimmed) = (String::new(), 0);
    for (number, line) in std::fs::read_to_string(&mix).unwrap().lines().enumerate() {
        let fields: Vec<&str> = line.split(' ').collect();
        if number == 1_000 {
            writeln!(text, "{} trace trim 4096 {HUGE}", fields[0]).unwrap();
            trimmed += HUGE;
        }
        if fields.get(2) == Some(&"trim") {
            trimmed += fields[4].parse::<u64>().unwrap();
        }
        writeln!(text, "{line}").unwrap();
    }
    std::fs::write(&trace, text).unwrap();

    let trace = format!("trace={}", trace.display());
    let options = [trace.as_str(), "span=all", "pace=100%"];
    let run = program().run("replay", "sim:vendor2,capacity=8GiB", &options).unwrap();
    let of = |pass: &str, key: &str| run.step(pass).unwrap().metrics[key];
    for pass in ["paced-kept", "paced-stripped"] {
        same(of(pass, "lateness_ms_max"), 0.0, pass);
        assert!(of(pass, "write_count") > 3_000.0, "{pass}");
    }
    for key in ["write_count", "written_bytes", "flush_count"] {
        same(of("paced-kept", key), of("paced-stripped", key), key);
    }
    assert!(of("paced-kept", "discard_service_ms_max") >= 80.0, "the drive stops for a TRIM");
    same(of("paced-kept", "discarded_bytes"), trimmed as f64, "bytes trimmed");
    same(of("paced-stripped", "discarded_bytes"), 0.0, "bytes trimmed without TRIMs");
}

/// Counts in a record are numbers as doubles hold them.
#[track_caller]
fn same(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < f64::EPSILON, "{what}: {found}, not {expected}");
}

/// `trace record` under way; ended when dropped.
struct Recording {
    program: Child,
    is_over: bool,
}

impl Recording {
    /// Starts it and waits until it says that it records.
    fn begin(mut command: Command) -> Self {
        let mut program =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it was built");
        let said = program.stderr.take().unwrap();
        let recording = Self { program, is_over: false };
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).unwrap();
        assert!(line.starts_with("recording"), "no recording: {line}");
        recording
    }

    fn end(mut self) {
        run("kill", &["-INT", &self.program.id().to_string()]);
        let status = self.program.wait().unwrap();
        self.is_over = true;
        assert!(status.success(), "the recording ended with {status}");
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.program.kill();
            let _ = self.program.wait();
        }
    }
}

/// Bytes written and trimmed by the kernel's own counters of a device
/// (`Documentation/admin-guide/iostats.rst`).
fn counted(filesystem: &LoopFilesystem) -> [u64; 2] {
    run("sync", &["-f", filesystem.path().to_str().unwrap()]);
    let path = format!("/sys/block/{}/stat", filesystem.device_name());
    let text = std::fs::read_to_string(path).unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
    [512 * numbers[6], 512 * numbers[13]]
}

/// Records the device of a filesystem into a file while `PostMark` runs on it; the bytes that the
/// kernel counted meanwhile. It is mounted with `sync`: files that are deleted within seconds would
/// else not leave the page cache.
#[expect(clippy::disallowed_methods, reason = "the kernel sends discards when it pleases")]
fn record_postmark(file: &Path) -> [u64; 2] {
    let memory = tests::scratch();
    let filesystem = LoopFilesystem::within(memory.path(), "ext4", 640, "discard,sync");
    let before = counted(&filesystem);
    let mut recorder = program().command(&["trace", "record", filesystem.node()]);
    recorder.arg(file).args(["--to", "trimbench", "--event", "issue"]);
    let recording = Recording::begin(recorder);
    // Some hundred files of up to 40 kB at a time.
    let options = ["number=300", "size-high=40000B", "transactions=500"];
    let target = filesystem.path().to_str().unwrap();
    program().run_to_any_end("postmark", target, &options).unwrap();
    run("sync", &["-f", target]);
    // For discards that it sends late.
    std::thread::sleep(Duration::from_secs(4));
    let after = counted(&filesystem);
    recording.end();
    [after[0] - before[0], after[1] - before[1]]
}

/// Replays a trace, and on a device only with the image that may be destroyed.
fn replay(folder: &Path, file: &Path, target: &str, image: Option<&Path>) -> Run {
    let trace = format!("trace={}", file.display());
    let options = [trace.as_str(), "span=all", "passes=kept", "queue-depths=32", "window=1000"];
    let place: PathBuf = folder.join("run");
    let mut command = program().run_command("replay", (target, &options), &place);
    if let Some(image) = image {
        command.arg("--destroy").arg(image);
    }
    let run = Run::read(program().call(&mut command).unwrap(), &place).unwrap();
    std::fs::remove_dir_all(place).unwrap();
    run.ended_well().unwrap();
    run
}

#[test]
fn postmark_on_ext4_is_recorded_to_the_byte_and_replayed() {
    let test = "replay::postmark_on_ext4_is_recorded_to_the_byte_and_replayed";
    let needs = [Root, Loop, Tracing, Program("mkfs.ext4"), Filesystem("ext4")];
    if !requires(test, &needs) {
        return;
    }
    let _machine = machine::beside();
    let folder = tests::scratch();
    let file = folder.path().join("recorded");
    let counted = record_postmark(&file);
    let mut stat = program().command(&["trace", "stat", "--output-format", "json"]);
    let stat = program().call_well(stat.arg(&file)).unwrap();
    let statistics: Value = serde_json::from_str(&stat.stdout).unwrap();
    let [writes, trims] = ["write", "trim"].map(|kind| {
        let kinds = statistics["kinds"].as_array().unwrap();
        let found = kinds.iter().find(|it| it["kind"] == kind).unwrap();
        ["commands", "bytes"].map(|key| found[key].as_u64().unwrap())
    });
    assert_eq!([writes[1], trims[1]], counted, "bytes written and trimmed");
    assert!(trims[0] >= 100, "{} TRIMs", trims[0]);

    let device = LoopDevice::within(Path::new("/dev/shm"), 640);
    for (target, image) in
        [("sim:generic-sata-tlc,capacity=640MiB", None), (device.node(), Some(device.image()))]
    {
        let run = replay(folder.path(), &file, target, image);
        let of = |key: &str| run.step("qd32-kept").unwrap().metrics[key];
        same(of("write_count"), writes[0] as f64, target);
        same(of("discarded_bytes"), trims[1] as f64, target);
    }
}
