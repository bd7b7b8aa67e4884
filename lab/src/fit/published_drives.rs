//! The profiles that stand for published drives, found again by `trimbench fit`.
//!
//! Six drives of \[S0\]: three values each, from the three published figures to which the profile's
//! are fitted. Four drives of \[SSDIQ\]: the values of one run of uniform writes, from its 50
//! tenths, on a smaller scaling. Each fit begins at a profile whose values in question are
//! others. Then what `filesystems.tables` and `real_drives.courses` judge is judged with what was
//! found.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use tests::s0::published::{PublishedColumn, VENDORS, value};
use tests::s0::{self, Prediction, predictions};
use trimbench_core::{Nanos, Ppm};
use trimbench_ssd::Profile;

use super::{FoundTwin, FoundValue, SOURCES};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;
use crate::real_drives::courses;

pub(crate) const ENTRY: Entry = Entry {
    name: "published_drives",
    title: "The values of the profiles of six drives of [S0] and four of [SSDIQ] are what a fit \
            finds, and predict as well",
    needs: &[],
    sources: SOURCES,
    run,
};

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
/// The figures: metric and figure, whether files were discarded, and the unit.
const OF_S0: [(&str, &str, bool, &str); 3] = [
    ("Creation_alone/s", "creation-alone-nodiscard-buffered", false, "1/s"),
    ("Duration_of_transactions", "duration-of-transactions-nodiscard-buffered", false, "s"),
    ("Duration_of_transactions", "duration-of-transactions-discard-buffered", true, "s"),
];
/// How far a value may be from the profile's, if its interval does not hold that.
const VALUE_OFF: f64 = 0.02;
/// Repetitions of each column, as `filesystems.tables` has them, and how many of its predictions
/// miss no bar there, at the least.
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

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (vendors, free) = lab.form((&[SHORT][..], &OF_VENDORS[2..]), (&VENDORS, &OF_VENDORS));
    let mut figures = Vec::new();
    for vendor in vendors {
        let figures_of_it = (&*published(vendor)?, VENDORS_CAPACITY);
        let (others, notes) = fit(lab, (vendor, free, ""), figures_of_it)?;
        let what =
            format!("{vendor}: values that are neither within 2 % of the profile's nor hold it");
        figures.push(Figure::new(what, (others, ""), Bar::Equals(0.0)).with_note(notes));
    }
    if !lab.is_short() {
        figures.push(predicted(lab)?);
        figures.extend(named(lab)?);
    }
    Ok(figures)
}

/// The published figures to which a drive of \[S0\] is fitted.
fn published(vendor: &str) -> Result<String> {
    let mut text = "target,method,options,figure,value,unit,percent\n".to_owned();
    for (metric, figure, discard, unit) in OF_S0 {
        let value = value(vendor, PublishedColumn { buffered: true, discard }, metric)?;
        writeln!(
            text,
            "\"ext4,machine=s0\",postmark,{POSTMARK},{figure},{value},{unit},{VENDORS_KNOWN}"
        )?;
    }
    Ok(text)
}

/// Where the profile that a fit found is written.
fn profile(lab: &Lab<'_>, drive: &str) -> PathBuf {
    lab.folder().join(format!("{drive}.toml"))
}

/// Finds the values of a drive, from a profile that has others. How many values are not the
/// profile's, and all of them in words.
fn fit(
    lab: &Lab<'_>,
    (drive, free, settings): (&str, &[FreeValue], &str),
    (figures, capacity): (&str, &str),
) -> Result<(f64, String)> {
    let known = Profile::built_in(drive).with_context(|| format!("no profile `{drive}`"))?;
    let mut values = known.values.clone();
    for value in &mut values {
        if let Some((.., begin)) = free.iter().find(|(key, ..)| *key == value.key) {
            let is_other = number(begin).zip(number(&value.value));
            let is_other = is_other.is_some_and(|(a, b)| (a / b).ln().abs() > 0.05);
            ensure!(is_other, "{drive}: the search for {} begins at the profile's", value.key);
            (*begin).clone_into(&mut value.value);
        }
    }
    let write = |name: String, text: &str| -> Result<String> {
        let path = lab.folder().join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path.display().to_string())
    };
    let text = Profile::text_of(drive, "where a fit begins", &values);
    let base = write(format!("{drive}-begin.toml"), &text)? + settings;
    let table = write(format!("{drive}.csv"), figures)?;
    let mut command = lab.trimbench(&["fit", "--base", &base, "--capacity", capacity])?;
    command.args(["--table", &table, "--output"]).arg(profile(lab, drive));
    for (key, range, _) in free {
        command.arg("--free").arg(format!("{key}={range}"));
    }
    // Published figures may contradict each other.
    let found = FoundTwin::by(lab, &mut command)?;
    let (mut others, mut notes) = (0.0, Vec::new());
    for value in &found.parameters {
        let known = known.values.iter().find(|it| it.key == value.key);
        let known = &known.context("a value that the profile lacks")?.value;
        others += f64::from(u8::from(!is_held(value, number(known))));
        notes.push(format!("{}, the profile's {known}", value.told()));
    }
    Ok((others, notes.join("; ")))
}

/// Whether a value is the profile's, or nothing is known of it.
fn is_held(value: &FoundValue, known: Option<f64>) -> bool {
    let [best, low, high] = value.numbers;
    let is_it =
        |known: f64| (best / known - 1.0).abs() <= VALUE_OFF || (low..=high).contains(&known);
    value.determined != "yes" || known.is_some_and(is_it)
}

/// A time in ns, or a ratio in millionths.
fn number(text: &str) -> Option<f64> {
    let time = text.parse::<Nanos>().ok().map(|it| it.0 as f64);
    time.or_else(|| text.parse::<Ppm>().ok().map(|it| f64::from(it.0)))
}

/// The predictions of the tables of \[S0\] that miss no bar.
fn predicted(lab: &Lab<'_>) -> Result<Figure> {
    let config = |vendor: &&str| {
        let text = fs::read_to_string(profile(lab, vendor)).context("read a profile")?;
        Ok(((*vendor).to_owned(), Profile::parse(&text)?.config))
    };
    let drives = VENDORS.iter().map(config).collect::<Result<Vec<_>>>()?;
    let all = predictions(&s0::runs(&drives, REPETITIONS)?)?;
    let missed = all.iter().filter(|it| it.has_bar && !it.is_near());
    let missed: Vec<String> = missed.map(Prediction::told).collect();
    let what = "predicted durations of [S0] that miss no bar, with what was found";
    let within = (all.len() - missed.len()) as f64;
    let note = format!("of {}; missed: {}", all.len(), missed.join("; "));
    Ok(Figure::new(what, (within, ""), Bar::AtLeast(WITHIN_LEAST)).with_note(note))
}

/// Of each named drive the worst course that is predicted.
fn named(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut notes = Vec::new();
    for (drive, values, capacity) in NAMED {
        let (figures, host) = courses::fitted_run(lab, (drive, CAMPAIGN), NAMED_KNOWN)?;
        let host = host.map_or_else(String::new, |setting| format!(",{setting}"));
        let base = (drive, &OF_NAMED[..values], &*format!(",fill=none{host}"));
        notes.push(fit(lab, base, (&figures, capacity))?.1);
    }
    let as_is = courses::figures_of(lab, str::to_owned)?;
    let found = courses::figures_of(lab, |drive| profile(lab, drive).display().to_string())?;
    let judged = |((drive, ..), note): (&(&str, usize, &str), String)| {
        let what = courses::worst_predicted(drive);
        let of = |all: &[Figure]| {
            let figure = all.iter().find(|figure| figure.what == what);
            figure.map(|figure| figure.value).with_context(|| format!("no `{what}`"))
        };
        let (as_is, found) = (of(&as_is)?, of(&found)?);
        let note = format!("with the profile's values {as_is:.4}; {note}");
        let bar = Bar::AtMost(as_is + FARTHER);
        Ok(Figure::new(format!("{what}, with what was found"), (found, ""), bar).with_note(note))
    };
    NAMED.iter().zip(notes).map(judged).collect()
}
