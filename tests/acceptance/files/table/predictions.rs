//! The 54 durations that are not fitted, each with its bar.

use anyhow::Result;

use super::{CREATION, DELETION_SECONDS, DELETION_SHARE, UNBUFFERED, percent};
use crate::s0::published::{PublishedColumn, VENDORS, durations};
use crate::s0::{ColumnRun, PHASES, means};

/// The drive whose deletions have no bar: under discard they take a fifth of what is published.
const WITHOUT_BAR: &str = "vendor2";

/// A duration that the model predicts.
pub(in crate::acceptance) struct Prediction {
    pub(in crate::acceptance) vendor: &'static str,
    /// `deletion, buffered, discard`.
    pub(in crate::acceptance) what: String,
    /// As modelled and as published, in seconds.
    pub(in crate::acceptance) model: f64,
    pub(in crate::acceptance) published: f64,
    /// How far apart they may be, in seconds.
    apart_most: f64,
    /// Whether it is judged.
    pub(in crate::acceptance) has_bar: bool,
}

impl Prediction {
    /// Whether the model is as near as is asked for, or would be where nothing is asked for.
    pub(in crate::acceptance) fn is_near(&self) -> bool {
        (self.model - self.published).abs() <= self.apart_most
    }

    /// In words.
    pub(in crate::acceptance) fn told(&self) -> String {
        let Self { vendor, what, model, published, .. } = self;
        let off = percent(*model, *published);
        format!("{vendor}: {what}: {model:.1} s, published {published:.1} s ({off:+.1} %)")
    }
}

/// All 54, by drives, columns and phases.
pub(in crate::acceptance) fn predictions(runs: &[ColumnRun]) -> Result<Vec<Prediction>> {
    let mut all = Vec::new();
    for vendor in VENDORS {
        for (column, mean) in PublishedColumn::ALL.into_iter().zip(means(runs, vendor)?) {
            let published = durations(vendor, column)?;
            for (phase, of) in PHASES {
                let share = match (phase, column.buffered, column.discard) {
                    ("creation", _, true) => CREATION,
                    ("creation" | "transactions", false, _) => UNBUFFERED,
                    ("deletion", ..) => 100.0 * DELETION_SHARE,
                    // Fitted, or the sum of the others.
                    _ => continue,
                };
                let is_deletion = phase == "deletion";
                let least = if is_deletion { DELETION_SECONDS } else { 0.0 };
                let published = of(&published);
                all.push(Prediction {
                    vendor,
                    what: format!("{phase}, {}", column.name()),
                    model: of(&mean.durations),
                    published,
                    apart_most: least.max(share / 100.0 * published),
                    has_bar: !(is_deletion && vendor == WITHOUT_BAR),
                });
            }
        }
    }
    Ok(all)
}
