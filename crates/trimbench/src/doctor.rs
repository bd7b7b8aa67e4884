//! `trimbench doctor`: whether TRIM reaches the drive.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use trimbench_app::Failure;
use trimbench_claim::mounts::MountError;
use trimbench_core::{Nanos, exit};
use trimbench_doctor::watch::{WatchError, WatchOptions, WatchReport, WatchVerdict, watch};
use trimbench_doctor::{
    Diagnosis, DiagnosisError, Doctor, DriveReport, LayerKind, PROMETHEUS_MARK, ProbeError,
    ProbeOptions, ProbeReport, Reach, ResolvedPath, SystemTree, conclusion, judge, lines, probe,
    prometheus, resolve,
};
use trimbench_linux::passthrough::{LogOptions, LogScope, TelemetryCapture};

use crate::args::doctor::DoctorArgs;
use crate::files::{Destination, Rules};
use crate::interrupt::interrupt;
use crate::output::{Printed, cleaned, document, error_line, joined, note};

/// The version of the JSON document; it grows when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// `trimbench doctor`.
pub(crate) fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    if let Some(seconds) = args.watch {
        return watched(args, seconds);
    }
    if let Some(drive) = &args.drive {
        return of_drive(args, drive);
    }
    let tree = match &args.sysroot {
        Some(root) if !root.is_dir() => {
            let error = anyhow::anyhow!("`{}` is not a directory", root.display());
            return Err(Failure::usage(error).with_hint("name a directory with `sys` and `proc`"));
        }
        Some(root) => SystemTree::recorded(root),
        None => SystemTree::live(),
    };
    let is_live = tree.is_live();
    let metrics = args.prometheus.as_deref().map(destination).transpose()?;
    let doctor = Doctor::new(tree).map_err(|error| failure(error, is_live))?;
    let is_brief = args.paths.is_empty() && !args.full;
    let places = if args.paths.is_empty() {
        doctor.diagnose_all().into_iter().map(Examined::without_probe).collect()
    } else {
        let look = |path: &PathBuf| {
            let (path, diagnosis) = of_path(&doctor, path, is_live)?;
            let mut examined = Examined::without_probe(diagnosis);
            if is_live {
                examined.diagnosis.ask_drives();
            }
            if args.probe { probed(args, examined, path) } else { Ok(examined) }
        };
        args.paths.iter().map(look).collect::<Result<Vec<_>, _>>()?
    };
    if places.is_empty() {
        let error = anyhow::anyhow!("no mounted filesystem with a block device can be seen");
        return Err(Failure::target(error).with_hint("name a path or a device"));
    }
    let code = code(&places);
    if let Some(metrics) = metrics {
        let all: Vec<&Diagnosis> = places.iter().map(|place| &place.diagnosis).collect();
        metrics.write(&prometheus(&all))?;
    }
    Diagnoses { places, is_full: args.full, is_brief }.print(args.format.format());
    Ok(code)
}

/// What one drive says of itself.
fn of_drive(args: &DoctorArgs, drive: &Path) -> Result<u8, Failure> {
    let options = LogOptions {
        scope: if args.standard_logs { LogScope::Standard } else { LogScope::All },
        telemetry: if args.new_telemetry { TelemetryCapture::New } else { TelemetryCapture::Keep },
    };
    let read = DriveReport::of(drive, options)
        .map_err(|error| Failure::usage(error).with_hint("`lsblk` lists the devices"))?;
    let report = read.map_err(|error| {
        let context = format!("`{}` does not say anything of itself", drive.display());
        Failure::target(error).context(context).with_hint("NVMe and SATA drives do, to root")
    })?;
    DriveSays { report, is_full: args.full }.print(args.format.format());
    Ok(exit::DONE)
}

/// What a drive says of itself.
struct DriveSays {
    report: DriveReport,
    is_full: bool,
}

impl Printed for DriveSays {
    fn human(&self) -> String {
        cleaned(&joined(self.report.lines(self.is_full)))
    }

    fn json(&self) -> String {
        document(&self.items()[0])
    }

    fn items(&self) -> Vec<Value> {
        vec![serde_json::to_value(&self.report).expect("it is plain data")]
    }
}

/// Whether the stalls of the next so many seconds are TRIM's doing.
fn watched(args: &DoctorArgs, seconds: u64) -> Result<u8, Failure> {
    let target = match args.paths.as_slice() {
        [] => PathBuf::from("/"),
        [one] => one.clone(),
        _ => {
            let error = anyhow::anyhow!("`--watch` watches one path, not {}", args.paths.len());
            return Err(Failure::usage(error).with_hint("watch one after the other"));
        }
    };
    let interrupt = interrupt("stopping the watch (Ctrl-C again stops at once)", || {})?;
    note(&format!("watching `{}` for {seconds} s (Ctrl-C ends it earlier)", target.display()));
    let span = Nanos::from_secs(seconds);
    let options = WatchOptions { target, span, counters_only: false, own_reads: true, interrupt };
    let report = watch(&options).map_err(|error| {
        let failed = match &error {
            WatchError::Mount(MountError::Path { .. }) => Failure::usage(error),
            _ => Failure::target(error),
        };
        failed.with_hint("name a directory on a local filesystem, or a block device")
    })?;
    let code = match report.findings.verdict {
        WatchVerdict::NotTrim | WatchVerdict::NoStall => exit::DONE,
        WatchVerdict::Trim => exit::LIMIT_FAILED,
        WatchVerdict::CannotTell => exit::INVALID,
    };
    Watched(report).print(args.format.format());
    Ok(code)
}

/// What a watch has seen.
struct Watched(WatchReport);

impl Printed for Watched {
    fn human(&self) -> String {
        cleaned(&joined(self.0.to_lines()))
    }

    fn json(&self) -> String {
        document(&self.items()[0])
    }

    fn items(&self) -> Vec<Value> {
        vec![serde_json::to_value(&self.0).expect("it is plain data")]
    }
}

/// Where metrics may be written: over older ones, too.
fn destination(path: &Path) -> Result<Destination, Failure> {
    let mark = Some(PROMETHEUS_MARK);
    let place = Destination::of(path, Rules { mark, overwrite: false, inputs: &[] });
    place.map_err(|failure| failure.with_hint("name another file: only metrics are replaced"))
}

/// The same with a live test.
fn probed(args: &DoctorArgs, examined: Examined, path: PathBuf) -> Result<Examined, Failure> {
    let mut diagnosis = examined.diagnosis;
    let size = args.probe_size;
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(&path).to_owned() };
    if !matches!(diagnosis.top.kind, LayerKind::Filesystem | LayerKind::Overlay) {
        let error = anyhow::anyhow!("`{}` is a device", diagnosis.place);
        return Err(Failure::usage(error).with_hint("name a directory on its filesystem"));
    }
    if size.0 == 0 {
        let error = anyhow::anyhow!("`--probe-size` is 0: nothing would be tested");
        return Err(Failure::usage(error).with_hint("64MiB are enough for most stacks"));
    }
    let neighbours = match diagnosis.top.title.as_str() {
        "ext4" => " (ext4 may also trim the free blocks around them)",
        _ => "",
    };
    let question = format!(
        "write {size} to a file without a name in `{}`, delete it and trim its blocks{neighbours}?",
        directory.display()
    );
    if !args.yes && !confirmed(&question)? {
        return Err(Failure::usage(anyhow::anyhow!("not tested: {question}"))
            .with_hint("answer `y`, or add `--yes`"));
    }
    let options = ProbeOptions { directory, size, trim_unallocated: args.trim_unallocated };
    let interrupt = interrupt("stopping the test (Ctrl-C again stops at once)", || {})?;
    let report =
        probe(&SystemTree::live(), &diagnosis, &options, &interrupt).map_err(probe_failure)?;
    diagnosis.reach = judge(&diagnosis, &report);
    Ok(Examined { diagnosis, probe: Some(report) })
}

/// Asks on the terminal; without one nobody answers.
fn confirmed(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    error_line(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(Failure::usage)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn probe_failure(error: ProbeError) -> Failure {
    let hint = match &error {
        ProbeError::Interrupted => return Failure::interrupted(),
        ProbeError::NotPermitted { .. } => "run it as root; without `--probe` it needs no rights",
        ProbeError::Overlay(_) => {
            "name the overlay's upper directory: `findmnt -no OPTIONS` shows it"
        }
        ProbeError::NoRoom { .. } => "name a smaller `--probe-size`, or free some space",
        ProbeError::Unallocated { .. } => "add `--trim-unallocated` if that is all right",
        _ => "without `--probe` nothing is written",
    };
    Failure::target(error).with_hint(hint)
}

/// The diagnosis of one path, given as it is.
fn of_path(doctor: &Doctor, path: &Path, is_live: bool) -> Result<(PathBuf, Diagnosis), Failure> {
    let resolved = if is_live {
        let looked = resolve(path).map_err(|error| {
            Failure::usage(error).context(format!("cannot look at `{}`", path.display()))
        })?;
        match looked {
            ResolvedPath::Found(path) => path,
            ResolvedPath::Hangs(path) => {
                error_line(&format!(
                    "`{}` does not answer: its server or drive hangs; looking at what is mounted \
                     there",
                    path.display()
                ));
                path
            }
        }
    } else {
        path.to_owned()
    };
    let diagnosis = doctor.diagnose(&resolved).map_err(|error| failure(error, is_live))?;
    Ok((resolved, diagnosis))
}

fn failure(error: DiagnosisError, is_live: bool) -> Failure {
    let hint = match (&error, is_live) {
        (DiagnosisError::NoMounts(_), true) => "mount procfs: `mount -t proc proc /proc`",
        (DiagnosisError::NoMounts(_), false) => "the tree needs `proc/self/mountinfo`",
        (DiagnosisError::NoDevice(_), _) => "`lsblk` lists the devices",
        _ => "name a mount point or a device of that system",
    };
    Failure::target(error).with_hint(hint)
}

/// The worst of what was found: it does not reach, nobody can tell, it does.
fn code(places: &[Examined]) -> u8 {
    let is_any = |wanted: fn(&Reach) -> bool| places.iter().any(|it| wanted(&it.diagnosis.reach));
    match () {
        () if is_any(|it| matches!(it, Reach::DoesNot { .. })) => exit::LIMIT_FAILED,
        () if is_any(|it| matches!(it, Reach::CannotTell { .. })) => exit::INVALID,
        () if is_any(|it| matches!(it, Reach::Reaches { .. })) => exit::DONE,
        () => exit::TARGET,
    }
}

/// What was found of one place.
#[derive(Serialize)]
struct Examined {
    #[serde(flatten)]
    diagnosis: Diagnosis,
    /// What a live test has shown; `null` without one.
    probe: Option<ProbeReport>,
}

impl Examined {
    fn without_probe(diagnosis: Diagnosis) -> Self {
        Self { diagnosis, probe: None }
    }
}

/// What was found of all places.
struct Diagnoses {
    places: Vec<Examined>,
    is_full: bool,
    /// A line for each place.
    is_brief: bool,
}

impl Printed for Diagnoses {
    fn human(&self) -> String {
        let mut all = Vec::new();
        for (index, Examined { diagnosis, probe }) in self.places.iter().enumerate() {
            if self.is_brief {
                all.push(format!("{}: {}", diagnosis.place, conclusion(diagnosis)));
                continue;
            }
            if index > 0 {
                all.push(String::new());
            }
            all.extend(lines(diagnosis, probe.as_ref(), self.is_full));
        }
        cleaned(&joined(all))
    }

    fn json(&self) -> String {
        document(&json!({ "schema": SCHEMA, "places": self.items() }))
    }

    fn items(&self) -> Vec<Value> {
        let value = |place: &Examined| serde_json::to_value(place).expect("it is plain data");
        self.places.iter().map(value).collect()
    }
}
