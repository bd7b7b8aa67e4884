//! Computes figures from recorded steps. A pure function of the record.
//!
//! The line through the medians of one content at queue depth 1, `latency = command + size * rate`,
//! is that of Theil and Sen, with Sen's interval of the slope \[THEI50\] \[SEN68\].

use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Caveat};
use trimbench_results::number::quantity;
use trimbench_results::statistics::{sen_interval, theil_sen};
use trimbench_results::{Figure, Interval, Metric, Step, StepOf, Verdict};

use super::load_alone::LOAD_ALONE;
use super::metrics::{
    COMMAND_COST, CONTENTS, LOAD_RATE, TRIM_MAX, alone_max, alone_most, command_rate, cost_per_gb,
    loaded_max, loaded_most, one_trim, throughput,
};
use super::options::TrimSweep;
use super::plan::SweepKind;
use super::row::median_level;
use super::steps::{LoadAloneStep, SweepLoadStep, TrimRowStep};
use trimbench_engine::Findings;

type TrimRow<'a> = StepOf<'a, TrimRowStep>;

/// Level of all intervals.
const LEVEL: f64 = 0.95;
/// From so many discards on the 99th percentile stands for the latency that a size keeps, before
/// that the longest.
const ENOUGH_FOR_P99: u64 = 1_000;

/// Computes all figures.
pub fn analyse(method: &TrimSweep, steps: &[Step]) -> Findings {
    let rows: Vec<TrimRow<'_>> = steps.iter().filter_map(StepOf::read).collect();
    let mut figures = Vec::new();
    figures.extend(reference(method, &rows));
    figures.extend(lines(&rows));
    figures.extend(rates(&rows));
    figures.extend(chunk(method, &rows));
    figures.extend(load_alone(steps));
    figures.extend(limits(&rows));
    let headline = figures.iter().any(|figure| figure.headline);
    let caveats = if headline { Vec::new() } else { vec![Caveat::TooFewPoints] };
    Findings::new(figures, caveats)
}

/// The rows of a kind at queue depth 1, by size.
fn singles<'a, 's>(rows: &'a [TrimRow<'s>], kind: SweepKind) -> Vec<&'a TrimRow<'s>> {
    let of_kind = |row: &&TrimRow<'_>| row.step.kind == kind.id() && row.queue_depth == 1;
    let mut rows: Vec<&TrimRow<'_>> = rows.iter().filter(of_kind).collect();
    rows.sort_by_key(|row| row.size_bytes);
    rows
}

/// A figure that carries the caveats of the rows behind it.
fn figure(metric: &Metric, value: f64, rows: &[&TrimRow<'_>]) -> Option<Figure> {
    let mut figure = metric.measured(value)?;
    figure.rests_on(rows.iter().map(|row| row.step));
    Some(figure)
}

/// The headline: the median of one TRIM of the reference size, or of the largest below it that has
/// a median; and the other percentiles of that row.
fn reference(method: &TrimSweep, rows: &[TrimRow<'_>]) -> Vec<Figure> {
    let rows = singles(rows, SweepKind::Mapped);
    let fitting = |row: &&&TrimRow<'_>| {
        row.size_bytes <= method.reference && row.latency_s.percentiles.p50.is_some()
    };
    let Some(row) = rows.iter().rev().find(fitting) else { return Vec::new() };
    let mut figures = Vec::new();
    for (quantile, value) in row.latency_s.percentiles.present() {
        let metric_of = one_trim(quantile, row.size_bytes);
        let Some(mut found) = figure(&metric_of, value * 1e3, &[row]) else { continue };
        found.n = row.commands_issued;
        if metric_of.headline {
            let ends = row.latency_s.p50_low.zip(row.latency_s.p50_high);
            found.interval =
                ends.and_then(|(low, high)| Interval::new(low * 1e3, high * 1e3, median_level()));
        }
        figures.push(found);
    }
    figures
}

/// What a GB costs, by content, and what a command of no size would.
fn lines(rows: &[TrimRow<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for kind in CONTENTS {
        let mut rows = singles(rows, kind);
        rows.retain(|row| row.latency_s.percentiles.p50.is_some());
        let points: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| Some((gigabytes(row.size_bytes), row.latency_s.percentiles.p50?)))
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

fn gigabytes(size: Bytes) -> f64 {
    size.0 as f64 / 1e9
}

/// The intercepts, in ms, of the lines with the slopes at the ends of the slope's interval.
fn intercepts(points: &[(f64, f64)], slope: Interval) -> Option<Interval> {
    let at = |slope: f64| {
        let offsets: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        trimbench_results::statistics::median(&offsets)
    };
    Interval::new(at(slope.high)? * 1e3, at(slope.low)? * 1e3, slope.level)
}

/// A rate of a row.
type OfRow = fn(&TrimRowStep) -> Option<f64>;

/// The best that the device did with what was mapped.
fn rates(rows: &[TrimRow<'_>]) -> Vec<Figure> {
    let table: [(Metric, OfRow); 2] = [
        (throughput(), |row| Some(row.discarded_bytes_per_s? / 1e9)),
        (command_rate(), |row| row.commands_per_s),
    ];
    let mut figures = Vec::new();
    for (best_of, rate) in table {
        let best = rows
            .iter()
            .filter(|row| row.step.kind == SweepKind::Mapped.id())
            .filter_map(|row| Some((row, rate(row)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((row, value)) = best else { continue };
        let (size, queue_depth) = (row.size_bytes.to_string(), row.queue_depth.into());
        let verdict = Verdict::InDiscardsOf { size, queue_depth };
        let found = figure(&best_of, value, &[row]);
        figures.extend(found.map(|found| found.with_n(row.commands_issued).judged(verdict)));
    }
    figures
}

/// What a size keeps: the 99th percentile where there are discards enough, else the longest.
fn kept(row: &TrimRowStep) -> Option<(f64, &'static str)> {
    let p99 = row.latency_s.percentiles.p99.filter(|_| row.commands_issued >= ENOUGH_FOR_P99);
    let longest = || Some((row.latency_s.max?, "longest"));
    p99.map(|value| (value, "p99")).or_else(longest)
}

/// The largest size such that it and all smaller ones keep the stated latency.
fn chunk(method: &TrimSweep, rows: &[TrimRow<'_>]) -> Option<Figure> {
    let rows = singles(rows, SweepKind::Mapped);
    let keep = method.keep;
    let keeps =
        |row: &&&TrimRow<'_>| kept(row).is_some_and(|(latency, _)| latency <= keep.seconds());
    let good = rows.iter().take_while(keeps).count();
    let metric = super::metrics::chunk(keep);
    let Some(row) = good.checked_sub(1).map(|last| rows[last]) else {
        let smallest = rows.first()?;
        let (latency, statistic) = kept(smallest)?;
        let verdict = Verdict::NoSizeKeeps {
            keep: keep.to_string(),
            smallest: smallest.size_bytes.to_string(),
            latency: readable(latency),
            statistic: statistic.to_owned(),
        };
        let found = figure(&metric, 0.0, &[smallest])?;
        return Some(found.with_n(smallest.commands_issued).judged(verdict));
    };
    let (latency, statistic) = kept(row)?;
    let (latency, statistic) = (readable(latency), statistic.to_owned());
    let discards = row.commands_issued;
    let verdict = match rows.get(good) {
        Some(next) => Verdict::WriteDiscardMax {
            bytes: row.size_bytes.0,
            statistic,
            latency,
            discards,
            next: next.size_bytes.to_string(),
            next_latency: kept(next)
                .map_or_else(|| "longer".to_owned(), |(latency, _)| readable(latency)),
        },
        None => Verdict::EverySizeKeeps { statistic, latency, discards },
    };
    let found = figure(&metric, row.size_bytes.0 as f64, &rows[..good])?;
    Some(found.with_n(discards).judged(verdict))
}

/// With the unit that suits it.
fn readable(seconds: f64) -> String {
    quantity(seconds, "s")
}

/// The load, and what its accesses wait without discards.
fn load_alone(steps: &[Step]) -> Vec<Figure> {
    let alone = steps.iter().find(|step| step.kind == LOAD_ALONE);
    let Some(alone) = alone.and_then(StepOf::<LoadAloneStep>::read) else { return Vec::new() };
    let (asked, rate) = (alone.asked_per_s, alone.load_per_s);
    let verdict = if alone.is_served {
        let served = alone.asked_served_per_s.map(rounded).filter(|_| rate < asked);
        served.map(|served| Verdict::LoadLowered { asked, served })
    } else {
        let served = alone.served_per_s.map(rounded);
        served.map(|served| Verdict::LoadNotServed { served })
    };
    let table = [
        (LOAD_RATE, Some(rate as f64), verdict),
        (alone_max(), Some(alone.load.response_s_max), None),
        (alone_most(), alone.load.response_s_p98_5, None),
    ];
    let figures = table.into_iter().filter_map(|(metric, value, verdict)| {
        let mut figure = metric.measured(value)?;
        figure.rests_on([alone.step]);
        Some(figure.with_n(alone.load.accesses).judged(verdict))
    });
    figures.collect()
}

/// What the published limits are about.
fn limits(rows: &[TrimRow<'_>]) -> Vec<Figure> {
    let single: Vec<&TrimRow<'_>> = rows.iter().filter(|row| row.queue_depth == 1).collect();
    let is_loaded = |row: &&TrimRow<'_>| row.step.kind == SweepKind::MappedLoaded.id();
    let loaded: Vec<&TrimRow<'_>> = rows.iter().filter(is_loaded).collect();
    let all = worst(&TRIM_MAX, &single, |row| Some((row.latency_s.max?, row.commands_issued)));
    let of_load = |metric: &Metric, wait: fn(&SweepLoadStep) -> Option<f64>| {
        worst(metric, &loaded, |row| {
            let load = row.load.as_ref()?;
            Some((wait(load)?, load.accesses))
        })
    };
    let longest = of_load(&loaded_max(), |load| Some(load.response_s_max));
    let most = of_load(&loaded_most(), |load| load.response_s_p98_5);
    [all, longest, most].into_iter().flatten().collect()
}

/// The largest value of all rows, with what they count; `None` if one has none.
fn worst(
    metric: &Metric,
    rows: &[&TrimRow<'_>],
    of: impl Fn(&TrimRowStep) -> Option<(f64, u64)>,
) -> Option<Figure> {
    let values: Vec<(f64, u64)> = rows.iter().map(|row| of(row)).collect::<Option<_>>()?;
    let (row, (value, _)) = rows.iter().zip(&values).max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let verdict = Verdict::InRow { row: row.step.id.clone() };
    let found = figure(metric, *value, rows)?;
    Some(found.with_n(values.iter().map(|(_, count)| count).sum()).judged(verdict))
}
