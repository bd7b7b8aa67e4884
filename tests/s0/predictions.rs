//! The 54 durations that are not fitted, each with what it must be.

use anyhow::Result;

use super::published::{PublishedColumn, VENDORS, durations};
use super::{ColumnRun, PHASES, means};
use crate::expectation::{Expectation, near};

/// How far off a duration may be, as a share.
pub const UNBUFFERED: f64 = 0.05;
const CREATION: f64 = 0.03;
/// And that of a deletion: the larger of these seconds and this share.
const DELETION_SECONDS: f64 = 2.0;
const DELETION_SHARE: f64 = 0.3;
/// The drive whose deletions have no bar: under discard they take a fifth of what is published.
const WITHOUT_BAR: &str = "vendor2";

/// A duration that the model predicts.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The drive.
    pub vendor: &'static str,
    /// `deletion, buffered, discard`.
    pub what: String,
    /// As modelled and as published, in seconds.
    pub model: f64,
    /// As published.
    pub published: f64,
    /// The same in the null model: unbuffered columns are as the buffered ones were published.
    pub null: Option<f64>,
    /// What the model's must be, in seconds.
    range: [f64; 2],
    /// Whether it is judged.
    pub has_bar: bool,
}

impl Prediction {
    /// Whether the model is as near as is asked for, or would be where nothing is asked for.
    pub fn is_near(&self) -> bool {
        self.expectation().is_met()
    }

    /// In words.
    pub fn told(&self) -> String {
        let Self { vendor, what, model, published, .. } = self;
        let off = 100.0 * (model / published - 1.0);
        format!("{vendor}: {what}: {model:.1} s, published {published:.1} s ({off:+.1} %)")
    }

    /// What is expected of it.
    pub fn expectation(&self) -> Expectation {
        let off = |value: f64| 100.0 * (value / self.published - 1.0);
        let null = self.null.map(|null| format!("; null model {:+.1} %", off(null)));
        let what = format!("{}: {}", self.vendor, self.what);
        Expectation::new(what, (self.model, "s"), self.range).with_note(format!(
            "published {:.1} s, off by {:+.1} %{}",
            self.published,
            off(self.model),
            null.unwrap_or_default()
        ))
    }
}

/// All 54, by drives, columns and phases.
pub fn predictions(runs: &[ColumnRun]) -> Result<Vec<Prediction>> {
    let mut all = Vec::new();
    for vendor in VENDORS {
        for (column, mean) in PublishedColumn::ALL.into_iter().zip(means(runs, vendor)?) {
            let published = durations(vendor, column)?;
            let buffered = durations(vendor, PublishedColumn { buffered: true, ..column })?;
            for (phase, of) in PHASES {
                let share = match (phase, column.buffered, column.discard) {
                    ("creation", _, true) => CREATION,
                    ("creation" | "transactions", false, _) => UNBUFFERED,
                    ("deletion", ..) => DELETION_SHARE.max(DELETION_SECONDS / of(&published)),
                    // Fitted.
                    _ => continue,
                };
                all.push(Prediction {
                    vendor,
                    what: format!("{phase}, {}", column.name()),
                    model: of(&mean.durations),
                    published: of(&published),
                    null: (!column.buffered).then_some(of(&buffered)),
                    // With the two digits of the published figures.
                    range: near(of(&published), share).map(|end| (end * 100.0).round() / 100.0),
                    has_bar: !(phase == "deletion" && vendor == WITHOUT_BAR),
                });
            }
        }
    }
    Ok(all)
}
