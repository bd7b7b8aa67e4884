//! Figures from a table, as CSV.

use std::collections::BTreeMap;

use serde::Deserialize;
use trimbench_core::nearest::{did_you_mean, nearest};
use trimbench_devices::TargetSpec;
use trimbench_methods::METHODS;
use trimbench_ssd::BUILT_IN;

use super::{FigureName, Observations, Observed, STEP, TwinSession};
use crate::error::{FitError, RowFlaw};

/// A row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    method: String,
    /// What lies over the drive, as `ext4,machine=s0`; nothing where the drive itself is meant.
    #[serde(default)]
    target: String,
    /// `KEY=VALUE`, separated by blanks.
    #[serde(default)]
    options: String,
    figure: String,
    value: f64,
    unit: String,
    /// What it may be off by, as one standard deviation.
    #[serde(default)]
    percent: Option<f64>,
}

impl Observations {
    /// Adds the figures of a table, whose columns are `method`, `figure`, `value`, `unit`, and may
    /// be `target`, `options` and `percent`. `name` is the drive's where no record names it.
    pub fn add_table(&mut self, name: &str, text: &str) -> Result<(), FitError> {
        if self.drive.is_empty() {
            name.clone_into(&mut self.drive);
        }
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut rows = reader.deserialize();
        while let Some(row) = rows.next() {
            let line = rows.reader().position().line().saturating_sub(1).max(1);
            let row: Row = row.map_err(|error| FitError::Table {
                line: error.position().map_or(line, csv::Position::line),
                problem: RowFlaw::Columns { problem: plainly(&error) },
            })?;
            self.row(row).map_err(|problem| FitError::Table { line, problem })?;
        }
        Ok(())
    }

    fn row(&mut self, row: Row) -> Result<(), RowFlaw> {
        let session = session(&row)?;
        if !(row.value > 0.0 && row.value.is_finite()) {
            return Err(RowFlaw::NotPositive { figure: row.figure, value: row.value });
        }
        if row.percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
            return Err(RowFlaw::Percent);
        }
        let name = FigureName { method: session.method.id, figure: row.figure };
        let same = |it: &TwinSession| it.is_same(&session);
        let number = if let Some(number) = self.sessions.iter().position(same) {
            self.sessions[number].has_steps |= session.has_steps;
            number
        } else {
            self.sessions.push(session);
            self.sessions.len() - 1
        };
        let before = self.figures.iter().find(|it| it.name == name && it.session == number);
        if let Some(before) = before {
            return Err(RowFlaw::GivenTwice {
                name: name.to_string(),
                before: before.value,
                after: row.value,
            });
        }
        self.figures.push(Observed {
            name,
            session: number,
            value: row.value,
            unit: row.unit,
            deviation: 0.0,
            doubt: row.percent.unwrap_or(0.0) / 100.0,
            set_aside: false,
        });
        Ok(())
    }
}

/// The session that a row's figure is of.
fn session(row: &Row) -> Result<TwinSession, RowFlaw> {
    let method = METHODS.iter().find(|method| method.id == row.method).ok_or_else(|| {
        let ids = METHODS.iter().map(|method| method.id);
        let meant = did_you_mean(nearest(&row.method, ids));
        RowFlaw::NoSuchMethod { name: row.method.clone(), meant }
    })?;
    let mut set = BTreeMap::new();
    for option in row.options.split_whitespace() {
        let no_value = || RowFlaw::NoValue { text: option.to_owned() };
        let (key, value) = option.split_once('=').ok_or_else(no_value)?;
        if !(method.options)().iter().any(|known| known.key == key) {
            return Err(RowFlaw::NoSuchOption { method: method.id, key: key.to_owned() });
        }
        set.insert(key.to_owned(), value.to_owned());
    }
    let mut session = TwinSession::preset(method, &set)?;
    check_over(&row.target)?;
    session.over.clone_from(&row.target);
    session.has_steps = row.figure.contains(STEP);
    if session.has_steps {
        if !row.unit.is_empty() {
            return Err(RowFlaw::UnitOfStep { figure: row.figure.clone() });
        }
        return Ok(session);
    }
    let (metrics, figure) = (session.metrics(), row.figure.clone());
    let Some(metric) = metrics.iter().find(|metric| metric.id == figure) else {
        let meant = did_you_mean(nearest(&figure, metrics.iter().map(|it| &*it.id)));
        return Err(RowFlaw::NoSuchFigure { method: method.id, figure, meant });
    };
    if metric.unit != row.unit {
        let (right, given) = (metric.unit, row.unit.clone());
        return Err(RowFlaw::OtherUnit { figure, right, given });
    }
    Ok(session)
}

/// That this can lie over an emulated drive.
fn check_over(over: &str) -> Result<(), RowFlaw> {
    if over.is_empty() {
        return Ok(());
    }
    let spec = TargetSpec::parse(&format!("{over}:sim:{}", BUILT_IN[0].name), None);
    let over = || over.to_owned();
    let spec = spec.map_err(|error| RowFlaw::Target { over: over(), error })?;
    let drive = spec.emulated_drive().map(|_| ());
    drive.ok_or_else(|| RowFlaw::NotOverDrive { over: over() })
}

/// What is wrong with a row that is none.
fn plainly(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, where the first line has {expected_len}")
        }
        _ => error.to_string(),
    }
}
