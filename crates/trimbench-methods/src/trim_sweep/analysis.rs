//! Computes figures from recorded steps. A pure function of the record.
//!
//! The line through the medians of one content at queue depth 1, `latency = command + size * rate`,
//! is that of Theil and Sen, with Sen's interval of the slope \[THEI50\] \[SEN68\].

use trimbench_core::{Bytes, Caveat};
use trimbench_results::number::quantity;
use trimbench_results::statistics::{sen_interval, theil_sen};
use trimbench_results::{Figure, Interval, Metric, Quantile, Step, Verdict};

use super::load_alone::LOAD_ALONE;
use super::metrics::{
    ALONE_MAX, ALONE_MOST, COMMAND_COST, COMMAND_RATE, CONTENTS, LOAD_RATE, LOADED_MAX,
    LOADED_MOST, THROUGHPUT, TRIM_MAX, cost_per_gb, one_trim,
};
use super::options::TrimSweep;
use super::plan::SweepKind;
use super::row::{key, median_level};
use trimbench_engine::Findings;

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// From so many discards on the 99th percentile stands for the latency that a size keeps, before
/// that the longest.
const ENOUGH_FOR_P99: f64 = 1_000.0;

/// Computes all figures.
pub fn analyse(method: &TrimSweep, steps: &[Step]) -> Findings {
    let mut figures = Vec::new();
    figures.extend(reference(method, steps));
    figures.extend(lines(steps));
    figures.extend(rates(steps));
    figures.extend(chunk(method, steps));
    figures.extend(load_alone(steps));
    figures.extend(limits(steps));
    let headline = figures.iter().any(|figure| figure.headline);
    let caveats = if headline { Vec::new() } else { vec![Caveat::TooFewPoints] };
    Findings::new(figures, caveats)
}

fn parameter(step: &Step, key: &str) -> f64 {
    step.parameter(key).unwrap_or(0.0)
}

fn size(step: &Step) -> f64 {
    parameter(step, "size_bytes")
}

fn label(step: &Step) -> Bytes {
    Bytes(trimbench_core::units::rounded(size(step)))
}

/// The rows of a kind at queue depth 1, by size.
fn singles(steps: &[Step], kind: SweepKind) -> Vec<&Step> {
    let one = |step: &&Step| parameter(step, "queue_depth") < 1.5;
    let mut rows: Vec<&Step> =
        steps.iter().filter(|step| step.kind == kind.id()).filter(one).collect();
    rows.sort_by(|a, b| size(a).total_cmp(&size(b)));
    rows
}

/// A figure that carries the caveats of the rows behind it.
fn figure(metric: &Metric, value: f64, rows: &[&Step]) -> Option<Figure> {
    let mut figure = metric.measured(value)?;
    figure.rests_on(rows.iter().copied());
    Some(figure)
}

/// The headline: the median of one TRIM of the reference size, or of the largest below it that has
/// a median; and the other percentiles of that row.
fn reference(method: &TrimSweep, steps: &[Step]) -> Vec<Figure> {
    let rows = singles(steps, SweepKind::Mapped);
    let fitting = |row: &&&Step| {
        size(row) <= method.reference.0 as f64 && row.metric("latency_s_p50").is_some()
    };
    let Some(row) = rows.iter().rev().find(fitting) else { return Vec::new() };
    let mut figures = Vec::new();
    for quantile in Quantile::STANDARD {
        let Some(value) = row.metric(&key("latency_s", quantile)) else { continue };
        let metric_of = one_trim(quantile, label(row));
        let Some(mut found) = figure(&metric_of, value * 1e3, &[row]) else { continue };
        found.n = commands(row);
        if metric_of.headline {
            let end = |key| row.metric(key).map(|seconds| seconds * 1e3);
            let ends = end("latency_s_p50_low").zip(end("latency_s_p50_high"));
            found.interval = ends.and_then(|(low, high)| Interval::new(low, high, median_level()));
        }
        figures.push(found);
    }
    figures
}

fn commands(row: &Step) -> u64 {
    trimbench_core::units::rounded(row.metric("commands_issued").unwrap_or(0.0))
}

/// What a GB costs, by content, and what a command of no size would.
fn lines(steps: &[Step]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for kind in CONTENTS {
        let mut rows = singles(steps, kind);
        rows.retain(|row| row.metric("latency_s_p50").is_some());
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| Some((size(row) / 1e9, row.metric("latency_s_p50")?)))
            .collect();
        let Some(line) = theil_sen(&points) else { continue };
        let slope = sen_interval(&points, LEVEL);
        let mut add = |metric: &Metric, value: f64, interval: Option<Interval>| {
            let found = figure(metric, value, &rows);
            let n = points.len() as u64;
            figures.extend(found.map(|found| found.with_interval(interval).with_n(n)));
        };
        add(&cost_per_gb(kind), line.slope, slope);
        if kind == SweepKind::Mapped {
            let interval = slope.and_then(|slope| intercepts(&points, slope));
            add(&COMMAND_COST, line.intercept * 1e3, interval);
        }
    }
    figures
}

/// The intercepts, in ms, of the lines with the slopes at the ends of the slope's interval.
fn intercepts(points: &[(f64, f64)], slope: Interval) -> Option<Interval> {
    let at = |slope: f64| {
        let offsets: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        trimbench_results::statistics::median(&offsets)
    };
    Interval::new(at(slope.high)? * 1e3, at(slope.low)? * 1e3, slope.level)
}

/// The best that the device did with what was mapped.
fn rates(steps: &[Step]) -> Vec<Figure> {
    let table = [(THROUGHPUT, "discarded_bytes_per_s", 1e9), (COMMAND_RATE, "commands_per_s", 1.0)];
    let rows = || steps.iter().filter(|step| step.kind == SweepKind::Mapped.id());
    let mut figures = Vec::new();
    for (best_of, key, scale) in table {
        let best = rows()
            .filter_map(|row| Some((row, row.metric(key)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((row, value)) = best else { continue };
        let queue_depth = parameter(row, "queue_depth");
        let verdict = Verdict::InDiscardsOf { size: label(row).to_string(), queue_depth };
        let found = figure(&best_of, value / scale, &[row]);
        figures.extend(found.map(|found| found.with_n(commands(row)).judged(verdict)));
    }
    figures
}

/// What a size keeps: the 99th percentile where there are discards enough, else the longest.
fn kept(row: &Step) -> Option<(f64, &'static str)> {
    let enough = row.metric("commands_issued").unwrap_or(0.0) >= ENOUGH_FOR_P99;
    let p99 = row.metric("latency_s_p99").filter(|_| enough).map(|value| (value, "p99"));
    p99.or_else(|| Some((row.metric("latency_s_max")?, "longest")))
}

/// The largest size such that it and all smaller ones keep the stated latency.
fn chunk(method: &TrimSweep, steps: &[Step]) -> Option<Figure> {
    let rows = singles(steps, SweepKind::Mapped);
    let keep = method.keep;
    let keeps = |row: &&&Step| kept(row).is_some_and(|(latency, _)| latency <= keep.seconds());
    let good = rows.iter().take_while(keeps).count();
    let metric = super::metrics::chunk(keep);
    let Some(row) = good.checked_sub(1).map(|last| rows[last]) else {
        let smallest = rows.first()?;
        let (latency, statistic) = kept(smallest)?;
        let verdict = Verdict::NoSizeKeeps {
            keep: keep.to_string(),
            smallest: label(smallest).to_string(),
            latency: readable(latency),
            statistic: statistic.to_owned(),
        };
        let found = figure(&metric, 0.0, &[smallest])?;
        return Some(found.with_n(commands(smallest)).judged(verdict));
    };
    let (latency, statistic) = kept(row)?;
    let (latency, statistic, discards) = (readable(latency), statistic.to_owned(), commands(row));
    let verdict = match rows.get(good) {
        Some(next) => Verdict::WriteDiscardMax {
            bytes: label(row).0,
            statistic,
            latency,
            discards,
            next: label(next).to_string(),
            next_latency: kept(next)
                .map_or_else(|| "longer".to_owned(), |(latency, _)| readable(latency)),
        },
        None => Verdict::EverySizeKeeps { statistic, latency, discards },
    };
    let found = figure(&metric, size(row), &rows[..good])?;
    Some(found.with_n(commands(row)).judged(verdict))
}

/// With the unit that suits it.
fn readable(seconds: f64) -> String {
    quantity(seconds, "s")
}

/// The load, and what its accesses wait without discards.
fn load_alone(steps: &[Step]) -> Vec<Figure> {
    let Some(alone) = steps.iter().find(|step| step.kind == LOAD_ALONE) else { return Vec::new() };
    let accesses = trimbench_core::units::rounded(alone.metric("accesses").unwrap_or(0.0));
    let (asked, rate) = (parameter(alone, "asked_per_s"), parameter(alone, "load_per_s"));
    let served = |key| trimbench_core::units::rounded(alone.metric(key).unwrap_or(0.0));
    let is_served = alone.metric("is_served").unwrap_or(0.0) > 0.5;
    let asked = trimbench_core::units::rounded(asked);
    let verdict = match is_served {
        false => Some(Verdict::LoadNotServed { served: served("served_per_s") }),
        true if rate + 0.5 < asked as f64 => {
            Some(Verdict::LoadLowered { asked, served: served("asked_served_per_s") })
        }
        true => None,
    };
    let table = [
        (LOAD_RATE, Some(rate), verdict),
        (ALONE_MAX, alone.metric("response_s_max"), None),
        (ALONE_MOST, alone.metric("response_s_p98_5"), None),
    ];
    let figures = table.into_iter().filter_map(|(metric, value, verdict)| {
        Some(figure(&metric, value?, &[alone])?.with_n(accesses).judged(verdict))
    });
    figures.collect()
}

/// What the published limits are about.
fn limits(steps: &[Step]) -> Vec<Figure> {
    let alone = |step: &&Step| parameter(step, "queue_depth") < 1.5;
    let is_row = |step: &&Step| step.id != "purge" && step.kind != LOAD_ALONE;
    let rows: Vec<&Step> = steps.iter().filter(is_row).collect();
    let single: Vec<&Step> = rows.iter().copied().filter(alone).collect();
    let loaded: Vec<&Step> =
        rows.iter().copied().filter(|step| step.kind == SweepKind::MappedLoaded.id()).collect();
    let worst = |worst_of: Metric, rows: &[&Step], key: &str, count: &str| {
        let values: Option<Vec<f64>> = rows.iter().map(|row| row.metric(key)).collect();
        let values = values?;
        let (place, value) =
            values.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let n = rows.iter().filter_map(|row| row.metric(count)).sum::<f64>();
        let verdict = Verdict::InRow { row: rows[place].id.clone() };
        let found = figure(&worst_of, value, rows)?;
        Some(found.with_n(trimbench_core::units::rounded(n)).judged(verdict))
    };
    let all = worst(TRIM_MAX, &single, "latency_s_max", "commands_issued");
    let longest = worst(LOADED_MAX, &loaded, "response_s_max", "accesses");
    let most = worst(LOADED_MOST, &loaded, "response_s_p98_5", "accesses");
    [all, longest, most].into_iter().flatten().collect()
}
