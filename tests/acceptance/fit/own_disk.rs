//! The twin of this machine's own disk, as a user would get it: measured in a directory, where
//! nothing is lost.
//!
//! Nobody knows the values of this disk. What can be judged is that the answer is honest: each
//! value is told or named as not determined, the exit code says whether the twin follows the
//! figures, and what one method measures directly, the time of a TRIM, is found again from all.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::acceptance::runs::UNLOOKED;
use crate::acceptance::{Bar, Context, Finding, Form, Raw};

/// The fit, and what it left in the directory.
const FIT: &str = "fit";
const LEFT: &str = "left";
/// What the short form looks for; the full one looks for all eight values.
const OF_SHORT: [&str; 2] = ["trim.command", "trim.per_gib_mapped"];
const VALUES: usize = 8;
/// What is said of a value.
const SAID: [&str; 4] = ["yes", "at-most", "at-least", "no"];
/// The exit code where no values give all figures, and when a figure is one of those: as
/// `docs/reference/fit.md` has it.
const CONTRADICTED: i32 = 4;
const SCATTERS: f64 = 4.0;
const NOTICED: f64 = 0.05;
/// What is said of a figure that no surface has.
const TOO_FAR: &str = "too-far-off";
/// The figure that is a value: the time of a TRIM of a GB that holds data.
const DIRECT: &str = "idle-trim.chunked";
const DIRECT_OFF: f64 = 0.25;
/// How far off half of the figures may be, as a share: a model of flash is told of a virtual disk.
const TYPICALLY_OFF: f64 = 0.5;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let folder = context.folder();
    let mut command = context.trimbench(&["fit"])?;
    command.arg(folder.join("run")).arg("--measure").arg(folder).args(UNLOOKED);
    command.arg("--output").arg(folder.join("disk.toml"));
    if context.form() != Form::Full {
        command.args(OF_SHORT.into_iter().flat_map(|key| ["--free", key]));
    }
    command.args(["--quiet", "--output-format", "json"]);
    // No values give all figures of a disk that is not what the model is of: the code says so.
    context.capture(FIT, &mut command)?;
    context.keep(LEFT, || {
        let mut left = Vec::new();
        for entry in fs::read_dir(folder).context("look at what is left")? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "img") {
                left.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        Ok(left)
    })
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let run = raw.capture(FIT)?;
    let found = raw.json(&run.output)?;
    let list = |key: &str| found[key].as_array().with_context(|| format!("a fit without {key}"));
    let (parameters, figures) = (list("parameters")?, list("figures")?);
    let expected = if raw.form() == Form::Full { VALUES } else { OF_SHORT.len() };
    let is_told = |it: &&Value| {
        let [best, low, high] = [0, 1, 2].map(|at| it["numbers"][at].as_f64().unwrap_or(f64::NAN));
        SAID.iter().any(|said| it["determined"] == *said) && low <= best && best <= high
    };
    let told = parameters.iter().filter(is_told).count();
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    let said = parameters.iter().map(|it| {
        let [key, best, low, high] = ["key", "value", "low", "high"].map(|key| text(it, key));
        match it["determined"].as_str() {
            Some("yes") => format!("{key} {best} ({low} to {high})"),
            Some("at-most") => format!("{key} at most {high}"),
            Some("at-least") => format!("{key} at least {low}"),
            _ => format!("{key} not determined"),
        }
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let errors: Vec<f64> = figures.iter().filter_map(error).map(f64::abs).collect();
    let off = figures.iter().filter(|it| is_off(it)).count();
    let says_so = (run.status == Some(CONTRADICTED)) == (off > 0);
    let typical = trimbench_results::statistics::median(&errors).context("no figure")?;
    let direct = figures.iter().find(|it| it["name"] == DIRECT);
    let direct = direct.and_then(error).with_context(|| format!("no figure `{DIRECT}`"))?;
    let left = raw.text(&raw.capture(LEFT)?.output)?.lines().count();
    let finding = |what: &str, figure: f64, bar: Bar| Finding::new(what, (figure, ""), bar, &run);
    let count = |count: usize| count as f64;
    Ok(vec![
        finding(
            "values that are told with an interval, or named as not determined",
            count(told),
            Bar::Equals(count(expected)),
        )
        .with_note(&said),
        finding(
            "the exit code says whether the twin follows all figures (1: yes)",
            f64::from(u8::from(says_so)),
            Bar::Equals(1.0),
        )
        .with_note(&format!(
            "{off} of {} figures are off, code {:?}",
            errors.len(),
            run.status
        )),
        finding(
            "half of the figures are off by a factor of 1 + this, or less",
            typical.exp() - 1.0,
            Bar::AtMost(TYPICALLY_OFF),
        ),
        finding(
            "time of a TRIM of a GB that holds data, the twin's over what was measured",
            direct.exp(),
            Bar::Near { value: 1.0, share: DIRECT_OFF },
        ),
        finding("images that are left", count(left), Bar::Equals(0.0)),
    ])
}

/// ln(twin / measured) of a figure that was fitted to, or was too far off for that.
fn error(figure: &Value) -> Option<f64> {
    let counts = figure["used"] == "fitted" || figure["used"] == TOO_FAR;
    let measured = figure["measured"].as_f64().filter(|_| counts)?;
    Some((figure["twin"].as_f64()? / measured).ln())
}

/// Whether no values give this figure.
fn is_off(figure: &Value) -> bool {
    if figure["used"] == TOO_FAR {
        return true;
    }
    let scatters = figure["off"].as_f64().unwrap_or_default().abs();
    scatters > SCATTERS && error(figure).is_some_and(|error| error.abs() > NOTICED)
}

#[cfg(test)]
mod tests;
