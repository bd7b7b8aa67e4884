//! Job files: the plan of a run as TOML.
//!
//! A job has what decides the measurement: methods, targets, preset, settings, capacity, seed and
//! limits. It never has permission to destroy, which must be given for each run by someone who
//! looks at the machine, nor what no result depends on (`--jobs`, `--output`). Keys are those of
//! the command line; values with a unit are texts. Relative paths in it are relative to the working
//! directory, as on the command line.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use anyhow::anyhow;
use toml::de::{DeTable, DeValue};
use trimbench_core::Bytes;
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_core::reason;
use trimbench_core::text::{from_text, shell_word, to_text};

use crate::failure::Failure;
use crate::options::PlanOptions;
use crate::plan::Plan;

#[cfg(test)]
mod tests;

/// The format of job files.
const FORMAT: u64 = 1;
/// The keys of a job file.
const KEYS: [&str; 8] =
    ["format", "methods", "targets", "preset", "settings", "capacity", "seed", "limits"];
/// Options of the command line that permit something.
const CONSENT: [&str; 4] = ["destroy", "overwrite-signature", "sole-user", SWITCH_MOUNT];
/// The one that permits nothing to be lost.
const SWITCH_MOUNT: &str = "switch-mount";

/// Puts what a job file says into the options.
pub fn read_job(path: &Path, options: &mut PlanOptions) -> Result<(), Failure> {
    let name = to_text(path);
    let text = std::fs::read_to_string(path).map_err(|error| unread(&name, &error))?;
    Job { name: &name, text: &text }.read_into(options)
}

/// The job file that means what the options mean of which the plan was made, on whatever machine.
pub fn job_text(options: &PlanOptions, plan: &Plan) -> String {
    let mut text =
        "# A job of trimbench: `trimbench run --job FILE` runs it. Permission to destroy \
                    is never in it.\n"
            .to_owned();
    let _ = writeln!(text, "format = {FORMAT}");
    if !options.methods.is_empty() {
        let _ = writeln!(text, "methods = {}", list(&options.methods));
    }
    if !plan.targets.is_empty() {
        let _ = writeln!(text, "targets = {}", list(&plan.targets));
    } else if let Some(capacity) = options.capacity {
        // Targets that were named have it in their texts.
        let _ = writeln!(text, "capacity = {}", quoted(&capacity.to_string()));
    }
    let _ = writeln!(text, "preset = {}", quoted(&options.preset));
    let seed = i64::try_from(plan.seed)
        .map_or_else(|_| quoted(&plan.seed.to_string()), |seed| seed.to_string());
    let _ = writeln!(text, "seed = {seed}");
    if !options.limits.is_empty() {
        let _ = writeln!(text, "limits = {}", list(&options.limits));
    }
    let mut settings: Vec<String> = options.settings.iter().map(to_text).collect();
    if !settings.is_empty() {
        text.push_str("\n[settings]\n");
        settings.sort();
        for setting in &settings {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let _ = writeln!(text, "{key} = {}", quoted(value));
        }
    }
    text
}

/// A job file.
struct Job<'a> {
    name: &'a str,
    text: &'a str,
}

impl Job<'_> {
    fn read_into(&self, options: &mut PlanOptions) -> Result<(), Failure> {
        let tree = DeTable::parse(self.text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            self.wrong(place, error.message())
        })?;
        self.check_format(tree.get_ref())?;
        for (key, value) in tree.get_ref() {
            let place = value.span();
            match key.get_ref().as_ref() {
                "format" => {}
                "methods" => options.methods = self.texts("methods", (value.get_ref(), place))?,
                "targets" => {
                    let texts = self.texts("targets", (value.get_ref(), place))?;
                    options.targets = texts.iter().map(|text| from_text(text)).collect();
                }
                "limits" => options.limits = self.texts("limits", (value.get_ref(), place))?,
                "preset" => options.preset = self.one("preset", (value.get_ref(), place))?,
                "capacity" => {
                    let text = self.one("capacity", (value.get_ref(), place.clone()))?;
                    let capacity = text.parse::<Bytes>();
                    let wrong = |error| self.wrong(place, &format!("`capacity`: {error}"));
                    options.capacity = Some(capacity.map_err(wrong)?);
                }
                "seed" => {
                    let text = self.one("seed", (value.get_ref(), place.clone()))?;
                    options.seed = text.parse().map_err(|_| {
                        self.wrong(place, &format!("`seed = {text}` is not a whole number"))
                            .with_hint(format!("give 0 to {}", u64::MAX))
                    })?;
                }
                "settings" => options.settings = self.settings((value.get_ref(), place))?,
                other => return Err(self.unknown(key.span(), other, value.get_ref())),
            }
        }
        Ok(())
    }

    /// The format comes first: of a newer file nothing else can be said.
    fn check_format(&self, tree: &DeTable<'_>) -> Result<(), Failure> {
        let Some(format) = tree.get("format") else {
            let error = anyhow!("`{}` does not say its format", self.name);
            return Err(
                Failure::usage(error).with_hint(format!("its first line is `format = {FORMAT}`"))
            );
        };
        let found = plain(format.get_ref()).unwrap_or_else(|| "of another kind".to_owned());
        if found == FORMAT.to_string() {
            return Ok(());
        }
        let newer = found.parse::<u64>().is_ok_and(|found| found > FORMAT);
        let error =
            anyhow!("`{}` has format {found}, and this trimbench reads format {FORMAT}", self.name);
        Err(Failure::usage(error).with_hint(if newer {
            "use the release of trimbench that wrote it, or a later one".to_owned()
        } else {
            format!("write `format = {FORMAT}`")
        }))
    }

    /// `key=value` for each setting.
    fn settings(
        &self,
        (value, place): (&DeValue<'_>, Range<usize>),
    ) -> Result<Vec<OsString>, Failure> {
        let DeValue::Table(table) = value else {
            return Err(self.wrong(place, "`settings` must be a table: `[settings]`"));
        };
        let read = |(key, value): (&toml::Spanned<Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
            let key = key.get_ref();
            let text = match value.get_ref() {
                DeValue::Array(_) => self.texts(key, (value.get_ref(), value.span()))?.join(","),
                value_alone => self.one(key, (value_alone, value.span()))?,
            };
            Ok(from_text(&format!("{key}={text}")))
        };
        table.iter().map(read).collect()
    }

    fn texts(
        &self,
        key: &str,
        (value, place): (&DeValue<'_>, Range<usize>),
    ) -> Result<Vec<String>, Failure> {
        let DeValue::Array(items) = value else {
            return Err(
                self.wrong(place, &format!("`{key}` must be a list, as `{key} = [\"...\"]`"))
            );
        };
        items.iter().map(|item| self.one(key, (item.get_ref(), item.span()))).collect()
    }

    fn one(
        &self,
        key: &str,
        (value, place): (&DeValue<'_>, Range<usize>),
    ) -> Result<String, Failure> {
        plain(value)
            .ok_or_else(|| self.wrong(place, &format!("`{key}` must be a text or a number")))
    }

    fn unknown(&self, place: Range<usize>, key: &str, value: &DeValue<'_>) -> Failure {
        if CONSENT.contains(&key) {
            let given = match value {
                DeValue::Array(items) => items.first().and_then(|item| plain(item.get_ref())),
                value => plain(value),
            };
            let given = given
                .filter(|_| !["sole-user", SWITCH_MOUNT].contains(&key))
                .map_or_else(String::new, |given| format!(" {}", shell_word(from_text(&given))));
            let permits = if key == SWITCH_MOUNT { "remount" } else { "destroy" };
            let hint = format!(
                "permission to {permits} is given on the command line only: `--{key}{given}`"
            );
            return self
                .wrong(place, &format!("`{key}` cannot stand in a job file"))
                .with_hint(hint);
        }
        let meant = did_you_mean(nearest(key, KEYS));
        self.wrong(place, &format!("there is no key `{key}`{meant}"))
            .with_hint(format!("keys: {}", KEYS.join(", ")))
    }

    /// Says what is wrong, and in which line.
    fn wrong(&self, place: Range<usize>, problem: &str) -> Failure {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Failure::usage(anyhow!("`{}`, line {line}: {problem}", self.name))
    }
}

fn unread(name: &str, error: &std::io::Error) -> Failure {
    let hint = "`trimbench run --dry-run --output-format toml` prints a job file";
    let error = match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!("`{name}` does not exist"),
        _ => anyhow!("cannot read the job file `{name}`: {}", reason(error)),
    };
    Failure::usage(error).with_hint(hint)
}

/// A text or a number as it would be written on the command line.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}
