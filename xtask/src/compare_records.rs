//! Step `compare-records`: compares the records of today's program with those of an earlier commit.
//!
//! Both programs run each case, in virtual time, with three seeds. The earlier record, as today's
//! reader reads it, must equal today's record to the byte, except the commit and the differences
//! listed in `reviewed.toml`; the exit code must be equal too. Some cases are killed at three
//! points and resumed, and must give the same result. Output for people and scripts (dry runs,
//! NDJSON, reports, CSV, pages) may differ: the difference is written to a file, to be read. On
//! loop devices, if available, steps and commands must be the same.

mod cases;
mod difference;
mod outputs;
mod real;
mod resumed;
mod reviewed;
mod traces;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ::tests::acceptance::Compared;
use ::tests::{campaign, earlier};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use trimbench_results::RunRecord;

use crate::{Repository, process};
use cases::Case;
use reviewed::Reviewed;

/// Of everything random; which ones does not matter.
const SEEDS: [u64; 3] = [1, 2, 3];
/// How many differences of one comparison are shown.
const SHOWN: usize = 12;

/// What to compare.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareRecordsOptions {
    /// The earlier commit
    pub base: String,
    /// Only the cases whose name holds this; `real` for those on loop devices
    #[arg(long, value_name = "TEXT")]
    pub case: Option<String>,
    /// Run the earlier program again, too: its records are kept otherwise
    #[arg(long)]
    pub fresh: bool,
    /// This program in place of today's
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// A line of JSON for each comparison
    #[arg(long)]
    pub json: bool,
}

/// A program, and the folder of what it records.
#[derive(Debug)]
struct Side {
    program: PathBuf,
    folder: PathBuf,
    /// Whether what is there is kept.
    kept: bool,
}

/// Compares; whether nothing differs but what is meant to.
pub fn run(repository: &Repository, options: &CompareRecordsOptions) -> Result<bool> {
    let commit = &repository.commit(&options.base)?;
    let folder = repository.target().join("compare");
    let before = Side {
        program: earlier::build(repository, commit, None)?,
        folder: folder.join(commit),
        kept: !options.fresh,
    };
    let now = folder.join("now");
    fs::create_dir_all(&now).with_context(|| format!("make {}", now.display()))?;
    let program = match &options.program {
        Some(program) => program.canonicalize().context("find the program")?,
        None => campaign::program(repository, &now)?,
    };
    let now = Side { program, folder: now, kept: false };
    let inputs = folder.join("inputs");
    fs::create_dir_all(&inputs).with_context(|| format!("make {}", inputs.display()))?;
    traces::write(&inputs)?;
    let comparison = Comparison { before, now, inputs, reviewed: Reviewed::table()? };
    let all = cases::all();
    let chosen = |case: &&Case| options.case.as_ref().is_none_or(|text| case.name.contains(text));
    let cases: Vec<&Case> = all.iter().filter(chosen).collect();
    let compared = comparison.all(&cases, options)?;
    let difference = folder.join("outputs.diff");
    let lines = outputs::compare(&comparison, &cases, &difference)?;
    eprintln!("{lines} lines that people read are different: {}", repository.relative(&difference));
    let is_whole = options.case.is_none() && commit.starts_with(&comparison.reviewed.base);
    Ok(conclude(&comparison.reviewed, &compared, is_whole))
}

/// Says what is wrong; whether nothing is.
fn conclude(reviewed: &Reviewed, compared: &[Compared], is_whole: bool) -> bool {
    let used: BTreeSet<usize> = compared.iter().flat_map(|it| it.rows.iter().copied()).collect();
    let unused = (0..reviewed.rows.len()).filter(|row| is_whole && !used.contains(row));
    let stale = reviewed.describe(unused);
    for row in &stale {
        eprintln!("nothing needs the row of reviewed.toml at {row}");
    }
    let different = compared.iter().filter(|it| !it.differences.is_empty()).count();
    println!(
        "{} compared, {different} differ; {} rows of reviewed.toml used, {} that nothing needs",
        compared.len(),
        used.len(),
        stale.len()
    );
    different == 0 && stale.is_empty()
}

/// Two programs and what is known of them.
#[derive(Debug)]
struct Comparison {
    before: Side,
    now: Side,
    /// The folder of the traces that cases name.
    inputs: PathBuf,
    reviewed: Reviewed,
}

impl Comparison {
    /// Runs and compares everything, as many runs at a time as there are processors.
    fn all(&self, cases: &[&Case], options: &CompareRecordsOptions) -> Result<Vec<Compared>> {
        let runs: Vec<(&Case, u64)> =
            SEEDS.iter().flat_map(|seed| cases.iter().map(move |case| (*case, *seed))).collect();
        let compared = Mutex::new(Vec::new());
        let add = |one: Compared| {
            show(&one, options.json)?;
            compared.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            Ok(())
        };
        in_parallel(&runs, |(case, seed)| add(self.compare(case, *seed)?))?;
        let resumed: Vec<&Case> = cases.iter().copied().filter(|case| case.is_resumed()).collect();
        in_parallel(&resumed, |case| resumed::compare(self, case)?.into_iter().try_for_each(add))?;
        // On the machine's own devices, and by its clock: alone.
        if options.case.as_ref().is_none_or(|text| "real".contains(text)) {
            real::compare(self)?.into_iter().try_for_each(add)?;
        }
        Ok(compared.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn compare(&self, case: &Case, seed: u64) -> Result<Compared> {
        let [before, now] = [&self.before, &self.now].map(|side| self.made(side, case, seed));
        let (before, now) = (before?, now?);
        let what = format!("{}, seed {seed}", case.name);
        let mut one = self.records(case, what, &before.join("run"), &now.join("run"))?;
        let exit = |folder: &Path| fs::read_to_string(folder.join("exit")).context("read an exit");
        let (before, now) = (exit(&before)?, exit(&now)?);
        if before != now {
            one.differences.push(format!("exit code {before} -> {now}"));
        }
        Ok(one)
    }

    /// Compares the records in two folders.
    fn records(&self, case: &Case, what: String, before: &Path, now: &Path) -> Result<Compared> {
        let (before, raw) = (read(before)?, read(now)?);
        let (migrated, now) = (without_commit(&before)?, without_commit(&raw)?);
        let mut compared =
            Compared { what, bytes: now.len(), differences: Vec::new(), rows: BTreeSet::new() };
        if RunRecord::from_json(&raw)?.to_json() != raw {
            compared.differences.push("today's reader does not give back a record".to_owned());
        }
        if migrated != now {
            let value = |json: &[u8]| serde_json::from_slice::<Value>(json);
            let judged = self.reviewed.judge(&case.name, &value(&migrated)?, &value(&now)?);
            compared.differences.extend(judged.unmeant.iter().map(ToString::to_string));
            compared.rows = judged.used;
            if compared.differences.is_empty() && compared.rows.is_empty() {
                compared.differences.push("the same values are written differently".to_owned());
            }
        }
        Ok(compared)
    }

    /// The folder of a run, which is made if it is not kept.
    fn made(&self, side: &Side, case: &Case, seed: u64) -> Result<PathBuf> {
        let folder = side.folder.join(format!("{}-{seed}", case.name));
        let told = folder.join("arguments");
        if side.kept && fs::read_to_string(&told).is_ok_and(|text| text == case.arguments) {
            return Ok(folder);
        }
        self.prepare(case, &folder)?;
        let run = ["--seed", &seed.to_string(), "--output-format", "ndjson"];
        let mut command = side.command(case, &folder, &run)?;
        let ended = process::run(&mut command, None)?;
        let code = ended.status.and_then(|status| status.code());
        let Some(code) = code.filter(|code| *code != 101) else {
            bail!("`{}` in {} {}", process::show(&command), folder.display(), ended.describe())
        };
        fs::write(folder.join("exit"), code.to_string()).context("keep an exit code")?;
        if seed == SEEDS[0] {
            outputs::make(side, case, &folder)?;
        }
        fs::write(&told, case.arguments.as_ref()).context("keep the arguments")?;
        Ok(folder)
    }

    /// An empty folder with the traces that a case names.
    fn prepare(&self, case: &Case, folder: &Path) -> Result<()> {
        let made = || -> std::io::Result<()> {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
            for trace in case.traces() {
                fs::hard_link(self.inputs.join(trace), folder.join(trace))?;
            }
            Ok(())
        };
        made().with_context(|| format!("prepare {}", folder.display()))
    }
}

impl Side {
    /// A run of a case in a folder, with what it prints there, too. Paths are relative: they are
    /// part of what is printed.
    fn command(&self, case: &Case, folder: &Path, more: &[&str]) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.arg("run").args(case.words()).args(["--output", "run", "--no-report"]).args(more);
        into(&mut command, folder, "printed")?;
        Ok(command)
    }
}

/// Runs a program in a folder, and its output into files of this name there.
fn into(command: &mut Command, folder: &Path, name: &str) -> Result<()> {
    let file = |suffix: &str| {
        let path = folder.join(format!("{name}.{suffix}"));
        File::create(&path).with_context(|| format!("write {}", path.display()))
    };
    command.current_dir(folder).stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join("run.json");
    fs::read(&path).with_context(|| format!("read {}", path.display()))
}

/// A record as today's reader takes it and today's program writes it, but for the commit.
fn without_commit(json: &[u8]) -> Result<Vec<u8>> {
    let mut record = RunRecord::from_json(json).context("read a record")?;
    record.program.commit.clear();
    Ok(record.to_json())
}

fn show(one: &Compared, json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string(one).context("write a comparison")?);
        return Ok(());
    }
    let count = one.differences.len();
    let outcome = if count == 0 { "same" } else { "DIFFERENT" };
    println!("{}: {outcome} ({} bytes, {} rows used)", one.what, one.bytes, one.rows.len());
    for difference in one.differences.iter().take(SHOWN) {
        println!("  {}", difference.chars().take(200).collect::<String>());
    }
    if count > SHOWN {
        println!("  and {} more", count - SHOWN);
    }
    Ok(())
}

/// Does all of these, as many at a time as there are processors, up to the first that fails.
fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Result<()>> = Mutex::new(Ok(()));
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = each(item) {
                next.store(items.len(), Ordering::Relaxed);
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(!process::interrupted(), "interrupted");
    failed
}

#[cfg(test)]
mod tests;
