//! The methods on the disk that the repository is on: in a directory, and on an image file.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use ::tests::Need::Root;
use ::tests::program::Run;
use anyhow::{Context as _, Result};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, exit};
use trimbench_results::statistics::median;

use crate::entry::{Entry, REAL};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "own_disk",
    title: "On the disk that the repository is on, which must be calm, every method is valid and \
            its forecast kept",
    needs: &[Root],
    sources: REAL,
    run,
};

/// A method, its options, and those of a shorter run, by whose time that of the run is foretold.
type OwnRun = (&'static str, &'static [&'static str], &'static [&'static str]);

const IN_DIRECTORY: [OwnRun; 3] = [
    ("delete-stall", &["sizes=64MiB,128MiB,256MiB"], &["sizes=64MiB", "repetitions=1"]),
    ("postmark", &[], &["repetitions=1"]),
    ("delete-storm", &["file-size=128MiB"], &["file-size=64MiB"]),
];
const ON_IMAGE: [OwnRun; 3] = [
    ("trim-sweep", &[], &["commands=50"]),
    ("idle-trim", &[], &["repetitions=1"]),
    ("recovery", &[], &["span=512MiB"]),
];
/// What of these the short form runs.
const SHORT: [&str; 2] = ["postmark", "idle-trim"];
/// The image's size.
const IMAGE: Bytes = Bytes::gib(2);
/// Passes by which the disk's rate is found.
const RATE_PASSES: u32 = 5;
/// How far a forecast may be off.
const OFF_MOST: f64 = 0.2;
/// The page that says why two figures for one cost differ, and the heading of that part.
const PAGE: &str = "docs/methods/README.md";
const WHY: &str = "## Two figures for one cost";
/// Runs a program, and prints what it and its children wrote after its own errors. The counters of
/// the shell include those of programs that it waited for.
const COUNTED: &str = "\"$@\"; code=$?; while read -r line; do echo \"$line\" >&2; done \
                       < /proc/$$/io; exit $code";

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let image = lab.folder().join("image");
    let made = File::create(&image).and_then(|file| file.set_len(IMAGE.0));
    made.with_context(|| format!("make {}", image.display()))?;
    let directory = lab.folder().join("directory");
    fs::create_dir(&directory).with_context(|| format!("make {}", directory.display()))?;
    let rate = written_rate(lab, &image)?;
    let wanted = |run: &OwnRun| !lab.is_short() || SHORT.contains(&run.0);
    let (mut figures, mut found) = (Vec::new(), Vec::new());
    let on = |of: [OwnRun; 3], target| of.into_iter().map(move |run| (run, target));
    let all = on(IN_DIRECTORY, &directory).chain(on(ON_IMAGE, &image));
    for (run, target) in all.filter(|(run, _)| wanted(run)) {
        let destroy = (*target == image).then_some(&*image);
        let (of_run, run) = foretold(lab, run, target, (&rate, destroy))?;
        figures.extend(of_run);
        found.extend(run);
    }
    if !lab.is_short() {
        figures.push(agreement(lab, &found)?);
    }
    Ok(figures)
}

/// What the disk writes a second, as a user would find out: the median of so many times that the
/// image is written once.
fn written_rate(lab: &Lab<'_>, image: &Path) -> Result<String> {
    let mut seconds = Vec::new();
    for _ in 0..RATE_PASSES {
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "bs=1M", "oflag=direct", "conv=notrunc,fsync"]);
        dd.arg(format!("of={}", image.display())).arg(format!("count={}", IMAGE.0 >> 20));
        seconds.push(lab.call_well(&mut dd)?.seconds);
    }
    let median = median(&seconds).context("no pass")?;
    Ok(Bytes(rounded(IMAGE.0 as f64 / median)).to_string())
}

/// The shorter run, the dry run, then the run itself: whether it was valid or refused with a
/// reason, and how far its forecast was off.
fn foretold(
    lab: &Lab<'_>,
    (name, options, shorter): OwnRun,
    target: &Path,
    (rate, destroy): (&str, Option<&Path>),
) -> Result<(Vec<Figure>, Option<Run>)> {
    // The records are not kept on the disk that is measured.
    let records = lab.memory_folder()?;
    let (earlier, place) = (records.path().join("shorter"), records.path().join("run"));
    let target = target.to_str().context("a path of UTF-8")?;
    let begin = |options: &[&str], place: &Path| -> Result<Command> {
        let mut command = lab.program()?.run_command(name, (target, options), place);
        command.args(destroy.into_iter().flat_map(|image| [Path::new("--destroy"), image]));
        Ok(command)
    };
    lab.call(&mut begin(shorter, &earlier)?)?;
    let mut dry = begin(options, &place)?;
    let dry = dry.args(["--dry-run", "--assumed-rate", rate, "--timed-by"]).arg(&earlier);
    let forecast = lab.call(dry)?.stdout;
    let run = begin(options, &place)?;
    let mut counted = Command::new("sh");
    counted.args(["-c", COUNTED, "sh"]).arg(run.get_program()).args(run.get_args());
    let output = lab.call(&mut counted)?;

    let is_valid = output.status == Some(exit::DONE.into());
    let reason = output.stderr.lines().find(|line| line.starts_with("error: "));
    let fine = is_valid || (output.status == Some(exit::TARGET.into()) && reason.is_some());
    let what = format!("{name}: valid, or refused with the reason (1: yes)");
    let figure = Figure::new(what, (f64::from(u8::from(fine)), ""), Bar::Equals(1.0));
    let mut figures = vec![figure.with_note(reason.unwrap_or("valid"))];
    if !is_valid {
        return Ok((figures, None));
    }
    let written = counter(&output.stderr, "write_bytes: ").context("no counters were printed")?;
    for (of, label, found) in [("bytes", "writes", written), ("time", "time", output.seconds)] {
        let foretold = fact(&forecast, label).and_then(quantity);
        let foretold = foretold.with_context(|| format!("no forecast of {of}"))?;
        let what = format!("{name}: {of} over the dry run's forecast, less 1");
        let bar = Bar::Within(-OFF_MOST, OFF_MOST);
        let figure = Figure::new(what, (found / foretold - 1.0, ""), bar);
        figures.push(figure.with_note(format!("{foretold} foretold, {found} found")));
    }
    Ok((figures, Some(Run::read(output, &place)?)))
}

/// A line `  LABEL  VALUE` of a dry run.
fn fact<'a>(forecast: &'a str, label: &str) -> Option<&'a str> {
    forecast.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(' '))
}

/// The first number of a text, times its unit: bytes or seconds.
fn quantity(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.by_ref().find_map(|word| word.parse().ok())?;
    let unit = match words.next()?.trim_end_matches(',') {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "s" => 1.0,
        "min" => 60.0,
        _ => return None,
    };
    Some(number * unit)
}

/// A counter of `/proc/PID/io`.
fn counter(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

/// Whether the seconds a GB of two methods agree within their intervals, or the page says why not.
fn agreement(lab: &Lab<'_>, runs: &[Run]) -> Result<Figure> {
    let range = |id: &str| {
        let figure = runs.iter().find_map(|run| run.session.figure(id));
        let figure = figure.with_context(|| format!("no run found {id}"))?;
        let ends = figure.interval.map_or((figure.value, figure.value), |it| (it.low, it.high));
        anyhow::Ok((figure.shown().text(), ends))
    };
    let (stutter, one) = range("stutter")?;
    let (cost, other) = range("idle-trim")?;
    let agree = one.0 <= other.1 && other.0 <= one.1;
    let page = fs::read_to_string(lab.path(PAGE)).with_context(|| format!("read {PAGE}"))?;
    let explained = page.contains(WHY);
    let what = "delete-stall and idle-trim agree, or the page says why not (1: yes)";
    let figure = (f64::from(u8::from(agree || explained)), "");
    let said = if agree { "they agree" } else { "they differ" };
    let note = format!("delete-stall {stutter}, idle-trim {cost}: {said}");
    Ok(Figure::new(what, figure, Bar::Equals(1.0)).with_note(note))
}

#[cfg(test)]
mod tests;
