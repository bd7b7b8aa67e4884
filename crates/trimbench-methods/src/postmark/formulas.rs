//! The 13 metrics of \[S0\], from counts and times; and the terse line of old `PostMark`.
//!
//! Up to 1.51, that line divides `Deletion_alone` by the time of *creation*, has clocks of 1 s, in
//! which a difference of 0 becomes 1, and sums bytes in single precision.

use trimbench_core::{Bytes, Nanos};

use super::generator::Counts;
use super::metrics::METRICS;
use super::steps::PostmarkPhasesStep;

/// How long each phase took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Creation of the files.
    pub creation: Nanos,
    /// All transactions.
    pub transactions: Nanos,
    /// Deletion of what was left.
    pub deletion: Nanos,
}

/// What was done, and the metrics by their true formulas.
pub fn phases(counts: &Counts, times: &Times) -> PostmarkPhasesStep {
    let total = (times.creation + times.transactions + times.deletion).seconds();
    let (creation, transactions) = (times.creation.seconds(), times.transactions.seconds());
    let deletion = times.deletion.seconds();
    let initially = counts.created - counts.created_in_transactions;
    let deleted = counts.deleted_in_transactions + counts.deleted_alone;
    let over = |amount: f64, of: f64| (of > 0.0).then(|| amount / of);
    let rate = |count: u32, seconds: f64| over(count.into(), seconds);
    PostmarkPhasesStep {
        created_count: counts.created.into(),
        created_in_transactions_count: counts.created_in_transactions.into(),
        read_count: counts.read.into(),
        appended_count: counts.appended.into(),
        append_skipped_count: counts.append_skipped.into(),
        deleted_in_transactions_count: counts.deleted_in_transactions.into(),
        deleted_alone_count: counts.deleted_alone.into(),
        transactions_count: counts.transactions.into(),
        read_bytes: Bytes(counts.bytes_read),
        written_bytes: Bytes(counts.bytes_written),
        deleted_alone_bytes: Bytes(counts.live_bytes_at_deletion),
        total_s: total,
        creation_s: creation,
        transactions_s: transactions,
        deletion_s: deletion,
        transactions_per_s: rate(counts.transactions, transactions),
        created_per_s: rate(counts.created, total),
        creation_alone_per_s: rate(initially, creation),
        creation_mixed_per_s: rate(counts.created_in_transactions, transactions),
        read_per_s: rate(counts.read, transactions),
        append_per_s: rate(counts.appended, transactions),
        deleted_per_s: rate(deleted, total),
        deletion_alone_per_s: rate(counts.deleted_alone, deletion),
        deletion_mixed_per_s: rate(counts.deleted_in_transactions, transactions),
        read_bytes_per_s: over(counts.bytes_read as f64, total),
        written_bytes_per_s: over(counts.bytes_written as f64, total),
        deletion_s_per_gb: over(deletion, counts.live_bytes_at_deletion as f64 / 1e9),
    }
}

/// The terse line that 1.51 would have printed, if the run had begun on a full second.
pub fn terse_1_51(counts: &Counts, asked: u32, times: &Times) -> String {
    let created_at = times.creation;
    let done_at = created_at.saturating_add(times.transactions);
    let ended_at = done_at.saturating_add(times.deletion);
    let full = |at: Nanos| at.0 / 1_000_000_000;
    let between = |from: Nanos, to: Nanos| u32::try_from(full(to) - full(from)).unwrap_or(u32::MAX);
    let total = between(Nanos::ZERO, ended_at).max(1);
    let transactions = between(created_at, done_at).max(1);
    let creation = between(Nanos::ZERO, created_at).max(1);
    let rate = |count: u32, span: u32| f64::from(count as f32 / span as f32);
    let initially = counts.created - counts.created_in_transactions;
    let fields = [
        rate(asked, transactions),
        rate(counts.created, total),
        rate(initially, creation),
        rate(counts.created_in_transactions, transactions),
        rate(counts.read, transactions),
        rate(counts.appended, transactions),
        // Both faults are the program's: files created, and the time of creation.
        rate(counts.created, total),
        rate(counts.deleted_alone, creation),
        rate(counts.deleted_in_transactions, transactions),
        f64::from(counts.single_read / total as f32),
        f64::from(counts.single_written / total as f32),
    ];
    let fields = fields.map(|field| format!("{field:.2}"));
    format!("{total} {transactions} {}", fields.join(" "))
}

/// A terse line as it was read, and what it says once its faults are undone.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// As printed, in the order of [`METRICS`].
    pub printed: [f64; 13],
    /// Whether its `Deletion_alone` was divided by the time of creation.
    pub old_formula: bool,
    /// Files made before the transactions: given, or worked out of the line.
    pub number: f64,
    /// How long the deletion took, in seconds; `None` if the clock did not see it.
    pub deletion: Option<f64>,
    /// Files deleted a second in it; `None` if the clock did not see it.
    pub deletion_alone: Option<f64>,
}

/// Why a line is none of `PostMark`'s.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// Another number of fields: give the line that `set report terse` prints, and it alone.
    #[error("it has {found} numbers; a terse line of PostMark has 13")]
    Fields {
        /// How many.
        found: usize,
    },
    /// A field is not a positive number.
    #[error("`{text}` is not a number of 0 or more")]
    Number {
        /// As it stands there.
        text: String,
    },
    /// What must be above zero is not: nothing can be worked out of the line.
    #[error("its {metric} is {value}: nothing can be derived from it")]
    Zero {
        /// Which.
        metric: &'static str,
        /// As it stands there.
        value: f64,
    },
    /// What comes of the line cannot be: its numbers are not of one run.
    #[error("its numbers contradict each other: {what} would be {value}")]
    Contradiction {
        /// What comes out of them.
        what: &'static str,
        /// As it comes out.
        value: f64,
    },
}

impl Imported {
    /// Reads a terse line. `number` is that of the run's `set number`; without it, it is worked out
    /// of the line, less exactly.
    pub fn read(line: &str, number: Option<u32>) -> Result<Self, ImportError> {
        let number_of = |text: &str| match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
            _ => Err(ImportError::Number { text: text.to_owned() }),
        };
        let values: Vec<f64> = line.split_whitespace().map(number_of).collect::<Result<_, _>>()?;
        let found = values.len();
        let printed = values.try_into().map_err(|_| ImportError::Fields { found })?;
        Self::of(printed, number)
    }

    /// The same of numbers, as means of several runs.
    pub fn of(printed: [f64; 13], number: Option<u32>) -> Result<Self, ImportError> {
        for index in [0, 1, 4] {
            if printed[index] <= 0.0 {
                let (metric, value) = (METRICS[index].name, printed[index]);
                return Err(ImportError::Zero { metric, value });
            }
        }
        let [total, transactions, _, created_rate, creation_alone, created_mixed, ..] = printed;
        let created = created_rate * total;
        let number = number.map_or(created - created_mixed * transactions, f64::from);
        let creation = number / creation_alone;
        let deleted_alone = created - printed[10] * transactions;
        let seen = total - transactions - creation;
        // The old formula gives the number of deleted files over `number`, times the rate of
        // creation; the true one differs unless both phases took the same time.
        let signature = printed[9] / creation_alone;
        let old_formula = (signature / (deleted_alone / number) - 1.0).abs() < SIGNATURE_TOLERANCE;
        let (deletion, deletion_alone) = if old_formula {
            let deleted = signature * number;
            let seen = (seen >= LEAST_SEEN).then_some(seen);
            (seen, seen.map(|seen| deleted / seen))
        } else {
            let rate = (printed[9] > 0.0).then_some(printed[9]);
            (rate.map(|rate| deleted_alone / rate), rate)
        };
        let possible = |what, value: Option<f64>, least: f64| match value {
            Some(value) if !value.is_finite() || value < least => {
                Err(ImportError::Contradiction { what, value })
            }
            _ => Ok(()),
        };
        possible("the files made before the transactions", Some(number), 0.0)?;
        // Numbers of two decimals may come out a little below nothing.
        possible("the time of the deletion", deletion, -LEAST_SEEN)?;
        possible("the rate of the deletion", deletion_alone, 0.0)?;
        Ok(Self { printed, old_formula, number, deletion, deletion_alone })
    }
}

/// How far the signature of the old formula may be from what the rest of the line says: rates have
/// two decimals, and means of several runs are not consistent to the last digit.
const SIGNATURE_TOLERANCE: f64 = 0.005;
/// A shorter deletion is within the clock's error, in seconds.
const LEAST_SEEN: f64 = 0.5;
