//! Runs that are invalid in every way that the caveats know, on emulated drives and on real
//! targets, and what is said of them: by the run itself and by its report in every format.

use std::path::Path;
use std::process::Command;

use ::tests::LoopFilesystem;
use ::tests::Need::{Filesystem, Loop, Program, Root};
use ::tests::program::{Output, UNLOOKED, record};
use ::tests::writer::OtherWriter;
use anyhow::{Context as _, Result};
use trimbench_core::rng::Rng;
use trimbench_core::{Caveat, exit};
use trimbench_results::cards::cards;
use trimbench_results::{AdviceCard, Outcome, RunRecord};
use xtask::process::Signal;

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

mod marked;
mod ways;

use marked::{Shown, unmarked};
use ways::{Target, Trial, WAYS};

pub(crate) const ENTRY: Entry = Entry {
    name: "invalid",
    title: "No advice rests on an invalid figure, and every report says which are",
    needs: &[Root, Loop, Program("mkfs.ext4"), Filesystem("ext4")],
    sources: REAL,
    run,
};

/// Runs in full; shorter, one in each way but the last.
const RUNS: usize = 300;
const SEED: u64 = 1;
/// Invalid sessions for each run, at least: otherwise nothing was shown.
const INVALID_LEAST: f64 = 0.5;
/// Answers that say to trim, in one way or another.
const RECOMMENDATIONS: [&str; 4] =
    ["mount-with-discard", "weekly-fstrim", "smaller-discard-max", "either-will-do"];
const NO_ANSWER: &str = "unknown";
/// Of the image below a loop device, MiB, and of what somebody else writes.
const IMAGE: u64 = 128;
/// A run that finds another load measures all the same.
const BUSY: [&str; 3] = ["--quiet-wait", "1s", "--busy-ok"];

/// What was found wrong, each with the run in which.
#[derive(Debug, Default)]
struct Violations {
    rest_on_invalid: Vec<String>,
    changed: Vec<String>,
    unmarked: Vec<String>,
    codes: Vec<String>,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let runs = lab.form(WAYS.len() - 1, RUNS);
    let mut rng = Rng::new(SEED);
    let mut found = Violations::default();
    let (mut invalid, mut recommended, mut broken) = (0, 0, Vec::new());
    for number in 0..runs {
        let (way, draw) = WAYS[number % WAYS.len()];
        let trial = draw(&mut rng);
        let what = format!("run {number}, {way}");
        let Some((shown, kept)) = shown(lab, &trial, number).with_context(|| what.clone())? else {
            broken.push(what);
            continue;
        };
        invalid += kept.sessions.iter().filter(|it| !it.is_valid() || !it.finished).count();
        recommended += shown.json.advice.iter().filter(|it| is_recommendation(it)).count();
        for (of, all) in [
            (&mut found.rest_on_invalid, rest_on_invalid(&shown.json)),
            (&mut found.changed, changed(&kept, &shown.json)),
            (&mut found.unmarked, unmarked(&kept, &shown)?),
            (&mut found.codes, codes(&kept, &shown)),
        ] {
            of.extend(all.into_iter().map(|fault| format!("{what}: {fault}")));
        }
    }
    let of = |what: &str, all: &[String]| {
        Figure::new(what, (all.len() as f64, ""), Bar::Equals(0.0)).with_note(all.join("; "))
    };
    let share = invalid as f64 / runs as f64;
    Ok(vec![
        of("recommendations that name an invalid figure", &found.rest_on_invalid),
        of("answers that change when the invalid figures are taken out", &found.changed),
        of("formats that do not mark an invalid headline", &found.unmarked),
        of("exit codes that belie the record", &found.codes),
        Figure::new("invalid sessions a run", (share, ""), Bar::AtLeast(INVALID_LEAST)).with_note(
            format!(
                "{runs} runs, {} of them without a record (their target broke) {}; {recommended} \
                 recommendations",
                broken.len(),
                broken.join(", ")
            ),
        ),
    ])
}

/// Runs, and has the record reported in every format; `None` where the target broke before anything
/// was measured.
fn shown(lab: &Lab<'_>, trial: &Trial, number: usize) -> Result<Option<(Shown, RunRecord)>> {
    let folder = lab.memory_folder()?;
    let place = folder.path().join("run");
    let mut command = lab.trimbench(&["run", "--jobs", "1"])?;
    command.args(["--seed", &number.to_string(), "--output"]).arg(&place).args(&trial.methods);
    command.args(trial.sets.iter().flat_map(|set| ["--set", set]));
    let run = on_target(lab, trial, &place, &mut command)?;
    let kept = match record(&place) {
        Ok(kept) => kept,
        Err(_) if run.status == Some(exit::TARGET.into()) => return Ok(None),
        Err(error) => return Err(error.context(run.complaint().to_owned())),
    };

    let report = |more: &[&str]| -> Result<Output> {
        let mut command = lab.trimbench(&["report"])?;
        lab.call(command.arg(&place).args(more).current_dir(folder.path()))
    };
    let terminal = report(&[])?;
    let json = report(&["--output-format", "json"])?;
    let files = ["--html", "page.html", "--export-markdown", "report.md"];
    let files =
        report(&[&files[..], &["--export-junit", "junit.xml", "--csv", "tables"]].concat())?;
    let read = |name: &str| {
        let path = folder.path().join(name);
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let shown = Shown {
        codes: [&terminal, &json, &files].map(|output| output.status),
        run,
        json: RunRecord::from_json(json.stdout.as_bytes()).context("read a report in JSON")?,
        terminal: terminal.stdout,
        page: read("page.html")?,
        markdown: read("report.md")?,
        junit: read("junit.xml")?,
        figures: read("tables/figures.csv")?,
    };
    Ok(Some((shown, kept)))
}

/// Runs on what is made for this run only.
fn on_target(lab: &Lab<'_>, trial: &Trial, place: &Path, command: &mut Command) -> Result<Output> {
    let command = command.arg("--target");
    match &trial.target {
        Target::Emulated(target) if trial.is_cut => {
            // The record of an emulated drive has steps when a session ends.
            let some_are_done = || {
                ::tests::kept_record(place)
                    .is_some_and(|record| record.sessions.iter().any(|it| it.finished))
            };
            let program = lab.program()?;
            program.call_signalled(command.arg(target), Signal::INT, some_are_done)
        }
        Target::Emulated(target) => lab.call(command.arg(target)),
        Target::Filesystem(options) => {
            let disk = LoopFilesystem::within(Path::new("/dev/shm"), "ext4", 4 * IMAGE, options);
            let writer = OtherWriter::start(&disk.path().join("of-others"), IMAGE);
            let _writer = writer.context("write beside the run")?;
            lab.call(command.arg(disk.path()).args(BUSY))
        }
        Target::OwnDisk => {
            let (directory, others) = (lab.root_folder()?, lab.root_folder()?);
            let writer = OtherWriter::start(&others.path().join("file"), IMAGE);
            let _writer = writer.context("write beside the run")?;
            lab.call(command.arg(directory.path()).args(BUSY))
        }
        Target::Loop => {
            let device = lab.loop_device(Path::new("/dev/shm"), IMAGE)?;
            let command = command.arg(device.node()).arg("--destroy").arg(device.image());
            lab.call(command.args(UNLOOKED))
        }
    }
}

fn is_recommendation(card: &AdviceCard) -> bool {
    RECOMMENDATIONS.contains(&card.action.as_str())
}

/// Figures that support a recommendation and must not.
fn rest_on_invalid(record: &RunRecord) -> Vec<String> {
    let mut faults = Vec::new();
    for card in record.advice.iter().filter(|card| is_recommendation(card)) {
        for (session, id) in card.because.iter().flat_map(|reason| &reason.figures) {
            let figure = record.sessions.get(*session).and_then(|it| Some((it, it.figure(id)?)));
            let is_good = figure.is_some_and(|(session, figure)| {
                let mut ids = session.caveats.iter().chain(&figure.caveats);
                let is_outside = ids.any(|id| id == Caveat::OutsideCalibration.id());
                session.finished && session.believes(figure) && !is_outside
            });
            if !is_good {
                faults.push(format!("{}: {} by {id}", card.target, card.action));
            }
        }
    }
    faults
}

/// Answers that a record without its invalid figures does not give. That there is none is always
/// right.
fn changed(kept: &RunRecord, shown: &RunRecord) -> Vec<String> {
    let mut stripped = kept.clone();
    for session in &mut stripped.sessions {
        let whole = session.clone();
        session.figures.retain(|figure| whole.believes(figure));
    }
    let without = cards(&stripped);
    let fault = |card: &AdviceCard| {
        let other = without.iter().find(|it| it.target == card.target);
        let other = other.map_or(NO_ANSWER, |it| it.action.as_str());
        (card.action != NO_ANSWER && card.action != other)
            .then(|| format!("{}: {}, without them {other}", card.target, card.action))
    };
    shown.advice.iter().filter_map(fault).collect()
}

/// Exit codes of the run and of its reports that are not those of its record.
fn codes(kept: &RunRecord, shown: &Shown) -> Vec<String> {
    let is_reliable = kept.is_valid() && kept.outcome == Outcome::Complete;
    let expected = Some(i32::from(if is_reliable { exit::DONE } else { exit::INVALID }));
    let run = shown.run.status;
    // A run whose limit failed or that was cut short says that first.
    let is_right = match run.and_then(|code| u8::try_from(code).ok()) {
        Some(exit::DONE | exit::INVALID) => run == expected,
        Some(exit::LIMIT_FAILED) => true,
        Some(exit::INTERRUPTED | exit::TARGET) => !is_reliable,
        _ => false,
    };
    let of_run = (!is_right).then(|| format!("the run ended with {run:?}, not {expected:?}"));
    let of_reports = shown.codes.iter().filter(|code| **code != expected);
    let of_reports =
        of_reports.map(|code| format!("a report ended with {code:?}, not {expected:?}"));
    of_run.into_iter().chain(of_reports).collect()
}
