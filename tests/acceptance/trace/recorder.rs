//! blktrace's binary of a device, through ftrace's tracer `blk`, which works where blktrace(8) is
//! refused. It has no instances of its own: nobody else may trace meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::tracefs::Tracefs;

/// How long what was recorded takes to arrive.
const SETTLE: Duration = Duration::from_millis(500);

/// A recording. Dropping it ends it and leaves the tracer as it was found: off.
#[derive(Debug)]
pub(super) struct Recorder {
    device: PathBuf,
    reader: Child,
    /// Put back when this is dropped, after the recording has ended.
    _settings: Settings,
    /// Gone last, if it is a mount of ours.
    _tracefs: Tracefs,
}

/// What the tracer's settings were before. Dropping it puts them back, the last one first.
#[derive(Debug)]
struct Settings {
    folder: PathBuf,
    former: Vec<(&'static str, String)>,
}

impl Recorder {
    /// Records the device at `node` into a file.
    pub(super) fn of(node: &str, into: &Path) -> Result<Self> {
        let tracefs = Tracefs::open()?;
        let pipe = tracefs.path().join("trace_pipe");
        let folder = tracefs.path().to_owned();
        let mut settings = Settings { folder, former: Vec::new() };
        let tracer = settings.read("current_tracer")?;
        ensure!(tracer == "nop", "someone else traces, with `{tracer}`");
        let name = Path::new(node).file_name().context("a device has a name")?;
        let device = Path::new("/sys/block").join(name).join("trace/enable");
        let file = File::create(into).with_context(|| format!("create {}", into.display()))?;
        for (what, value) in [
            ("current_tracer", "blk"),
            ("options/context-info", "0"),
            ("options/bin", "1"),
            ("buffer_size_kb", "16384"),
        ] {
            settings.set(what, value)?;
        }
        let mut reader = Command::new("cat");
        reader.arg(pipe).stdout(file).stderr(Stdio::null());
        let reader = reader.spawn().context("start cat")?;
        let recorder = Self { device, reader, _settings: settings, _tracefs: tracefs };
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
    }
}

impl Settings {
    /// Changes a setting.
    fn set(&mut self, what: &'static str, value: &str) -> Result<()> {
        let former = self.read(what)?;
        self.former.push((what, former));
        self.write(what, value)
    }

    /// A setting, as it must be written to have it again. A size of buffers that were not used yet,
    /// `7 (expanded: 1408)`, is the one that they have as soon as they are.
    fn read(&self, what: &str) -> Result<String> {
        let path = self.folder.join(what);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let expanded = text.split_once("(expanded: ").and_then(|(_, rest)| rest.split_once(')'));
        Ok(expanded.map_or(text.trim(), |(size, _)| size).to_owned())
    }

    fn write(&self, what: &str, value: &str) -> Result<()> {
        let path = self.folder.join(what);
        fs::write(&path, value).with_context(|| format!("write to {}", path.display()))
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (what, value) in self.former.iter().rev() {
            if let Err(error) = self.write(what, value) {
                eprintln!("error: {error:#}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
