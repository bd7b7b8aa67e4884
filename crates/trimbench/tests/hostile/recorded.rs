//! `trace record` on a full disk, and killed.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use tests::Need::{self, Loop, Root, Tracing};
use tests::{LoopDevice, Mounted, scratch};

use super::running::wait_for;
use super::{command, complaint, text, trimbench};

const RECORDS: &[Need] = &[Root, Loop, Tracing];
/// Bytes of a read.
const READ: u64 = 4_096;
/// Longer than the program waits before it saves, and than its watcher takes.
const SAVED: Duration = Duration::from_millis(600);

/// A running recording of a device without other users.
struct Recording {
    child: Child,
    device: File,
    reads: u64,
}

impl Recording {
    /// Begins to record in `folder`; it has begun when this returns.
    fn start((folder, device): (&Path, &LoopDevice), format: &str) -> Self {
        let arguments = ["trace", "record", device.node(), "out", "--to", format, "--overwrite"];
        let mut command = command(folder, &arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program was built");
        let mut begun = [0; "recording".len()];
        let stderr = child.stderr.as_mut().expect("it was asked for");
        let read = stderr.read_exact(&mut begun);
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        let opened = rustix::fs::open(device.node(), flags, Mode::empty());
        let device = File::from(opened.expect("we are root"));
        let recording = Self { child, device, reads: 0 };
        assert!(read.is_ok() && begun == *b"recording", "{}", String::from_utf8_lossy(&begun));
        recording
    }

    /// Reads so many times from scattered places.
    fn read(&mut self, count: u64) {
        let mut memory = vec![0; 2 * usize::try_from(READ).expect("it is small")];
        let aligned = memory.as_ptr().align_offset(4_096);
        let buffer = &mut memory[aligned..aligned + 4_096];
        for _ in 0..count {
            let place = self.reads * 7_919 % 4_000 * READ;
            rustix::io::pread(&self.device, &mut *buffer, place).expect("the device is there");
            self.reads += 1;
        }
    }

    /// What it printed and how, once it has ended by itself while the device is read.
    fn end(mut self) -> String {
        wait_for("end of the recording", || {
            self.read(100);
            self.child.try_wait().expect("it is a child")
        });
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("it was asked for");
        stderr.read_to_string(&mut said).expect("it is text");
        format!("{}: {said}", self.child.wait().expect("it is a child"))
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The commands that `trace stat` finds.
fn records(trace: &Path, lenient: bool) -> Result<u64, String> {
    let strictness: &[&str] = if lenient { &["--lenient"] } else { &[] };
    let arguments =
        [&["trace", "stat", text(trace), "--output-format", "json"], strictness].concat();
    let output = trimbench(Path::new("/"), &arguments);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    found["records"].as_u64().ok_or_else(|| complaint(&output))
}

/// Kills a recording after the first save; what it left is in `folder`.
#[expect(clippy::disallowed_methods, reason = "the program saves by the clock")]
fn killed(folder: &Path, format: &str) {
    let device = LoopDevice::new(16);
    let mut recording = Recording::start((folder, &device), format);
    recording.read(100);
    std::thread::sleep(SAVED);
    recording.kill();
}

#[test]
fn a_full_disk_leaves_a_recording() {
    machine!(alone, RECORDS);
    for (format, size) in
        [("trimbench", "size=64k"), ("iolog", "size=256k"), ("blkparse", "size=256k")]
    {
        let (folder, device) = (scratch(), LoopDevice::new(16));
        let place = folder.path().join("place");
        let _mounted = Mounted::new(&["-t", "tmpfs", "-o", size, "tmpfs"], &place);
        let said = Recording::start((&place, &device), format).end();
        let found = records(&place.join("out"), false);
        let found = found.unwrap_or_else(|why| panic!("{format} is lost: {why} ({said})"));
        let told = said.contains(&format!("the first {found} commands are kept in `out`"));
        let right = found > 0 && told && said.contains("exit status: 3");
        assert!(right, "of {format} there are {found} commands, and it said: {said}");
    }
}

#[test]
fn a_kill_leaves_a_recording() {
    machine!(alone, RECORDS);
    for format in ["trimbench", "iolog", "blkparse"] {
        let folder = scratch();
        killed(folder.path(), format);
        let entries = fs::read_dir(folder.path()).expect("the folder is ours").flatten();
        let found: Vec<_> = entries.map(|entry| records(&entry.path(), true)).collect();
        let whole = found.iter().flatten().any(|count| *count >= 100);
        assert!(whole, "of 100 commands there are in {format}: {found:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the watcher of the program takes its time")]
fn tracing_ends_with_a_killed_recording() {
    machine!(alone, RECORDS);
    let folder = scratch();
    let place = folder.path().join("tracefs");
    let _mounted = Mounted::new(&["-t", "tracefs", "tracefs"], &place);
    let instances = || {
        let entries = fs::read_dir(place.join("instances")).expect("tracefs is mounted").flatten();
        let names = entries.map(|entry| entry.path());
        let ours = names.filter(|path| path.to_string_lossy().contains("/trimbench-"));
        ours.collect::<Vec<PathBuf>>()
    };
    let before = instances();
    killed(folder.path(), "iolog");
    std::thread::sleep(SAVED);
    let left: Vec<PathBuf> =
        instances().into_iter().filter(|path| !before.contains(path)).collect();
    for path in &left {
        let _ = Command::new("rmdir").arg(path).output();
    }
    assert!(left.is_empty(), "tracing goes on: {left:?}");
}

/// A disk on which not even the beginning of a recording fits leaves what was there.
#[test]
fn a_full_disk_keeps_what_a_recording_would_replace() {
    machine!(alone, RECORDS);
    let (folder, device) = (scratch(), LoopDevice::new(16));
    let place = folder.path().join("place");
    let _mounted = Mounted::memory("4k", &place);
    fs::write(place.join("out"), vec![b'x'; 4_096]).expect("there is room");
    let arguments = ["trace", "record", device.node(), "out", "--to", "iolog", "--overwrite"];
    let output = trimbench(&place, &[&arguments[..], &["--time", "100ms"]].concat());
    let kept = fs::read(place.join("out")).is_ok_and(|content| content == vec![b'x'; 4_096]);
    assert!(
        kept && output.status.code() == Some(3),
        "what was there is lost ({})",
        complaint(&output)
    );
}
