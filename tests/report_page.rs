//! Pages of reports: short runs to report, and what Chromium shows of a page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::program::{BuiltProgram, Output};
use crate::{browser_python, methods_on_files};

/// The program that looks.
const LOOKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/browser/look_report.py");
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

/// What is on a page.
#[derive(Clone, Debug, Deserialize)]
pub struct Look {
    /// The file's size.
    pub bytes: f64,
    /// Time until what is in view is drawn, ms: the median of three looks.
    pub drawn_ms: f64,
    /// Until all is drawn, in the last look.
    pub all_drawn_ms: f64,
    /// Charts.
    pub charts: usize,
    /// Points from which the curve with the most was thinned out.
    pub thinned: f64,
    /// Methods with a section.
    pub methods: Vec<String>,
    /// Messages about records.
    pub messages: Vec<String>,
    /// The header, which names the records.
    pub records: String,
    /// Rows of tables of figures.
    pub figures: usize,
    /// Verdicts by target.
    pub verdicts: BTreeMap<String, Value>,
    /// What the browser complained of.
    pub complaints: Vec<Value>,
    /// With `--stall`: each zoom.
    #[serde(default)]
    pub stall: Vec<StallZoom>,
    /// With `--pictures`: each that was made.
    #[serde(default)]
    pub pictures: Vec<SectionPicture>,
}

/// A stall at one zoom.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct StallZoom {
    /// The share of the axis that is shown.
    pub shown: f64,
    /// Whether the stall is in the data that is drawn.
    pub in_data: bool,
    /// Pixels of the curve's colour where it belongs, and beside it at that height.
    pub pixels: u64,
    /// See above.
    pub pixels_beside: u64,
}

/// A picture of a section.
#[derive(Clone, Debug, Deserialize)]
pub struct SectionPicture {
    /// Its name, which ends with `-light.webp` or `-dark.webp`.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// How many colours it has.
    pub colours: u64,
}

/// Looks at a page in Chromium.
pub fn look(page: &Path, options: &[&str]) -> Result<Look> {
    let python = browser_python().context("nothing drives Chromium: run `cargo xtask setup`")?;
    let output = Command::new(python).args(["-B", LOOKER]).arg(page).args(options).output();
    let output = output.context("start what drives Chromium")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "no look at {}: {errors}", page.display());
    serde_json::from_slice(&output.stdout).context("read what is on a page")
}

/// A short run of methods on emulated drives, kept in `folder`.
pub fn run_on_drives(
    program: &BuiltProgram,
    folder: &Path,
    methods: &[&str],
    drives: &[&str],
) -> Result<PathBuf> {
    // Options are refused where no method has them.
    let sets: &[&str] = if methods.contains(&"delete-stall") { &SHORT_ON_DRIVES } else { &[] };
    let targets = drives.iter().map(|drive| format!("sim:{drive},capacity=1GiB"));
    run(program, folder, (methods, sets), &targets.collect::<Vec<_>>())
}

/// The same of all methods for files alone, on a modelled filesystem on each drive: one whose page
/// cache is small enough that files reach the drive.
pub fn run_on_files(program: &BuiltProgram, folder: &Path, drives: &[&str]) -> Result<PathBuf> {
    let target = |drive| format!("ext4,memory=16MiB,journal=8MiB:sim:{drive},capacity=512MiB");
    let targets: Vec<String> = drives.iter().map(target).collect();
    run(program, folder, (&methods_on_files(), &SHORT_ON_FILES), &targets)
}

/// `trimbench run` with its defaults: the first command of the README.
pub fn run_as_readme_says(program: &BuiltProgram, folder: &Path) -> Result<PathBuf> {
    run(program, folder, (&[], &[]), &[])
}

/// A run may be invalid or break a limit: reports are of those, too.
fn run(
    program: &BuiltProgram,
    folder: &Path,
    (methods, sets): (&[&str], &[&str]),
    targets: &[String],
) -> Result<PathBuf> {
    let mut command = program.command(&["run", "--no-report", "--output"]);
    command.arg(folder).args(methods);
    command.args(targets.iter().flat_map(|target| ["--target", target]));
    command.args(sets.iter().flat_map(|option| ["--set", option]));
    program.call(&mut command)?.expect_results()?;
    Ok(folder.to_owned())
}

/// Writes the page of these runs, and says how that ended.
pub fn write_page(program: &BuiltProgram, page: &Path, runs: &[PathBuf]) -> Result<Output> {
    program.call(program.command(&["report"]).args(runs).arg("--html").arg(page))
}
