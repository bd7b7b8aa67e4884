//! What `trimbench fit` and `what-if` find, on drives whose truth is known or published.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use trimbench_core::exit;

use crate::entry::Subject;
use crate::lab::Lab;

mod client_drives;
mod free_space;
mod hidden_values;
mod own_disk;
mod published_drives;

/// The measurements of this subject.
pub(crate) const SUBJECT: Subject = Subject {
    name: "fit",
    title: "Drives by their numbers: values that are found again, and what they predict",
    entries: &[
        hidden_values::ENTRY,
        published_drives::ENTRY,
        client_drives::ENTRY,
        free_space::ENTRY,
        own_disk::ENTRY,
    ],
};

/// What searches, what it says of what it found, and the drive with what measures it.
const SOURCES: &[&str] = &[
    "crates/trimbench-core",
    "crates/trimbench-ssd",
    "crates/trimbench-block",
    "crates/trimbench-fs",
    "crates/trimbench-engine",
    "crates/trimbench-methods",
    "crates/trimbench-fit",
    "lab/src/fit.rs",
    "profiles",
];

/// What `trimbench fit` prints as JSON.
#[derive(Debug, Deserialize)]
struct FoundTwin {
    parameters: Vec<FoundValue>,
    figures: Vec<FoundFigure>,
    /// Its exit code says that no values give all figures.
    #[serde(skip)]
    is_contradicted: bool,
}

/// A value that it looked for.
#[derive(Debug, Deserialize)]
struct FoundValue {
    key: String,
    value: String,
    low: String,
    high: String,
    determined: String,
    /// Best value and ends of its interval in ns, bytes or millionths.
    numbers: [f64; 3],
}

/// A figure, and the twin's.
#[derive(Debug, Deserialize)]
struct FoundFigure {
    name: String,
    measured: Option<f64>,
    twin: f64,
    used: String,
    off: f64,
}

impl FoundTwin {
    /// What a fit finds.
    fn by(lab: &Lab<'_>, fit: &mut Command) -> Result<Self> {
        let output = lab.call(fit.args(["--quiet", "--output-format", "json"]))?;
        let is_contradicted = output.status == Some(exit::INVALID.into());
        ensure!(is_contradicted || output.status == Some(exit::DONE.into()), output.stderr);
        let found: Self = serde_json::from_str(&output.stdout).context("read what a fit found")?;
        Ok(Self { is_contradicted, ..found })
    }
}

impl FoundValue {
    /// In words.
    fn told(&self) -> String {
        let Self { key, value, low, high, .. } = self;
        match self.determined.as_str() {
            "yes" => format!("{key} {value} ({low} to {high})"),
            "at-most" => format!("{key} at most {high}"),
            "at-least" => format!("{key} at least {low}"),
            _ => format!("{key} not determined"),
        }
    }
}
