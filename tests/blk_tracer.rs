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
pub struct BlkTracer {
    device: PathBuf,
    reader: Child,
    /// Put back when this is dropped, after the recording has ended.
    _settings: Settings,
    /// Gone last, if it is a mount of ours.
    _tracefs: Tracefs,
}

/// What the tracer's settings were before. Dropping it puts them back, the last one first.
#[derive(Debug)]
struct Settings(Vec<(PathBuf, String)>);

impl BlkTracer {
    /// Records the device at `node` into a file; needs root.
    pub fn of(node: &str, into: &Path) -> Result<Self> {
        let tracefs = Tracefs::open()?;
        let at = |what: &str| tracefs.path().join(what);
        let tracer = former(&at("current_tracer"))?;
        ensure!(tracer == "nop", "someone else traces, with `{tracer}`");
        let name = Path::new(node).file_name().context("a device has a name")?;
        let device = Path::new("/sys/block").join(name).join("trace/enable");
        let file = File::create(into).with_context(|| format!("create {}", into.display()))?;
        let mut settings = Settings(Vec::new());
        for (what, value) in [
            ("current_tracer", "blk"),
            ("options/context-info", "0"),
            ("options/bin", "1"),
            ("buffer_size_kb", "16384"),
        ] {
            settings.set(at(what), value)?;
        }
        let mut reader = Command::new("cat");
        reader.arg(at("trace_pipe")).stdout(file).stderr(Stdio::null());
        let reader = reader.spawn().context("start cat")?;
        let tracer = Self { device, reader, _settings: settings, _tracefs: tracefs };
        fs::write(&tracer.device, "1").context("switch the tracing of a device on")?;
        Ok(tracer)
    }

    /// Ends the recording, with all that was recorded.
    pub fn end(self) {
        let _ = fs::write(&self.device, "0");
        std::thread::sleep(SETTLE);
    }
}

impl Drop for BlkTracer {
    fn drop(&mut self) {
        // What is off already stays off.
        let _ = fs::write(&self.device, "0");
        let _ = self.reader.kill();
        let _ = self.reader.wait();
    }
}

impl Settings {
    /// Changes a setting.
    fn set(&mut self, path: PathBuf, value: &str) -> Result<()> {
        let former = former(&path)?;
        fs::write(&path, value).with_context(|| format!("write to {}", path.display()))?;
        self.0.push((path, former));
        Ok(())
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        for (path, value) in self.0.iter().rev() {
            if let Err(error) = fs::write(path, value) {
                eprintln!("error: cannot put {} back: {error}", path.display());
            }
        }
    }
}

/// A setting, as it must be written to have it again. A size of buffers that were not used yet,
/// `7 (expanded: 1408)`, is the one that they have as soon as they are.
fn former(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let expanded = text.split_once("(expanded: ").and_then(|(_, rest)| rest.split_once(')'));
    Ok(expanded.map_or(text.trim(), |(size, _)| size).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_put_back_also_when_one_cannot_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |what: &str| folder.path().join(what);
        let content = |what: &str| fs::read_to_string(path(what)).unwrap();
        fs::write(path("current_tracer"), "nop\n").unwrap();
        fs::write(path("buffer_size_kb"), "7 (expanded: 1408)\n").unwrap();
        let mut settings = Settings(Vec::new());
        settings.set(path("current_tracer"), "blk").unwrap();
        settings.set(path("buffer_size_kb"), "16384").unwrap();
        assert_eq!(content("buffer_size_kb"), "16384");
        assert!(settings.set(path("bin"), "1").is_err());
        drop(settings);
        assert_eq!(content("current_tracer"), "nop");
        assert_eq!(content("buffer_size_kb"), "1408");
    }
}
