//! blktrace's binary of a device, through ftrace's tracer `blk`, which works where blktrace(8) is
//! refused. It has no instances of its own: nobody else may trace meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// Where tracefs usually is.
const TRACEFS: &str = "/sys/kernel/tracing";
/// How long what was recorded takes to arrive.
const SETTLE: Duration = Duration::from_millis(500);

/// A recording. Dropping it ends it and leaves the tracer as it was found: off.
#[derive(Debug)]
pub(super) struct Recorder {
    device: PathBuf,
    reader: Child,
}

impl Recorder {
    /// Records the device at `node` into a file.
    pub(super) fn of(node: &str, into: &Path) -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "the kernel's tracer needs root");
        let tracer = read("current_tracer")?;
        ensure!(tracer.trim() == "nop", "someone else traces, with `{}`", tracer.trim());
        let name = Path::new(node).file_name().context("a device has a name")?;
        let device = Path::new("/sys/block").join(name).join("trace/enable");
        let file = File::create(into).with_context(|| format!("create {}", into.display()))?;
        for (what, value) in [
            ("current_tracer", "blk"),
            ("options/context-info", "0"),
            ("options/bin", "1"),
            ("buffer_size_kb", "16384"),
        ] {
            write(what, value)?;
        }
        let mut reader = Command::new("cat");
        reader.arg(Path::new(TRACEFS).join("trace_pipe")).stdout(file).stderr(Stdio::null());
        let recorder = Self { device, reader: reader.spawn().context("start cat")? };
        fs::write(&recorder.device, "1").context("switch the tracing of a device on")?;
        Ok(recorder)
    }

    /// Ends the recording, with all that was recorded.
    pub(super) fn end(self) {
        let _ = fs::write(&self.device, "0");
        super::pause(SETTLE);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // What is off already stays off.
        let _ = fs::write(&self.device, "0");
        let _ = self.reader.kill();
        let _ = self.reader.wait();
        for (what, value) in
            [("options/bin", "0"), ("options/context-info", "1"), ("current_tracer", "nop")]
        {
            if let Err(error) = write(what, value) {
                eprintln!("error: {error:#}");
            }
        }
    }
}

fn read(what: &str) -> Result<String> {
    let path = Path::new(TRACEFS).join(what);
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

fn write(what: &str, value: &str) -> Result<()> {
    let path = Path::new(TRACEFS).join(what);
    fs::write(&path, value).with_context(|| format!("write to {}", path.display()))
}
