//! Records for the claims about the report, from short real runs, and pages of these records.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::acceptance::{Capture, Context};
use crate::{methods_on_drives, methods_on_files};

/// Options with which the methods on drives take seconds.
const SHORT_ON_DRIVES: [&str; 2] = ["sizes=16MiB,32MiB,64MiB", "span=256MiB"];
/// The same for the methods on files.
const SHORT_ON_FILES: [&str; 11] = [
    "file-size=32MiB",
    "number=2000",
    "transactions=2000",
    "size-high=40000B",
    "file-sizes=256KiB,1MiB",
    "foreground-span=8MiB",
    "cycle=20%",
    "stable-cycles=2",
    "cycles=3",
    "rate=2000",
    "read-share=95%",
];

/// Methods on these drives, all of those for drives if none is named.
pub(super) fn on_drives(
    context: &Context<'_>,
    name: &str,
    methods: &[&str],
    drives: &[&str],
) -> Result<PathBuf> {
    let all = methods_on_drives();
    let methods = if methods.is_empty() { &all } else { methods };
    // Options are refused where no method has them.
    let sets: &[&str] = if methods.contains(&"delete-stall") { &SHORT_ON_DRIVES } else { &[] };
    let targets = drives.iter().map(|drive| format!("sim:{drive},capacity=1GiB"));
    run(context, name, (methods, sets), &targets.collect::<Vec<_>>())
}

/// `trimbench run` with its defaults: the first command of the README.
pub(super) fn as_readme_says(context: &Context<'_>, name: &str) -> Result<PathBuf> {
    run(context, name, (&[], &[]), &[])
}

/// All methods for files alone on a modelled filesystem on each of these drives: one whose page
/// cache is small enough that files reach the drive.
pub(super) fn on_files(context: &Context<'_>, name: &str, drives: &[&str]) -> Result<PathBuf> {
    let targets = drives
        .iter()
        .map(|drive| format!("ext4,memory=16MiB,journal=8MiB:sim:{drive},capacity=512MiB"));
    run(context, name, (&methods_on_files(), &SHORT_ON_FILES), &targets.collect::<Vec<_>>())
}

/// Runs into a folder of raw output. A run may be invalid or break a limit: reports are of those,
/// too.
fn run(
    context: &Context<'_>,
    name: &str,
    (methods, sets): (&[&str], &[&str]),
    targets: &[String],
) -> Result<PathBuf> {
    let folder = context.folder().join(name);
    let mut command = context.trimbench(&["run"])?;
    command.args(methods);
    command.args(targets.iter().flat_map(|target| ["--target", target]));
    command.args(sets.iter().flat_map(|option| ["--set", option]));
    command.arg("--no-report").arg("--output").arg(&folder);
    let capture = context.capture(&format!("run-{name}"), &mut command)?;
    ensure!(matches!(capture.status, Some(0 | 1 | 4)), "`{}` failed", capture.command);
    Ok(folder)
}

/// The report of these runs, as `NAME.html` in `folder`, captured as `page-NAME`. Its exit code is
/// not judged.
pub(super) fn page(
    context: &Context<'_>,
    name: &str,
    runs: &[PathBuf],
    folder: &Path,
) -> Result<(PathBuf, Capture)> {
    let page = folder.join(format!("{name}.html"));
    let mut command = context.trimbench(&["report"])?;
    command.args(runs).arg("--html").arg(&page);
    let capture = context.capture(&format!("page-{name}"), &mut command)?;
    Ok((page, capture))
}

/// A copy of a run whose record is changed.
pub(super) fn changed(from: &Path, to: &Path, change: impl FnOnce(&mut Value)) -> Result<PathBuf> {
    let text = fs::read_to_string(from.join("run.json")).context("read a record")?;
    let mut record = serde_json::from_str(&text).context("read a record as JSON")?;
    change(&mut record);
    written(to, &serde_json::to_vec(&record).context("write a record")?)
}

/// A run whose record has this content.
pub(super) fn written(to: &Path, content: &[u8]) -> Result<PathBuf> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    fs::write(to.join("run.json"), content).context("write a record")?;
    Ok(to.to_owned())
}

/// Turns a record into one of a future format, with fields that this version does not know.
pub(super) fn of_the_future(record: &mut Value) {
    record["schema"] = FUTURE.into();
    record["program"]["version"] = "9.0.0".into();
    record["unheard-of"] = serde_json::json!({ "deep": [1, 2, { "deeper": null }] });
    for session in record["sessions"].as_array_mut().into_iter().flatten() {
        session["mood"] = "good".into();
    }
}

/// The format of [`of_the_future`].
pub(super) const FUTURE: u32 = 9;
