//! Fits the three values of each drive and writes them into its profile.
//!
//! Each is searched for by the secant rule, from what stands in the profile on, against one
//! published figure of the *buffered* columns; nothing of the unbuffered ones and no deletion is
//! looked at. Published figures are means, so each is compared with the mean of the first
//! repetitions. A TRIM's cost cannot be below 0: where even 0 gives a longer phase than the
//! published one, it is 0.

use std::fs;

use anyhow::{Context as _, Result, bail};
use trimbench_core::Nanos;
use trimbench_ssd::{Profile, SsdConfig};

use super::published::{Durations, PublishedColumn, durations};
use super::run::repeat;
use crate::Repository;

/// A search ends within this share of the published figure, or after so many steps.
const NEAR: f64 = 0.003;
const STEPS: usize = 8;
/// Repetitions that are compared with it.
const REPETITIONS: u32 = 3;

/// One of the three values.
struct Value {
    /// Table and key in the profile.
    table: &'static str,
    key: &'static str,
    /// The column whose figure it is fitted to.
    column: PublishedColumn,
    /// That figure's name, and the figure of durations.
    name: &'static str,
    figure: fn(&Durations) -> f64,
    /// The value in a drive's numbers.
    of: fn(&mut SsdConfig) -> &mut Nanos,
}

const BUFFERED: PublishedColumn = PublishedColumn { buffered: true, discard: false };
const WITH_DISCARD: PublishedColumn = PublishedColumn { buffered: true, discard: true };

/// In the order in which they are fitted: each depends little on those after it.
const VALUES: [Value; 3] = [
    Value {
        table: "nand",
        key: "program",
        column: BUFFERED,
        name: "creation without discard",
        figure: |durations| durations.creation,
        of: |config| &mut config.nand.program,
    },
    Value {
        table: "write_streams",
        key: "switch",
        column: BUFFERED,
        name: "transactions without discard",
        figure: |durations| durations.transactions,
        of: |config| &mut config.write_streams.as_mut().expect("the profile has the table").switch,
    },
    Value {
        table: "trim",
        key: "command",
        column: WITH_DISCARD,
        name: "transactions with discard",
        figure: |durations| durations.transactions,
        of: |config| &mut config.trim.command,
    },
];

/// Fits the values of a drive; returns its profile's text with them.
pub(super) fn fit(repository: &Repository, vendor: &str) -> Result<(String, SsdConfig)> {
    let path = repository.root().join(format!("profiles/{vendor}.toml"));
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut config = Profile::parse(&text)?.config;
    // The second round has the last values of the others.
    for value in VALUES.iter().take(2).chain(&VALUES) {
        search(vendor, &mut config, value)?;
    }
    let mut fitted = text;
    for value in &VALUES {
        fitted = written(&fitted, vendor, &mut config, value)?;
    }
    // With whole microseconds, as they are written.
    let fitted_config = Profile::parse(&fitted).context("the profile as fitted")?.config;
    fs::write(&path, &fitted).with_context(|| format!("write {}", path.display()))?;
    Ok((vendor.to_owned(), fitted_config))
}

/// Sets a value so that its figure is the published one.
fn search(vendor: &str, config: &mut SsdConfig, value: &Value) -> Result<()> {
    let wanted = (value.figure)(&durations(vendor, value.column)?);
    let begin = (value.of)(config).seconds();
    let mut figure = |at: f64| -> Result<f64> {
        *(value.of)(config) = Nanos::from_seconds(at);
        let runs = (0..REPETITIONS).map(|number| repeat((vendor, config), value.column, number));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        Ok((value.figure)(&Durations::mean(runs.iter().map(|run| &run.durations))) - wanted)
    };
    let near = |error: f64| error.abs() <= NEAR * wanted;
    let mut last = (begin, figure(begin)?);
    let mut best = last;
    let mut next = if last.1 > 0.0 { 0.8 * begin } else { 1.2 * begin + 1e-6 };
    for _ in 0..STEPS {
        if near(best.1) || (best.0 == 0.0 && best.1 > 0.0) {
            break;
        }
        let here = (next, figure(next)?);
        let slope = (here.1 - last.1) / (here.0 - last.0);
        last = here;
        if here.1.abs() < best.1.abs() {
            best = here;
        }
        // The figure is not quite smooth: where it falls, a small step from the best so far.
        let rise = if best.1 > 0.0 { 0.97 } else { 1.03 };
        next = if slope > 0.0 { (here.0 - here.1 / slope).max(0.0) } else { rise * best.0 };
    }
    *(value.of)(config) = Nanos::from_seconds(best.0);
    Ok(())
}

/// The profile's text with one value.
fn written(text: &str, vendor: &str, config: &mut SsdConfig, value: &Value) -> Result<String> {
    let wanted = (value.figure)(&durations(vendor, value.column)?);
    let microseconds = (value.of)(config).0 / 1_000;
    let mut reason = format!("[S0], buffered, {}: {wanted:.1} s", value.name);
    if microseconds == 0 {
        reason += "; even 0 gives more";
    }
    reason += "; by `cargo xtask calibrate`";
    let key = value.key;
    let line = format!("{key} = {{ value = \"{microseconds}us\", fitted = \"{reason}\" }}");
    let (mut table, mut found) = (String::new(), false);
    let mut lines = Vec::new();
    for old in text.lines() {
        if old.starts_with('[') {
            old.clone_into(&mut table);
        }
        let is_it = table == format!("[{}]", value.table)
            && old.split_once(" =").is_some_and(|(name, _)| name == key);
        lines.push(if is_it { line.as_str() } else { old });
        found |= is_it;
    }
    if !found {
        bail!("profiles/{vendor}.toml has no `{}.{key}`", value.table);
    }
    Ok(lines.join("\n") + "\n")
}
