//! Emulated drives with hidden values, found again from their records.
//!
//! Eight values of a drive are drawn; it is measured with three methods as a user would, and a twin
//! is fitted to the record (`trimbench fit`), which is told nothing of the values. Then the drive
//! itself and the twin run three methods that the fit has not seen.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use tests::program::Run;
use trimbench_core::rng::Rng;

use super::{FoundTwin, SOURCES};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "hidden_values",
    title: "Of 30 emulated drives, each with eight hidden values, the values are found again, and \
            what was not measured is predicted",
    needs: &[],
    sources: SOURCES,
    run,
};

const DRIVES: u64 = 30;
/// What is known of a drive: its class, and that its TRIM occupies it while it works.
const BASE: &str = "plain-nvme-tlc,trim.mode=queued";
const CAPACITY: &str = "1GiB";
/// What the drive is measured with.
const METHODS: [&str; 3] = ["steady-state", "trim-sweep", "latency-under-load"];
/// Methods that the fit does not see, a figure of each, their targets' filesystem, and the capacity
/// that they need.
const UNSEEN: [(&str, Option<&str>, &str, &str); 3] = [
    ("replay", Some("throughput-qd32-kept"), "", CAPACITY),
    // Its headline.
    ("policy", None, "ext4:", "4GiB"),
    ("settle", Some("settle-trim"), "", CAPACITY),
];
/// Sessions at a time.
const JOBS: [&str; 2] = ["--jobs", "2"];
/// The longest fit, s.
const SECONDS_MAX: f64 = 180.0;
/// Intervals of 95 % that hold the truth: between these shares, and of one drive, which has eight
/// at the most.
const COVERED: [Bar; 2] = [Bar::Within(0.90, 0.99), Bar::Within(0.6, 1.0)];
/// So many of the hidden values are told by three methods, at the least: five of eight.
const DETERMINED: f64 = 0.625;
/// How far off predictions are, as a share.
const PREDICTED: f64 = 0.15;

/// Key, least and greatest value, and the unit of its text.
const HIDDEN: [(&str, f64, f64, &str); 8] = [
    ("drive.over_provisioning", 5e4, 5e5, "ppm"),
    ("nand.read", 2e4, 1.5e5, "ns"),
    ("nand.program", 3e5, 2.5e6, "ns"),
    ("nand.erase", 1e6, 1e7, "ns"),
    ("host.command", 5e2, 1e4, "ns"),
    ("host.latency", 4e3, 6e4, "ns"),
    ("trim.command", 1e4, 1e6, "ns"),
    ("trim.per_gib_mapped", 1e6, 1e8, "ns"),
];

/// What came of all drives.
#[derive(Debug, Default)]
struct Tally {
    intervals: usize,
    /// Intervals that hold the truth.
    covering: usize,
    /// Fits that took longer than they may.
    late: usize,
    /// How far figures of methods not seen are off, as shares.
    off: Vec<f64>,
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let drives = lab.form(1, DRIVES);
    let mut tally = Tally::default();
    for number in 0..drives {
        find(lab, number, &mut tally).with_context(|| format!("drive {number}"))?;
    }
    let Tally { intervals, covering, late, off } = tally;
    let within = off.iter().filter(|off| **off <= PREDICTED).count();
    let share = |part: usize, of: usize| (part as f64 / of as f64, "");
    let values = HIDDEN.len() * usize::try_from(drives).context("a count")?;
    let [covered, of_one] = COVERED;
    Ok(vec![
        Figure::new(
            "intervals of 95 % that hold the truth",
            share(covering, intervals),
            lab.form(of_one, covered),
        ),
        Figure::new(
            "values that are determined",
            share(intervals, values),
            Bar::AtLeast(DETERMINED),
        ),
        Figure::new(
            "figures of methods not seen within 15 %",
            share(within, off.len()),
            Bar::AtLeast(1.0),
        ),
        Figure::new("fits that took more than 180 s", (late as f64, ""), Bar::Equals(0.0)),
    ])
}

/// Draws a drive, measures it, fits a twin to it, and compares the two.
fn find(lab: &Lab<'_>, number: u64, tally: &mut Tally) -> Result<()> {
    let mut rng = Rng::new(1).split(&format!("drive {number}"));
    let hidden = HIDDEN.map(|(key, low, high, unit)| (key, drawn(low, high, &mut rng), unit));
    let mut drive = BASE.to_owned();
    for (key, value, unit) in hidden {
        drive.extend([",", key, "=", &value.to_string(), unit]);
    }
    // Seeds that the search does not use.
    let seed = (1_000_000_007 + number).to_string();
    let folder = lab.memory_folder()?;
    let (measured, twin) = (folder.path().join("measured"), folder.path().join("twin.toml"));
    let mut measure = lab.trimbench(&["run", "--no-report", "--quiet", "--seed", &seed])?;
    measure.args(METHODS).args(["--target", &format!("sim:{drive},capacity={CAPACITY}")]);
    let measured_by = measure.args(JOBS).arg("--output").arg(&measured);
    lab.call_well(measured_by)?;
    let mut fit = lab.trimbench(&["fit", "--base", BASE])?;
    let begun = std::time::Instant::now();
    let found = FoundTwin::by(lab, fit.args(JOBS).arg(&measured).arg("--output").arg(&twin))?;
    tally.late += usize::from(begun.elapsed().as_secs_f64() > SECONDS_MAX);
    ensure!(!found.is_contradicted, "the twin does not follow the figures");
    ensure!(found.figures.iter().any(|it| it.used == "fitted"), "nothing was fitted to");
    for (key, truth, _) in hidden {
        let value = found.parameters.iter().find(|it| it.key == key);
        let value = value.with_context(|| format!("the fit says nothing of {key}"))?;
        let [_, low, high] = value.numbers;
        if value.determined == "yes" {
            tally.intervals += 1;
            tally.covering += usize::from((low..=high).contains(&truth));
        }
    }
    let twin = twin.display().to_string();
    for unseen in UNSEEN {
        let of = |drive: &str| figure(lab, folder.path(), unseen, (drive, &seed));
        tally.off.push((of(&twin)? / of(&drive)?).ln().abs().exp() - 1.0);
    }
    Ok(())
}

/// A figure of a method on a drive.
fn figure(
    lab: &Lab<'_>,
    folder: &Path,
    (method, id, filesystem, capacity): (&str, Option<&str>, &str, &str),
    (drive, seed): (&str, &str),
) -> Result<f64> {
    let target = format!("{filesystem}sim:{drive},capacity={capacity}");
    let place = tempfile::tempdir_in(folder).context("make a folder for a record")?;
    let place = place.path().join("run");
    let mut command = lab.program()?.run_command(method, (&target, &[]), &place);
    let run = Run::read(lab.call_well(command.args(JOBS).args(["--seed", seed]))?, &place)?;
    let mut figures = run.session.figures.iter();
    let figure = figures.find(|it| id.map_or(it.headline, |id| it.id == id));
    Ok(figure.with_context(|| format!("{method} has no figure {id:?}"))?.value)
}

/// A value drawn evenly by its logarithm.
fn drawn(low: f64, high: f64, rng: &mut Rng) -> f64 {
    let share = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    (low.ln() + share * (high / low).ln()).exp().round()
}
