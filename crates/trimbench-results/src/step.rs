//! What a step holds, declared once.
//!
//! In the record a [`Step`] is maps of keys, so that a program can read the steps of methods that
//! it does not know. In the program it is a struct: [`steps!`](crate::steps!) makes one of a table,
//! with its [`StepTable`], which stores it and reads it back, and the rows from which documents are
//! made. A key that is misspelled is a field that does not exist, and a value that was not measured
//! is `None`, never zero:
//!
//! ```
//! use trimbench_results::{Step, StepLacks, steps};
//!
//! steps! {
//!     /// One deletion.
//!     #[derive(Clone, Debug, Default, PartialEq)]
//!     pub struct Deletion {
//!         /// what was deleted
//!         set size_bytes: u64;
//!         /// the longest wait of a read
//!         measured read_gap_s: Option<f64>;
//!     }
//! }
//!
//! let deletion = Deletion { size_bytes: 4_096, read_gap_s: None };
//! let step = Step::of("delete-0", "delete", &deletion);
//! assert_eq!(step.parameters["size_bytes"], 4_096.0);
//! assert_eq!(step.read::<Deletion>().unwrap(), deletion);
//! assert_eq!(
//!     Step::new("delete-1", "delete").read::<Deletion>().unwrap_err().to_string(),
//!     "step `delete-1` lacks `size_bytes`",
//! );
//! ```
//!
//! ```compile_fail,E0609
//! # trimbench_results::steps! {
//! #     /// One deletion.
//! #     pub struct Deletion {
//! #         /// what was deleted
//! #         set size_bytes: u64;
//! #     }
//! # }
//! # let deletion = Deletion { size_bytes: 4_096 };
//! let size = deletion.size_bites;
//! ```

use std::ops::Deref;

use trimbench_core::Bytes;
use trimbench_core::units::{narrow, rounded};

use crate::histogram::LatencyHistogram;
use crate::record::{Series, Step};

mod deletion;
mod percentiles;
mod table;
#[cfg(test)]
mod tests;

pub use deletion::{DeletionDiscardsStep, DeletionStep, DeviceDiscardsStep};
pub use percentiles::PercentilesStep;

/// Where a value of a step stands in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepPlace {
    /// Among what was set.
    Set,
    /// Among what was measured.
    Measured,
    /// Among the histograms.
    Histogram,
    /// Among the curves.
    Series,
}

/// A row of a table of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// The key in the record; never changes.
    pub key: String,
    /// Where it stands.
    pub place: StepPlace,
    /// Whether every step of the table has it.
    pub always: bool,
    /// What it is.
    pub help: String,
}

/// A step lacks a value that every step of its table has: it is of an older program, or damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step `{step}` lacks `{key}`")]
pub struct StepLacks {
    /// The step's id.
    pub step: String,
    /// The key in the record.
    pub key: String,
}

/// A struct that a step is made of; see [`steps!`](crate::steps!).
///
/// A prefix stands before each of its keys: a table may be part of another one.
pub trait StepTable: Sized {
    /// Its rows.
    fn rows(prefix: &str) -> Vec<StepRow>;

    /// Adds it to a step; what is `None` changes nothing.
    fn store(&self, prefix: &str, step: &mut Step);

    /// Reads it from a step.
    fn read(prefix: &str, step: &Step) -> Result<Self, StepLacks>;
}

/// A type of the fields of a table.
pub trait StepField: Sized {
    /// Whether a step must have it.
    const ALWAYS: bool;

    /// Adds it to a step. A number that is not finite is left out.
    fn store(&self, place: StepPlace, key: &str, step: &mut Step);

    /// Reads it; `None` where the step must have it and has not.
    fn read(place: StepPlace, key: &str, step: &Step) -> Option<Self>;
}

/// A step, read as a table.
#[derive(Clone, Copy, Debug)]
pub struct StepOf<'a, T> {
    /// The step.
    pub step: &'a Step,
    /// What it holds.
    pub values: T,
}

impl<T> Deref for StepOf<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.values
    }
}

impl<'a, T: StepTable> StepOf<'a, T> {
    /// The step as a table; `None` if it lacks what the table must have.
    pub fn read(step: &'a Step) -> Option<Self> {
        Some(Self { step, values: step.read().ok()? })
    }
}

impl Step {
    /// A step that holds these values.
    pub fn of<T: StepTable>(id: impl Into<String>, kind: impl Into<String>, values: &T) -> Self {
        let mut step = Self::new(id, kind);
        step.store(values);
        step
    }

    /// Adds values to the step.
    pub fn store<T: StepTable>(&mut self, values: &T) {
        values.store("", self);
    }

    /// What the step holds, as a table.
    pub fn read<T: StepTable>(&self) -> Result<T, StepLacks> {
        T::read("", self)
    }
}

/// A table that a step may lack: it is there if all is there that it must have.
impl<T: StepTable> StepTable for Option<T> {
    fn rows(prefix: &str) -> Vec<StepRow> {
        let mut rows = T::rows(prefix);
        for row in &mut rows {
            row.always = false;
        }
        rows
    }

    fn store(&self, prefix: &str, step: &mut Step) {
        if let Some(values) = self {
            values.store(prefix, step);
        }
    }

    fn read(prefix: &str, step: &Step) -> Result<Self, StepLacks> {
        Ok(T::read(prefix, step).ok())
    }
}

impl StepField for f64 {
    const ALWAYS: bool = true;

    fn store(&self, place: StepPlace, key: &str, step: &mut Step) {
        let numbers = match place {
            StepPlace::Set => &mut step.parameters,
            _ => &mut step.metrics,
        };
        numbers.extend(self.is_finite().then(|| (key.to_owned(), *self)));
    }

    fn read(place: StepPlace, key: &str, step: &Step) -> Option<Self> {
        let numbers = match place {
            StepPlace::Set => &step.parameters,
            _ => &step.metrics,
        };
        numbers.get(key).copied()
    }
}

impl<T: StepField> StepField for Option<T> {
    const ALWAYS: bool = false;

    fn store(&self, place: StepPlace, key: &str, step: &mut Step) {
        if let Some(value) = self {
            value.store(place, key, step);
        }
    }

    fn read(place: StepPlace, key: &str, step: &Step) -> Option<Self> {
        Some(T::read(place, key, step))
    }
}

impl StepField for LatencyHistogram {
    const ALWAYS: bool = true;

    fn store(&self, _: StepPlace, key: &str, step: &mut Step) {
        step.histograms.insert(key.to_owned(), self.to_text());
    }

    fn read(_: StepPlace, key: &str, step: &Step) -> Option<Self> {
        Self::from_text(step.histograms.get(key)?).ok()
    }
}

impl StepField for Series {
    const ALWAYS: bool = true;

    fn store(&self, _: StepPlace, key: &str, step: &mut Step) {
        step.series.insert(key.to_owned(), self.clone());
    }

    fn read(_: StepPlace, key: &str, step: &Step) -> Option<Self> {
        step.series.get(key).cloned()
    }
}

/// The whole numbers that a double holds exactly, from 0 on.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Counts. What a damaged record has instead of one is not read.
macro_rules! number_field {
    ($($type:ty, $max:expr, $to:expr, $from:expr;)+) => { $(
        impl StepField for $type {
            const ALWAYS: bool = true;

            fn store(&self, place: StepPlace, key: &str, step: &mut Step) {
                let to: fn($type) -> f64 = $to;
                to(*self).store(place, key, step);
            }

            fn read(place: StepPlace, key: &str, step: &Step) -> Option<Self> {
                let from: fn(u64) -> $type = $from;
                let count = f64::read(place, key, step)?;
                (0.0..=$max).contains(&count).then(|| from(rounded(count)))
            }
        }
    )+ };
}

number_field! {
    u64, EXACT_MAX, |count| count as f64, |count| count;
    u32, f64::from(u32::MAX), f64::from, narrow;
    Bytes, EXACT_MAX, |bytes| bytes.0 as f64, Bytes;
    bool, 1.0, |is| f64::from(u8::from(is)), |is| is == 1;
}

/// The unit in a key, `what_unit_qualifier`; empty for a plain number.
pub fn unit_of(key: &str) -> &'static str {
    let is_in = |unit: &str| {
        key.strip_suffix(unit).is_some_and(|before| before.ends_with('_'))
            || key.contains(&format!("_{unit}_"))
    };
    let units = [
        ("mb_per_s", "MB/s"),
        ("bytes_per_s", "B/s"),
        ("s_per_gb", "s/GB"),
        ("per_s", "1/s"),
        ("bytes", "B"),
        ("gb", "GB"),
        ("percent", "%"),
        ("ms", "ms"),
        ("ns", "ns"),
        ("s", "s"),
    ];
    units.into_iter().find(|(unit, _)| is_in(unit)).map_or("", |(_, shown)| shown)
}
