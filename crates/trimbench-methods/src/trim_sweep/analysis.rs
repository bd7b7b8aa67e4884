//! Computes figures from recorded steps. A pure function of the record.
//!
//! The line through the medians of one content at queue depth 1, `latency = command + size * rate`,
//! is that of Theil and Sen, with Sen's interval of the slope \[THEI50\] \[SEN68\].

use trimbench_core::{Bytes, Caveat};
use trimbench_results::statistics::{sen_interval, theil_sen};
use trimbench_results::{Figure, Interval, Quantile, Step};

use super::options::TrimSweep;
use super::plan::SweepKind;
use super::row::{key, median_level};
use trimbench_engine::method::Findings;

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
    figures.extend(limits(steps));
    let headline = figures.iter().any(|figure| figure.headline);
    let caveats = if headline { Vec::new() } else { vec![Caveat::TooFewPoints] };
    Findings { figures, caveats }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures() -> Vec<(String, &'static str)> {
    let fixed = [
        ("cost-per-gb-mapped", "s/GB"),
        ("cost-per-gb-trimmed", "s/GB"),
        ("cost-per-gb-never-written", "s/GB"),
        ("command-cost", "ms"),
        ("throughput", "GB/s"),
        ("command-rate", "commands/s"),
        ("chunk", "B"),
        ("trim-max", "s"),
        ("loaded-max", "s"),
        ("loaded-p98.5", "s"),
    ];
    let trims = Quantile::STANDARD.map(|quantile| (format!("trim-{quantile}"), "ms"));
    trims.into_iter().chain(fixed.map(|(id, unit)| (id.to_owned(), unit))).collect()
}

fn metric(step: &Step, key: &str) -> Option<f64> {
    step.metrics.get(key).copied()
}

fn parameter(step: &Step, key: &str) -> f64 {
    step.parameters.get(key).copied().unwrap_or(0.0)
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
fn figure(id: &str, title: &str, value: f64, unit: &str, rows: &[&Step]) -> Option<Figure> {
    let mut figure = Figure::new(id, title, value, unit)?;
    for id in rows.iter().flat_map(|row| &row.caveats) {
        if let Some(caveat) = Caveat::from_id(id) {
            figure.caveat(caveat);
        }
    }
    Some(figure)
}

/// The headline: the median of one TRIM of the reference size, or of the largest below it that has
/// a median; and the other percentiles of that row.
fn reference(method: &TrimSweep, steps: &[Step]) -> Vec<Figure> {
    let rows = singles(steps, SweepKind::Mapped);
    let fitting = |row: &&&Step| {
        size(row) <= method.reference.0 as f64 && metric(row, "latency_s_p50").is_some()
    };
    let Some(row) = rows.iter().rev().find(fitting) else { return Vec::new() };
    let mut figures = Vec::new();
    for quantile in Quantile::STANDARD {
        let Some(value) = metric(row, &key("latency_s", quantile)) else { continue };
        let is_median = quantile == Quantile::P50;
        let what = if is_median { "median".to_owned() } else { quantile.to_string() };
        let title = format!("one TRIM of {}, mapped, alone: {what}", label(row));
        let id = format!("trim-{quantile}");
        let Some(mut found) = figure(&id, &title, value * 1e3, "ms", &[row]) else { continue };
        found.n = commands(row);
        found.headline = is_median;
        if is_median {
            let end = |key| metric(row, key).map(|seconds| seconds * 1e3);
            let ends = end("latency_s_p50_low").zip(end("latency_s_p50_high"));
            found.interval = ends.and_then(|(low, high)| Interval::new(low, high, median_level()));
        }
        figures.push(found);
    }
    figures
}

fn commands(row: &Step) -> u64 {
    trimbench_core::units::rounded(metric(row, "commands_issued").unwrap_or(0.0))
}

/// What a GB costs, by content, and what a command of no size would.
fn lines(steps: &[Step]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for kind in [SweepKind::Mapped, SweepKind::Trimmed, SweepKind::NeverWritten] {
        let mut rows = singles(steps, kind);
        rows.retain(|row| metric(row, "latency_s_p50").is_some());
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| Some((size(row) / 1e9, metric(row, "latency_s_p50")?)))
            .collect();
        let Some(line) = theil_sen(&points) else { continue };
        let slope = sen_interval(&points, LEVEL);
        let id = format!("cost-per-gb-{}", kind.id());
        let title = format!("cost of a GB, {}", kind.id().replace('-', " "));
        let n = points.len() as u64;
        let found = figure(&id, &title, line.slope, "s/GB", &rows);
        figures.extend(found.map(|found| Figure { interval: slope, n, ..found }));
        if kind == SweepKind::Mapped {
            let found = figure(
                "command-cost",
                "cost of a TRIM of no size",
                line.intercept * 1e3,
                "ms",
                &rows,
            );
            let interval = slope.and_then(|slope| intercepts(&points, slope));
            figures.extend(found.map(|found| Figure { interval, n, ..found }));
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
    let table = [
        (
            "throughput",
            "most bytes discarded a second, mapped",
            "discarded_bytes_per_s",
            1e9,
            "GB/s",
        ),
        ("command-rate", "most discards a second, mapped", "commands_per_s", 1.0, "commands/s"),
    ];
    let rows = || steps.iter().filter(|step| step.kind == SweepKind::Mapped.id());
    let mut figures = Vec::new();
    for (id, title, key, scale, unit) in table {
        let best = rows()
            .filter_map(|row| Some((row, metric(row, key)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((row, value)) = best else { continue };
        let depth = parameter(row, "queue_depth");
        let verdict = Some(format!("in discards of {}, queue depth {depth}", label(row)));
        let found = figure(id, title, value / scale, unit, &[row]);
        figures.extend(found.map(|found| Figure { verdict, n: commands(row), ..found }));
    }
    figures
}

/// What a size keeps: the 99th percentile where there are discards enough, else the longest.
fn kept(row: &Step) -> Option<(f64, &'static str)> {
    let enough = metric(row, "commands_issued").unwrap_or(0.0) >= ENOUGH_FOR_P99;
    let p99 = metric(row, "latency_s_p99").filter(|_| enough).map(|value| (value, "p99"));
    p99.or_else(|| Some((metric(row, "latency_s_max")?, "longest")))
}

/// The largest size such that it and all smaller ones keep the stated latency.
fn chunk(method: &TrimSweep, steps: &[Step]) -> Option<Figure> {
    let rows = singles(steps, SweepKind::Mapped);
    let keep = method.keep;
    let keeps = |row: &&&Step| kept(row).is_some_and(|(latency, _)| latency <= keep.seconds());
    let good = rows.iter().take_while(keeps).count();
    let title = format!("largest TRIM that keeps {keep}");
    let Some(row) = good.checked_sub(1).map(|last| rows[last]) else {
        let smallest = rows.first()?;
        let (latency, how) = kept(smallest)?;
        let verdict = format!(
            "no size keeps {keep}: already one of {} takes {} ({how}); `discard_max_bytes` cannot \
             help",
            label(smallest),
            readable(latency)
        );
        let found = figure("chunk", &title, 0.0, "B", &[smallest])?;
        return Some(Figure { verdict: Some(verdict), n: commands(smallest), ..found });
    };
    let (latency, how) = kept(row)?;
    let took = format!("{how} {} of {} discards", readable(latency), commands(row));
    let verdict = match rows.get(good) {
        Some(next) => format!(
            "write {} into `queue/discard_max_bytes` ({took}; {} takes {})",
            label(row).0,
            label(next),
            kept(next).map_or_else(|| "longer".to_owned(), |(latency, _)| readable(latency)),
        ),
        None => format!("the largest size that was measured keeps it ({took}): nothing to write"),
    };
    let found = figure("chunk", &title, size(row), "B", &rows[..good])?;
    Some(Figure { verdict: Some(verdict), n: commands(row), ..found })
}

/// With a unit that suits it, to three digits.
fn readable(seconds: f64) -> String {
    let (value, unit) = match seconds {
        small if small < 1e-3 => (seconds * 1e6, "us"),
        middle if middle < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let decimals = match value {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// What the published limits are about.
fn limits(steps: &[Step]) -> Vec<Figure> {
    let alone = |step: &&Step| parameter(step, "queue_depth") < 1.5;
    let rows: Vec<&Step> = steps.iter().filter(|step| step.id != "purge").collect();
    let single: Vec<&Step> = rows.iter().copied().filter(alone).collect();
    let loaded: Vec<&Step> =
        rows.iter().copied().filter(|step| step.kind == SweepKind::MappedLoaded.id()).collect();
    let worst = |id: &str, title: &str, rows: &[&Step], key: &str, count: &str| {
        let values: Option<Vec<f64>> = rows.iter().map(|row| metric(row, key)).collect();
        let values = values?;
        let (place, value) =
            values.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let n = rows.iter().filter_map(|row| metric(row, count)).sum::<f64>();
        let verdict = Some(format!("in the row {}", rows[place].id));
        let found = figure(id, title, value, "s", rows)?;
        Some(Figure { verdict, n: trimbench_core::units::rounded(n), ..found })
    };
    let title = "longest TRIM, one outstanding, every size and content";
    let all = worst("trim-max", title, &single, "latency_s_max", "commands_issued");
    let title = "longest read or write beside TRIMs";
    let longest = worst("loaded-max", title, &loaded, "response_s_max", "accesses");
    let title = "98.5 % of reads and writes beside TRIMs, worst row";
    let most = worst("loaded-p98.5", title, &loaded, "response_s_p98_5", "accesses");
    [all, longest, most].into_iter().flatten().collect()
}
