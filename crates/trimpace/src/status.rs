//! What the service tells others: a file in `/run` that `trimpace status` prints, and metrics for
//! Prometheus' node exporter.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use trimbench_claim::{Durability, OutputDirectory, OutputError, Replaces};
use trimbench_core::{Bytes, Errno, Instant, Nanos, reason};

use crate::args::{PaceFormat, StatusArgs};
use crate::cursor::{CompletedPass, Remembered};
use crate::exit::{DONE, FAILED};
use crate::probe::now;
use crate::report::{say, size, span};

#[cfg(test)]
mod tests;

/// The folder that the service has for itself while it runs.
pub const RUN: &str = "/run/trimpace";
const FILE: &str = "status.json";
/// Metrics are collected four times a minute at the most.
const MEASURED_EVERY: Nanos = Nanos::from_secs(15);

/// What the service does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// Its process.
    pub process: u32,
    /// Since when it runs.
    pub since: Timestamp,
    /// Its mounts, in the order of the configuration.
    pub mounts: Vec<MountStatus>,
}

/// What the service does with a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountStatus {
    /// Where it is mounted.
    pub mount_point: String,
    /// What the filesystem is remembered by, mostly its UUID; `None` as long as it was not mounted.
    pub filesystem: Option<String>,
    /// At least once in this time it is trimmed, s.
    pub every_s: u64,
    /// The hours in which, and the slot of this host in them.
    pub hours: Option<String>,
    /// How late the next pass is, s; a filesystem that was never trimmed is due from the start of
    /// the service.
    pub overdue_s: u64,
    /// What it does.
    pub activity: Activity,
    /// What is remembered of its passes.
    pub passes: Remembered,
    /// Bytes that the pass under way has before it; `None` if nobody knows.
    pub remaining_bytes: Option<u64>,
    /// How long that is expected to take, s; `None` if nobody knows.
    pub rest_s: Option<u64>,
}

/// What the service does with a mount just now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Activity {
    /// It is trimmed.
    Trimming,
    /// It waits for its time.
    Waiting {
        /// When that is.
        until: Timestamp,
    },
    /// It waits until another mount is done.
    Queued,
    /// Something is in the way.
    Paused {
        /// What.
        because: String,
    },
    /// It is not mounted.
    Absent,
    /// It cannot be trimmed, and nothing is wrong.
    Unsupported {
        /// Why.
        because: String,
    },
    /// It could not be trimmed, and is tried again.
    Failing {
        /// Why.
        because: String,
    },
}

/// Where the status is written.
#[derive(Debug)]
pub struct StatusBoard {
    folder: OutputDirectory,
    metrics: Option<PathBuf>,
    /// When the metrics were written last.
    measured: Cell<Option<Instant>>,
}

/// Why a service cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// There is no folder, and none can be made: run as root.
    #[error(transparent)]
    Folder(#[from] OutputError),
    /// Another service runs.
    #[error("another trimpace service runs here (`trimpace status`)")]
    Taken,
}

/// Why the status cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShowError {
    /// For `trimpace status`.
    #[error(transparent)]
    Status(#[from] OutputError),
    /// For Prometheus.
    #[error("cannot write the metrics `{}`: {why}", path.display())]
    Metrics {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl StatusBoard {
    /// Takes the folder for this service alone.
    ///
    /// # Errors
    /// See [`BoardError`].
    pub fn take(folder: &Path, metrics: Option<PathBuf>) -> Result<Self, BoardError> {
        let folder = OutputDirectory::create(folder)?;
        if !folder.lock() {
            return Err(BoardError::Taken);
        }
        folder.sweep(&[FILE])?;
        // What an earlier service did is not what this one does.
        match folder.remove(OsStr::new(FILE)) {
            Err(error) if error.errno() != Some(Errno(libc::ENOENT)) => return Err(error.into()),
            _ => {}
        }
        Ok(Self { folder, metrics, measured: Cell::new(None) })
    }

    /// The folder.
    pub fn folder(&self) -> OutputDirectory {
        self.folder.clone()
    }

    /// Writes the status, and now and then the metrics.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn show(&self, status: &ServiceStatus) -> Result<(), ShowError> {
        let text = format!("{:#}\n", serde_json::json!(status));
        let name = OsStr::new(FILE);
        self.folder.write(name, text.as_bytes(), Replaces::AnyFile, Durability::Later)?;
        let Some(path) = &self.metrics else { return Ok(()) };
        if self.measured.get().is_some_and(|at| now().since(at) < MEASURED_EVERY) {
            return Ok(());
        }
        self.measured.set(Some(now()));
        let wrong = |error| ShowError::Metrics { path: path.clone(), why: reason(&error) };
        write_metrics(path, &metrics(status)).map_err(wrong)
    }
}

/// At once or not at all, and readable for all. Nothing waits for the disk: the next are written
/// soon.
fn write_metrics(path: &Path, text: &str) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    fs::write(&draft, text)?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o644))?;
    fs::rename(&draft, path)
}

/// `trimpace status`: what it prints, and the exit code.
pub fn status(args: StatusArgs) -> (String, u8) {
    let status = match read(Path::new(RUN)) {
        Ok(status) => status,
        Err(why) => {
            say(&format!("trimpace: {why}"));
            return (String::new(), FAILED);
        }
    };
    let text = match args.output_format {
        PaceFormat::Human => lines(&status, &Zoned::now()),
        PaceFormat::Json => format!("{:#}\n", serde_json::json!(status)),
    };
    (text, DONE)
}

/// What the service in this folder last wrote.
fn read(folder: &Path) -> Result<ServiceStatus, String> {
    const NONE: &str = "no trimpace service runs here (`trimpace run`)";
    let path = folder.join(FILE);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(NONE.to_owned()),
        read => {
            read.map_err(|error| format!("cannot read `{}`: {}", path.display(), reason(&error)))?
        }
    };
    let status: ServiceStatus = serde_json::from_slice(&bytes)
        .map_err(|_| format!("`{}` is of another release", path.display()))?;
    // A service that was killed leaves the file. Its number may be another process's by now.
    let runs = fs::read_to_string(format!("/proc/{}/comm", status.process));
    let own = fs::read_to_string("/proc/self/comm");
    match (runs, own) {
        (Ok(runs), Ok(own)) if runs == own => Ok(status),
        _ => Err(NONE.to_owned()),
    }
}

/// A line for each mount.
fn lines(status: &ServiceStatus, now: &Zoned) -> String {
    let mut text = String::new();
    for mount in &status.mounts {
        let point = &mount.mount_point;
        let _ = writeln!(text, "{point}: {}{}", doing(mount, now), done(mount, now));
    }
    if status.mounts.is_empty() {
        text.push_str("no filesystem that can be trimmed is mounted\n");
    }
    text
}

fn doing(mount: &MountStatus, now: &Zoned) -> String {
    let so_far = mount.passes.pass.map_or_else(String::new, |pass| {
        let begun = local(pass.begun, now);
        format!("; {} discarded since {begun}", size(Bytes(pass.discarded_bytes)))
    });
    match &mount.activity {
        Activity::Trimming => {
            let left = mount.remaining_bytes.map_or_else(String::new, |bytes| {
                format!(", {} of free space left", size(Bytes(bytes)))
            });
            let rest = mount.rest_s.map_or_else(String::new, |seconds| {
                format!(", about {} more", span(Nanos::from_secs(seconds)))
            });
            format!("is trimmed{left}{rest}{so_far}")
        }
        Activity::Waiting { until } => {
            let next = if mount.passes.pass.is_some() { "goes on" } else { "next" };
            format!("{next} {}{so_far}", local(*until, now))
        }
        Activity::Queued => format!("waits until another filesystem is trimmed{so_far}"),
        Activity::Paused { because } => format!("pauses: {because}{so_far}"),
        Activity::Absent => format!("is not mounted{so_far}"),
        Activity::Unsupported { because } => format!("cannot be trimmed: {because}"),
        Activity::Failing { because } => format!("could not be trimmed: {because}{so_far}"),
    }
}

/// What the last pass did, and whether the next is late.
fn done(mount: &MountStatus, now: &Zoned) -> String {
    let last = match mount.passes.last {
        None => "; never trimmed by this service".to_owned(),
        Some(CompletedPass { begun, discarded_bytes, worked_s, .. }) => format!(
            "; last {}: {} in {}",
            local(begun, now),
            size(Bytes(discarded_bytes)),
            span(Nanos::from_secs(worked_s))
        ),
    };
    let is_late = mount.overdue_s > 0 && mount.passes.pass.is_none();
    let late = is_late.then(|| format!("; overdue by {}", span(Nanos::from_secs(mount.overdue_s))));
    last + &late.unwrap_or_default()
}

/// As `2026-11-30 01:00`, by the clocks here.
pub(crate) fn local(at: Timestamp, now: &Zoned) -> String {
    let zone: &TimeZone = now.time_zone();
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A metric: its name, what it is, and its value for a mount.
type MountMetric = (&'static str, &'static str, fn(&MountStatus) -> Option<f64>);

const METRICS: [MountMetric; 10] = [
    ("trimpace_period_seconds", "The filesystem is to be trimmed once in this time.", |mount| {
        Some(mount.every_s as f64)
    }),
    (
        "trimpace_last_pass_begin_timestamp_seconds",
        "When the last completed pass began; absent if there was none.",
        |mount| Some(mount.passes.last?.begun.as_second() as f64),
    ),
    (
        "trimpace_last_pass_end_timestamp_seconds",
        "When the last completed pass ended; absent if there was none.",
        |mount| Some(mount.passes.last?.ended.as_second() as f64),
    ),
    (
        "trimpace_last_pass_discarded_bytes",
        "Bytes that the devices discarded during the last completed pass.",
        |mount| Some(mount.passes.last?.discarded_bytes as f64),
    ),
    (
        "trimpace_last_pass_worked_seconds",
        "How long the last completed pass worked, without the time between its parts.",
        |mount| Some(mount.passes.last?.worked_s as f64),
    ),
    (
        "trimpace_pass_discarded_bytes",
        "Bytes that the devices discarded during the pass that is under way; absent if none is.",
        |mount| Some(mount.passes.pass?.discarded_bytes as f64),
    ),
    (
        "trimpace_pass_remaining_bytes",
        "Free space that the pass under way has before it; absent if nobody knows.",
        |mount| mount.remaining_bytes.map(|bytes| bytes as f64),
    ),
    (
        "trimpace_overdue_seconds",
        "How late the next pass is; a filesystem that was never trimmed is due from the start of \
         the service.",
        |mount| Some(mount.overdue_s as f64),
    ),
    ("trimpace_trimming", "1 while the filesystem is trimmed, else 0.", |mount| {
        Some(f64::from(u8::from(mount.activity == Activity::Trimming)))
    }),
    (
        "trimpace_failing",
        "1 while the filesystem could not be trimmed and is tried again, else 0.",
        |mount| Some(f64::from(u8::from(matches!(mount.activity, Activity::Failing { .. })))),
    ),
];

/// In the text format of Prometheus.
fn metrics(status: &ServiceStatus) -> String {
    let mut text = String::new();
    for (name, help, value) in METRICS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
        for mount in &status.mounts {
            let Some(value) = value(mount) else { continue };
            let point = label(&mount.mount_point);
            let filesystem = mount.filesystem.as_deref().unwrap_or_default();
            let labels = format!("mountpoint=\"{point}\",uuid=\"{filesystem}\"");
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    text
}

/// With what would end it escaped.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
