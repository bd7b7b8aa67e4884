//! The profiles that stand for published drives, found again by `trimbench fit`.
//!
//! Six drives of \[S0\]: three values each, from the three published figures to which the profile's
//! are fitted. Four drives of \[SSDIQ\]: the values of one run of uniform writes, from its 50
//! tenths, on a smaller scaling. Each fit begins at a profile whose values in question are
//! others. Then what `kernels.5` and `drives.1` judge is judged with what was found.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;
use trimbench_core::{Nanos, Ppm};
use trimbench_ssd::Profile;

use crate::acceptance::drives::courses;
use crate::acceptance::files::table::predictions::{Prediction, predictions};
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};
use crate::s0::published::{PublishedColumn, VENDORS, value};
use crate::s0::{self, ColumnRun};

/// Key, the range that is searched, and what the profile has where the search begins.
type FreeValue = (&'static str, &'static str, &'static str);

/// The values of a drive of \[S0\], in the order of its figures.
const OF_VENDORS: [FreeValue; 3] = [
    ("nand.program", "100us..5ms", "700us"),
    ("write_streams.switch", "200us..20ms", "2ms"),
    ("trim.command", "1us..200ms", "450us"),
];
/// The drive of the short form, of which only the last value is looked for.
const SHORT: &str = "vendor2";
/// What the published figures are known to: in percent. Buffered and unbuffered ones differ by one
/// or two where nothing but chance can tell them apart.
const VENDORS_KNOWN: f64 = 1.0;
const VENDORS_CAPACITY: &str = "16GiB";
/// PostMark as \[S0\] set it, once, with another of its seeds in each run of a twin: transactions
/// of its default seed are 0.6 % quicker than those of ten are on average. It begins when the TRIM
/// of mkfs is worked off: the drive that does so in the background (vendor6) is slow until then,
/// and was measured "a little bit differently" for that; how long \[S0\] waited it does not say.
const POSTMARK: &str = "number=50000 transactions=50000 size-low=1000B size-high=200000B \
                        memory=none repetitions=1 bufferings=one vary=drawn settle=60s";
/// How far a value may be from the profile's, if its interval does not hold that.
const VALUE_OFF: f64 = 0.02;
/// Repetitions of each column, as `kernels.5` has them, and how many of its predictions miss no bar
/// there, at the least.
const REPETITIONS: u32 = 10;
const WITHIN_LEAST: f64 = 48.0;

/// The values of a named drive.
const OF_NAMED: [FreeValue; 3] = [
    ("drive.over_provisioning", "5%..80%", "30%"),
    ("nand.program", "300us..10ms", "1700us"),
    ("collector.read", "20us..1ms", "300us"),
];
/// The drives, how many of the values are looked for, and on which capacity. Of the CM7-R only the
/// first: the others of its profile were chosen with runs in view that this run does not tell of;
/// see `docs/drives/README.md`. Of the WD the first two: what the collector's reads cost is told by
/// no run alone, as a program that takes longer does the same; and on 8 GiB, as the fewer
/// superblocks of 4 GiB are like another over-provisioning.
const NAMED: [(&str, usize, &str); 4] = [
    ("micron-7450-max-800", 3, "4GiB"),
    ("solidigm-p5520-1920", 3, "4GiB"),
    ("wd-dc-960", 2, "8GiB"),
    ("kioxia-cm7-r-3840", 1, "4GiB"),
];
const CAMPAIGN: &str = "finalwa14";
/// What a tenth is known to, in percent: runs of a drive that should be the same differ by that.
const NAMED_KNOWN: f64 = 2.0;
/// How much farther off than with the profile's values the worst course that is predicted may be.
const FARTHER: f64 = 0.01;

/// The parts of the raw output with the courses of the profiles as they are, and as found.
const AS_IS: &str = "as-is";
const FOUND: &str = "found";
/// The runs of the drives of \[S0\] with what was found.
const RUNS: &str = "runs";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for vendor in vendors(context.form()) {
        let figures = published(vendor)?;
        let base = (vendor, free_of_vendor(vendor, context.form()), "");
        fit(context, base, (&figures, VENDORS_CAPACITY))?;
    }
    if context.form() != Form::Full {
        return Ok(());
    }
    context.keep(RUNS, || {
        let config = |vendor: &&str| {
            let text = fs::read_to_string(profile(context, vendor)).context("read a profile")?;
            Ok(((*vendor).to_owned(), Profile::parse(&text)?.config))
        };
        s0::runs(&VENDORS.iter().map(config).collect::<Result<Vec<_>>>()?, REPETITIONS)
    })?;
    for (drive, values, capacity) in NAMED {
        let (figures, host) = courses::fitted_run(context, (drive, CAMPAIGN), NAMED_KNOWN)?;
        let host = host.map_or_else(String::new, |setting| format!(",{setting}"));
        let base = (drive, &OF_NAMED[..values], &*format!(",fill=none{host}"));
        fit(context, base, (&figures, capacity))?;
    }
    courses::measure(&context.part(AS_IS, Form::Full)?)?;
    courses::measure_with(&context.part(FOUND, Form::Full)?, |drive| {
        profile(context, drive).display().to_string()
    })
}

fn vendors(form: Form) -> impl Iterator<Item = &'static str> {
    VENDORS.into_iter().filter(move |vendor| form == Form::Full || *vendor == SHORT)
}

fn free_of_vendor(vendor: &str, form: Form) -> &'static [FreeValue] {
    let first = if vendor == SHORT && form != Form::Full { 2 } else { 0 };
    &OF_VENDORS[first..]
}

/// Where the profile that a fit found is written.
fn profile(context: &Context<'_>, drive: &str) -> PathBuf {
    context.folder().join(format!("{drive}.toml"))
}

/// Finds the values of a drive, from a profile that has others.
fn fit(
    context: &Context<'_>,
    (drive, free, settings): (&str, &[FreeValue], &str),
    (figures, capacity): (&str, &str),
) -> Result<()> {
    let known = Profile::built_in(drive).with_context(|| format!("no profile `{drive}`"))?;
    let mut values = known.values.clone();
    for value in &mut values {
        if let Some((.., begin)) = free.iter().find(|(key, ..)| *key == value.key) {
            (*begin).clone_into(&mut value.value);
        }
    }
    let text = Profile::text_of(drive, "where a fit begins", &values);
    let base = context.folder().join(format!("{drive}-begin.toml"));
    fs::write(&base, text).context("write a profile")?;
    let table = context.folder().join(format!("{drive}.csv"));
    fs::write(&table, figures).context("write a table of figures")?;
    let base = format!("{}{settings}", base.display());
    let mut command = context.trimbench(&["fit", "--base", &base, "--capacity", capacity])?;
    command.arg("--table").arg(table).arg("--output").arg(profile(context, drive));
    for (key, range, _) in free {
        command.arg("--free").arg(format!("{key}={range}"));
    }
    command.args(["--quiet", "--output-format", "json"]);
    // Published figures may contradict each other, and the fit says so with its exit code.
    context.capture(drive, &mut command)?;
    Ok(())
}

/// The published figures to which a drive of \[S0\] is fitted.
fn published(vendor: &str) -> Result<String> {
    let column = |discard| PublishedColumn { buffered: true, discard };
    let mut text = "target,method,options,figure,value,unit,percent\n".to_owned();
    for (metric, figure, discard, unit) in [
        ("Creation_alone/s", "creation-alone-nodiscard-buffered", false, "1/s"),
        ("Duration_of_transactions", "duration-of-transactions-nodiscard-buffered", false, "s"),
        ("Duration_of_transactions", "duration-of-transactions-discard-buffered", true, "s"),
    ] {
        let value = value(vendor, column(discard), metric)?;
        let _ = writeln!(
            text,
            "\"ext4,machine=s0\",postmark,{POSTMARK},{figure},{value},{unit},{VENDORS_KNOWN}"
        );
    }
    Ok(text)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for vendor in vendors(raw.form()) {
        findings.push(values(raw, vendor)?);
    }
    if raw.form() != Form::Full {
        return Ok(findings);
    }
    let (capture, runs): (_, Vec<ColumnRun>) = raw.lines(RUNS)?;
    findings.push(predicted(&runs, &capture)?);
    for (drive, ..) in NAMED {
        findings.push(course(raw, drive)?);
    }
    Ok(findings)
}

/// The values of a fit that are not the profile's.
fn values(raw: &Raw, drive: &str) -> Result<Finding> {
    let capture = raw.capture(drive)?;
    let (others, notes) = others(raw, drive, &capture)?;
    let what = format!("{drive}: values that are neither within 2 % of the profile's nor hold it");
    let finding = Finding::new(&what, (others, ""), Bar::Equals(0.0), &capture);
    Ok(finding.with_note(&notes))
}

/// How many values are not the profile's, and all of them in words.
fn others(raw: &Raw, drive: &str, capture: &Capture) -> Result<(f64, String)> {
    let known = Profile::built_in(drive).with_context(|| format!("no profile `{drive}`"))?;
    let found = raw.json(&capture.output)?;
    let found = found["parameters"].as_array().context("a fit without values")?;
    let (mut others, mut notes) = (0.0, Vec::new());
    for parameter in found {
        let text = |key: &str| parameter[key].as_str().unwrap_or_default();
        let value = known.values.iter().find(|value| value.key == text("key"));
        let value = &value.context("a value that the profile lacks")?.value;
        let [best, low, high] = numbers(parameter)?;
        let is_held = text("determined") != "yes"
            || number(value).is_some_and(|known| {
                (best / known - 1.0).abs() <= VALUE_OFF || (low..=high).contains(&known)
            });
        others += f64::from(u8::from(!is_held));
        let [key, best, low, high] = ["key", "value", "low", "high"].map(text);
        notes.push(match text("determined") {
            "yes" => format!("{key} {best} ({low} to {high}), the profile's {value}"),
            _ => format!("{key} is not determined, the profile's {value}"),
        });
    }
    Ok((others, notes.join("; ")))
}

/// Best value and ends of the interval.
fn numbers(parameter: &Value) -> Result<[f64; 3]> {
    let number = |at: usize| parameter["numbers"][at].as_f64().context("a value without a number");
    Ok([number(0)?, number(1)?, number(2)?])
}

/// A time in ns, or a ratio in millionths.
fn number(text: &str) -> Option<f64> {
    let time = text.parse::<Nanos>().ok().map(|it| it.0 as f64);
    time.or_else(|| text.parse::<Ppm>().ok().map(|it| f64::from(it.0)))
}

/// The predictions of `kernels.5` that miss no bar.
fn predicted(runs: &[ColumnRun], capture: &Capture) -> Result<Finding> {
    let all = predictions(runs)?;
    let missed = all.iter().filter(|it| it.has_bar && !it.is_near());
    let missed: Vec<String> = missed.map(Prediction::told).collect();
    let what = "predicted durations of [S0] that miss no bar, with what was found";
    let within = (all.len() - missed.len()) as f64;
    let finding = Finding::new(what, (within, ""), Bar::AtLeast(WITHIN_LEAST), capture);
    Ok(finding.with_note(&format!("of {}; missed: {}", all.len(), missed.join("; "))))
}

/// The worst course of a named drive that is predicted.
fn course(raw: &Raw, drive: &str) -> Result<Finding> {
    let what = format!("{drive}: the worst course that is predicted");
    let of = |part: &str| {
        let findings = courses::read(&raw.part(part, Form::Full))?;
        let found = findings.into_iter().find(|finding| finding.what == what);
        found.with_context(|| format!("{part} has no `{what}`"))
    };
    let (as_is, found) = (of(AS_IS)?, of(FOUND)?);
    let (_, notes) = others(raw, drive, &raw.capture(drive)?)?;
    let file = format!("{FOUND}/{}", found.raw);
    let note = format!("with the profile's values {:.4}; {notes}", as_is.figure);
    let bar = Bar::AtMost(as_is.figure + FARTHER);
    let what = format!("{what}, with what was found");
    Ok(Finding { what, bar, ..found }.with_note(&note).from_file(&file))
}

#[cfg(test)]
mod tests;
