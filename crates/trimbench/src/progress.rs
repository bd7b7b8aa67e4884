//! Live progress on stderr: on a terminal a bar with the results of the last steps, elsewhere a
//! line for each session.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use trimbench_core::Clock;
use trimbench_engine::Stage;
use trimbench_report::{Style, sparkline};
use trimbench_results::Step;
use trimbench_results::number::quantity;

use crate::output::{note, progress_style, progress_terminal};

#[cfg(test)]
mod tests;

/// A metric of steps, and its unit.
type Metric = (&'static str, &'static str);

/// How much a step got done in a second: the first that it has.
const THROUGHPUT: [Metric; 5] = [
    ("throughput_mb_per_s", "MB/s"),
    ("iops", "IOPS"),
    ("discarded_bytes_per_s", "B/s"),
    ("written_bytes_per_s", "B/s"),
    ("transactions_per_s", "1/s"),
];
/// The longest that something took: the first that a step has.
const LATENCY: [Metric; 7] = [
    ("response_s_max", "s"),
    ("response_ms_max", "ms"),
    ("latency_s_max", "s"),
    ("latency_ns_max", "ns"),
    ("full_command_s_max", "s"),
    ("discard_s_max", "s"),
    ("trim_s", "s"),
];
/// What the headline will be made of, and how it is called: the first that a step has.
const FIGURES: [(&str, Metric); 8] = [
    ("stutter", ("stutter_s", "s")),
    ("median", ("latency_s_p50", "s")),
    ("whole TRIM", ("full_s", "s")),
    ("PostMark", ("total_s", "s")),
    ("write amplification", ("write_amplification", "")),
    ("write amplification", ("write_amplification_ratio", "")),
    ("writes", ("write_iops", "IOPS")),
    ("lost", ("neighbour_blocks_lost", "blocks")),
];
/// Columns of a curve over the last steps.
const CURVE: usize = 12;

/// The display of one session.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    clock: Clock,
    live: Live,
}

impl Progress {
    /// Begins the display of the session `title`, number `index` (from 1) of `count`.
    pub(crate) fn begin(title: &str, (index, count): (usize, usize), clock: Clock) -> Self {
        note(&format!("[{index}/{count}] {title}"));
        let bar = progress_terminal().then(bar);
        Self { bar, clock, live: Live::default() }
    }

    /// Shows where the method is.
    pub(crate) fn stage(&self, stage: &Stage<'_>) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(stage.total as u64);
        bar.set_position(stage.done as u64);
        // A virtual clock's rest says nothing about how long the user waits: there, what is left is
        // taken to be as slow as what was done.
        let left = match self.clock {
            Clock::Wall => Some(Duration::from_nanos(stage.left.0)),
            Clock::Virtual => (stage.done > 0).then(|| bar.eta()),
        };
        bar.set_message(match left {
            Some(left) => format!("{} left, {}", remaining(left), stage.text),
            None => stage.text.to_owned(),
        });
    }

    /// Shows what a step measured.
    pub(crate) fn step(&mut self, step: &Step) {
        let Some(bar) = &self.bar else { return };
        self.live.add(step);
        bar.set_prefix(self.live.line(progress_style()));
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What the last steps of a session measured.
#[derive(Debug, Default)]
struct Live {
    throughput: Vec<(f64, &'static str)>,
    latency: Vec<(f64, &'static str)>,
    figure: Option<String>,
}

impl Live {
    fn add(&mut self, step: &Step) {
        let first = |metrics: &[Metric]| {
            metrics.iter().find_map(|(key, unit)| Some((*step.metrics.get(*key)?, *unit)))
        };
        keep(&mut self.throughput, first(&THROUGHPUT));
        keep(&mut self.latency, first(&LATENCY));
        let figure = FIGURES.iter().find_map(|(name, metric)| Some((name, first(&[*metric])?)));
        if let Some((name, (value, unit))) = figure {
            self.figure = Some(format!("{name} {}", quantity(value, unit)));
        }
    }

    /// Curves over the last steps with the last value behind each, and the running figure.
    fn line(&self, style: Style) -> String {
        let mut parts = Vec::new();
        for values in [&self.throughput, &self.latency] {
            if let Some((last, unit)) = values.last() {
                let curve: Vec<Option<f64>> =
                    values.iter().map(|(value, _)| Some(*value)).collect();
                let curve = sparkline(&curve, CURVE, style.unicode);
                parts.push(format!("{curve} {}", quantity(*last, unit)));
            }
        }
        parts.extend(self.figure.clone());
        parts.join("  ").chars().take(style.width.saturating_sub(1)).collect()
    }
}

/// Keeps a value beside the last ones of the same unit.
fn keep(values: &mut Vec<(f64, &'static str)>, new: Option<(f64, &'static str)>) {
    let Some((value, unit)) = new else { return };
    values.retain(|(_, other)| *other == unit);
    if values.len() == CURVE {
        values.remove(0);
    }
    values.push((value, unit));
}

/// A time that is left, in the unit that suits it.
fn remaining(left: Duration) -> String {
    let seconds = left.as_nanos().div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A bar, and a line for what was measured.
fn bar() -> ProgressBar {
    let template = "{bar:24} {pos}/{len}, {wide_msg}\n{prefix}";
    let style = ProgressStyle::with_template(template).expect("a constant template: it is valid");
    ProgressBar::new(1).with_style(style.progress_chars("=> "))
}
