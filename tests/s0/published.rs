//! The published tables: three durations a column, from which all 13 metrics are computed.

use anyhow::{Context as _, Result};

/// The published table: drive, buffering, metric, value without and with discard.
const PUBLISHED: &str = include_str!("../../crates/trimbench-methods/src/postmark/published.csv");
/// Files that were made before the transactions.
const FILES: f64 = 50_000.0;

/// The drives of \[S0\].
pub const VENDORS: [&str; 6] = ["vendor1", "vendor2", "vendor3", "vendor4", "vendor5", "vendor6"];

/// One column of a drive's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublishedColumn {
    /// Whether files are written through the C library's buffers.
    pub buffered: bool,
    /// Whether the filesystem is mounted with `discard`.
    pub discard: bool,
}

impl PublishedColumn {
    /// The four columns, in the order of the tables.
    pub const ALL: [Self; 4] = [
        Self { buffered: true, discard: false },
        Self { buffered: true, discard: true },
        Self { buffered: false, discard: false },
        Self { buffered: false, discard: true },
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match (self.buffered, self.discard) {
            (true, false) => "buffered, nodiscard",
            (true, true) => "buffered, discard",
            (false, false) => "unbuffered, nodiscard",
            (false, true) => "unbuffered, discard",
        }
    }
}

/// How long the phases took, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Durations {
    /// Creation of the files.
    pub creation: f64,
    /// All transactions.
    pub transactions: f64,
    /// Deletion of what was left.
    pub deletion: f64,
}

impl Durations {
    /// All three together.
    pub fn total(&self) -> f64 {
        self.creation + self.transactions + self.deletion
    }

    /// The mean of several.
    pub fn mean<'a>(several: impl IntoIterator<Item = &'a Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for each in several {
            sum.creation += each.creation;
            sum.transactions += each.transactions;
            sum.deletion += each.deletion;
            count += 1.0;
        }
        Self {
            creation: sum.creation / count,
            transactions: sum.transactions / count,
            deletion: sum.deletion / count,
        }
    }
}

/// The durations of a column. That of deletion is what the other two leave of the total: the
/// printed `Deletion_alone/s` was divided by the duration of creation.
pub fn durations(vendor: &str, column: PublishedColumn) -> Result<Durations> {
    let total = value(vendor, column, "Total_duration")?;
    let transactions = value(vendor, column, "Duration_of_transactions")?;
    let creation = FILES / value(vendor, column, "Creation_alone/s")?;
    Ok(Durations { creation, transactions, deletion: total - transactions - creation })
}

/// A published value.
pub fn value(vendor: &str, column: PublishedColumn, metric: &str) -> Result<f64> {
    let buffering = column.buffered.to_string();
    let rows = PUBLISHED.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let mut rows = rows.filter(|row| row[..3] == [vendor, &buffering, metric]);
    let row = rows.next().with_context(|| format!("{metric} of {vendor} is not published"))?;
    let field = if column.discard { row[4] } else { row[3] };
    field.parse().with_context(|| format!("{metric} of {vendor} is `{field}`"))
}
