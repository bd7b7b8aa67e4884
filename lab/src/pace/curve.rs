//! The 99th percentile of reads against the time that a trim takes: each law with several settings,
//! on one drive. `docs/trimpace.md` shows it.

use anyhow::Result;
use trimbench_core::Nanos;

use super::full_filesystem::{FILESYSTEMS, FSTRIM, SOURCES, trial};
use super::slow_drives::TEN_MS;
use crate::entry::{Entry, FILESYSTEMS_ON_DRIVES, NotMeasured};
use crate::figure::{Bar, Figure, PacePoint};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "curve",
    title: "The 99th percentile of reads against the time that a trim takes, on a drive that takes \
            10 ms for a discard and answers nothing else meanwhile",
    needs: FILESYSTEMS_ON_DRIVES,
    sources: SOURCES,
    run,
};

/// What reads are late by.
const TARGET: Nanos = Nanos::from_millis(5);

/// A law, a setting of it in words, and the options of `trimpace once`.
type Point = (&'static str, &'static str, Option<&'static [&'static str]>);

/// The points; the short form takes some.
const POINTS: [Point; 12] = [
    ("fstrim", "", FSTRIM),
    ("pieces", "256KiB", Some(&["--law", "pieces", "--piece", "256KiB"])),
    ("talos", "64MiB, 50ms", Some(&["--law", "talos", "--chunk", "64MiB", "--delay", "50ms"])),
    ("talos", "64MiB, 250ms", Some(&["--law", "talos", "--chunk", "64MiB", "--delay", "250ms"])),
    ("talos", "64MiB, 1s", Some(&["--law", "talos", "--chunk", "64MiB", "--delay", "1s"])),
    ("talos", "64MiB, 4s", Some(&["--law", "talos", "--chunk", "64MiB", "--delay", "4s"])),
    ("mean", "64MiB", Some(&["--law", "mean", "--chunk", "64MiB"])),
    ("trimpace", "deadline 3s", Some(&["--p99", "5ms", "--deadline", "3s"])),
    ("trimpace", "deadline 12s", Some(&["--p99", "5ms", "--deadline", "12s"])),
    ("trimpace", "p99 8ms", Some(&["--p99", "8ms"])),
    ("trimpace", "p99 5ms", Some(&["--p99", "5ms"])),
    ("trimpace", "p99 2.5ms", Some(&["--p99", "2.5ms"])),
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for filesystem in &FILESYSTEMS[..lab.form(1, 2)] {
        for (law, setting, options) in &POINTS[..lab.form(3, POINTS.len())] {
            let what = format!("{}, {law} {setting}", filesystem.0);
            let what = format!("{}: p99 of reads", what.trim_end());
            let trimmed = match trial(lab, &TEN_MS, *filesystem, *options) {
                Ok(trimmed) => trimmed,
                // One setting that this machine cannot keep loses no other.
                Err(error) => {
                    missing.push(format!("{what}: {error:#}"));
                    continue;
                }
            };
            let point = PacePoint {
                filesystem: filesystem.0.to_owned(),
                law: (*law).to_owned(),
                setting: (*setting).to_owned(),
                time_s: trimmed.time.seconds(),
                p99_ms: trimmed.beside.quantile_ms(0.99),
                late_percent: 100.0 * trimmed.beside.share_later(TARGET),
            };
            let figure = Figure::new(what, (point.p99_ms, "ms"), Bar::AtLeast(0.0));
            figures.push(figure.with_note(trimmed.note(TARGET)).with_point(point));
        }
    }
    if figures.is_empty() {
        return Err(NotMeasured(missing.join("; ")).into());
    }
    let what = "settings that could not be measured";
    let missing_count = Figure::new(what, (missing.len() as f64, ""), Bar::AtMost(0.0));
    figures.push(missing_count.with_note(missing.join("; ")));
    Ok(figures)
}
