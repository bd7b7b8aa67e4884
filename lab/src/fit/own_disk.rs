//! The twin of this machine's own disk, as a user would get it: measured in a directory, where
//! nothing is lost.
//!
//! Nobody knows the values of this disk. What can be judged is that the answer is honest: each
//! value is told or named as not determined, the exit code says whether the twin follows the
//! figures, and what one method measures directly, the time of a TRIM, is found again from all.

use std::fs;

use anyhow::{Context as _, Result};
use tests::program::UNLOOKED;
use trimbench_results::statistics::median;

use super::{FoundFigure, FoundTwin, FoundValue};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "own_disk",
    title: "The twin of the disk below the checkout tells each value or names it as not \
            determined, and says whether it follows all figures",
    needs: &[],
    sources: &[
        "crates/trimbench-core",
        "crates/trimbench-ssd",
        "crates/trimbench-claim",
        "crates/trimbench-engine",
        "crates/trimbench-linux",
        "crates/trimbench-methods",
        "crates/trimbench-fit",
        "lab/src/fit.rs",
    ],
    run,
};

/// What the short form looks for; the full one looks for all eight values.
const OF_SHORT: [&str; 2] = ["trim.command", "trim.per_gib_mapped"];
const VALUES: usize = 8;
/// What is said of a value.
const SAID: [&str; 4] = ["yes", "at-most", "at-least", "no"];
/// When no values give a figure: as `docs/reference/fit.md` has it.
const SCATTERS: f64 = 4.0;
const NOTICED: f64 = 0.05;
/// What is said of a figure that no surface has.
const TOO_FAR: &str = "too-far-off";
/// The figure that is a value: the time of a TRIM of a GB that holds data.
const DIRECT: &str = "idle-trim.chunked";
const DIRECT_OFF: f64 = 0.25;
/// How far off half of the figures may be, as a share: a model of flash is told of a virtual disk.
const TYPICALLY_OFF: f64 = 0.5;

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let folder = lab.folder();
    let mut fit = lab.trimbench(&["fit"])?;
    fit.arg(folder.join("run")).arg("--measure").arg(folder).args(UNLOOKED);
    fit.arg("--output").arg(folder.join("disk.toml"));
    if lab.is_short() {
        fit.args(OF_SHORT.into_iter().flat_map(|key| ["--free", key]));
    }
    let found = FoundTwin::by(lab, &mut fit)?;
    let mut images = 0;
    for entry in fs::read_dir(folder).context("look at what is left")? {
        images += usize::from(entry?.path().extension().is_some_and(|it| it == "img"));
    }
    judged(&found, lab.form(OF_SHORT.len(), VALUES), images)
}

fn judged(found: &FoundTwin, values: usize, images: usize) -> Result<Vec<Figure>> {
    let is_told = |it: &&FoundValue| {
        let [best, low, high] = it.numbers;
        SAID.contains(&it.determined.as_str()) && low <= best && best <= high
    };
    let told = found.parameters.iter().filter(is_told).count();
    let said: Vec<String> = found.parameters.iter().map(FoundValue::told).collect();
    let errors = found.figures.iter().filter_map(FoundFigure::error).map(f64::abs);
    let errors: Vec<f64> = errors.collect();
    let off = found.figures.iter().filter(|it| it.is_off()).count();
    let says_so = found.is_contradicted == (off > 0);
    let typical = median(&errors).context("no figure")?;
    let direct = found.figures.iter().find(|it| it.name == DIRECT);
    let direct =
        direct.and_then(FoundFigure::error).with_context(|| format!("no figure `{DIRECT}`"))?;
    let figure = |what: &str, value: f64, bar| Figure::new(what, (value, ""), bar);
    Ok(vec![
        figure(
            "values that are told with an interval, or named as not determined",
            told as f64,
            Bar::Equals(values as f64),
        )
        .with_note(said.join("; ")),
        figure(
            "the exit code says whether the twin follows all figures (1: yes)",
            f64::from(u8::from(says_so)),
            Bar::Equals(1.0),
        )
        .with_note(format!("{off} of {} figures are off", errors.len())),
        figure(
            "half of the figures are off by a factor of 1 + this, or less",
            typical.exp() - 1.0,
            Bar::AtMost(TYPICALLY_OFF),
        ),
        figure(
            "time of a TRIM of a GB that holds data, the twin's over what was measured",
            direct.exp(),
            Bar::Near { value: 1.0, share: DIRECT_OFF },
        ),
        figure("images that are left", images as f64, Bar::Equals(0.0)),
    ])
}

impl FoundFigure {
    /// ln(twin / measured) of a figure that was fitted to, or was too far off for that.
    fn error(&self) -> Option<f64> {
        let counts = self.used == "fitted" || self.used == TOO_FAR;
        Some((self.twin / self.measured.filter(|_| counts)?).ln())
    }

    /// Whether no values give this figure.
    fn is_off(&self) -> bool {
        let is_noticed = || self.error().is_some_and(|error| error.abs() > NOTICED);
        self.used == TOO_FAR || self.off.abs() > SCATTERS && is_noticed()
    }
}
