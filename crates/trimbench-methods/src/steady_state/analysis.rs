//! Computes figures from recorded rounds. A pure function of the record.
//!
//! The figures of a trimmed share are those of its last window of rounds: the mean of the rounds'
//! IOPS (Ave(y) of \[PTS\]), the bytes programmed over the bytes written by the host, percentiles
//! over all commands of the window.

use trimbench_core::Caveat;
use trimbench_results::statistics::mean;
use trimbench_results::{Figure, LatencyHistogram, Quantile, Series, Step};

use super::options::SteadyState;
use trimbench_engine::method::Findings;
use trimbench_engine::settings::whole_percent;
use trimbench_engine::steady::Criterion;

/// Percentiles that are printed.
const QUANTILES: [Quantile; 3] = [Quantile::P50, Quantile::P99, Quantile::P99_9];
/// A gain within this of 1 is none: half of what a steady state may rise by.
const NO_GAIN: f64 = 0.05;
/// A drift within this share is none: what a steady state may rise by \[PTS\].
const NO_DRIFT: f64 = 0.1;

/// The rounds of one trimmed share.
struct Share<'a> {
    percent: u32,
    /// What its figures' ids end with.
    suffix: String,
    /// All rounds, in order.
    rounds: Vec<&'a Step>,
}

/// Computes all figures, and adds a step with the curves of the whole run.
pub fn analyse(method: &SteadyState, steps: &mut Vec<Step>) -> Findings {
    let mut figures = Vec::new();
    let mut caveats = Vec::new();
    let mut first = None;
    let percents = method.trimmed_shares.iter().filter_map(|share| whole_percent(*share));
    for percent in percents {
        let share = Share::of(steps, percent);
        if share.rounds.is_empty() {
            continue;
        }
        let steady = share.steady_at();
        if steady.is_none() && !caveats.contains(&Caveat::NoSteadyState) {
            caveats.push(Caveat::NoSteadyState);
        }
        let found = share.figures(steady);
        let iops = found.first().map(|figure| figure.value);
        figures.extend(found);
        match (percent, first, iops) {
            (0, _, iops) => {
                first = iops;
                figures.extend(ageing(steps, iops));
            }
            (_, Some(first), Some(iops)) => figures.extend(gain(percent, iops / first)),
            _ => {}
        }
    }
    if let Some(headline) = figures.first_mut().filter(|figure| figure.id == "steady-iops") {
        headline.headline = true;
        for id in steps.iter().flat_map(|step| &step.caveats) {
            if let Some(caveat) = Caveat::from_id(id) {
                headline.caveat(caveat);
            }
        }
    }
    steps.extend(curves(steps));
    Findings { figures, caveats }
}

/// The ids of all figures that the method may find, with their units.
pub fn announced_figures(method: &SteadyState) -> Vec<(String, &'static str)> {
    let mut figures = Vec::new();
    for percent in method.trimmed_shares.iter().filter_map(|share| whole_percent(*share)) {
        let suffix = suffix(percent);
        for (id, unit) in [
            ("steady-iops", "IOPS"),
            ("steady-throughput", "MB/s"),
            ("write-amplification", ""),
            ("rounds-to-steady", "rounds"),
        ] {
            figures.push((format!("{id}{suffix}"), unit));
        }
        figures.extend(QUANTILES.map(|quantile| (format!("latency-{quantile}{suffix}"), "ms")));
        if percent > 0 {
            figures.push((format!("gain{suffix}"), ""));
        }
    }
    if method.ageing_rounds > 0 {
        figures.push(("aged-iops".to_owned(), "IOPS"));
        figures.push(("aged-write-amplification".to_owned(), ""));
        figures.push(("ageing-drift".to_owned(), "%"));
    }
    figures
}

fn suffix(percent: u32) -> String {
    if percent == 0 { String::new() } else { format!("-trimmed-{percent}") }
}

fn metric(step: &Step, key: &str) -> Option<f64> {
    step.metrics.get(key).copied()
}

/// What of the drive was trimmed, in words for titles.
fn trimmed(percent: u32) -> String {
    if percent == 0 { String::new() } else { format!(", {percent} % trimmed") }
}

/// The last window of rounds, or all if there are fewer.
fn last_window<'a>(rounds: &[&'a Step]) -> Vec<&'a Step> {
    rounds[rounds.len().saturating_sub(Criterion::PTS.window)..].to_vec()
}

/// Bytes programmed over bytes written by the host, over all rounds; `None` unless the drive said
/// so for each.
fn amplification(rounds: &[&Step]) -> Option<f64> {
    let sum = |key| rounds.iter().map(|step| metric(step, key)).sum::<Option<f64>>();
    let (host, media) = (sum("host_written_bytes")?, sum("media_written_bytes")?);
    (host > 0.0).then(|| media / host)
}

impl<'a> Share<'a> {
    fn of(steps: &'a [Step], percent: u32) -> Self {
        let mine = |step: &&Step| {
            let trimmed = step.parameters.get("trimmed_percent");
            step.kind == "round" && trimmed.is_some_and(|x| (x - f64::from(percent)).abs() < 0.5)
        };
        let rounds = steps.iter().filter(mine).collect();
        Self { percent, suffix: suffix(percent), rounds }
    }

    /// The first round that ends a steady window; `None` if none does.
    fn steady_at(&self) -> Option<usize> {
        let iops: Option<Vec<f64>> = self.rounds.iter().map(|step| metric(step, "iops")).collect();
        Criterion::PTS.steady_at(&iops?)
    }

    /// Its figures; the first is the IOPS.
    fn figures(&self, steady: Option<usize>) -> Vec<Figure> {
        let window = last_window(&self.rounds);
        let values = |key| window.iter().filter_map(|step| metric(step, key)).collect::<Vec<_>>();
        let (suffix, what) = (&self.suffix, trimmed(self.percent));
        let mut figures = Vec::new();
        let mut add = |id: &str, title: &str, value: Option<f64>, unit: &str| {
            let id = format!("{id}{suffix}");
            let figure = value.and_then(|value| Figure::new(&id, title, value, unit));
            figures.extend(figure.map(|figure| Figure { n: window.len() as u64, ..figure }));
        };
        let (iops, throughput) = (mean(&values("iops")), mean(&values("throughput_mb_per_s")));
        let title = |of: &str| format!("{of} in the steady state{what}");
        add("steady-iops", &title("IOPS"), iops, "IOPS");
        add("steady-throughput", &title("throughput"), throughput, "MB/s");
        add("write-amplification", &title("write amplification"), amplification(&window), "");
        let mut latencies = LatencyHistogram::new();
        for step in &window {
            let histogram = step.histograms.get("latency");
            if let Some(Ok(histogram)) = histogram.map(|text| LatencyHistogram::from_text(text)) {
                latencies.merge(&histogram);
            }
        }
        for quantile in QUANTILES {
            let value = latencies.percentile(quantile).map(|value| value.0 as f64 / 1e6);
            // The percentile last: tables make columns of it.
            let title = format!("{}, {quantile}", title("latency"));
            add(&format!("latency-{quantile}"), &title, value, "ms");
        }
        let rounds = steady.map(|rounds| rounds as f64);
        add("rounds-to-steady", &format!("rounds until steady{what}"), rounds, "rounds");
        if let Some(first) = figures.first_mut() {
            let given_up = || format!("not steady after {} rounds", self.rounds.len());
            let found = |round| format!("steady at round {round}");
            first.verdict = Some(steady.map_or_else(given_up, found));
        }
        for figure in &mut figures {
            if steady.is_none() {
                figure.caveat(Caveat::NoSteadyState);
            }
            if figure.id.starts_with("latency-") {
                figure.n = latencies.count();
            }
        }
        figures
    }
}

/// What trimming a share gained.
fn gain(percent: u32, ratio: f64) -> Option<Figure> {
    let (id, title) = (
        format!("gain{}", suffix(percent)),
        format!("IOPS with {percent} % trimmed, over those without"),
    );
    let verdict = match ratio {
        ratio if ratio > 1.0 + NO_GAIN => "trimmed space helps",
        ratio if ratio < 1.0 - NO_GAIN => "slower than without",
        _ => "no difference",
    };
    let figure = Figure::new(&id, &title, ratio, "")?;
    Some(Figure { verdict: Some(verdict.to_owned()), ..figure })
}

/// What became of the steady state in the long run, without any TRIM.
fn ageing(steps: &[Step], steady: Option<f64>) -> Vec<Figure> {
    let rounds: Vec<&Step> = steps.iter().filter(|step| step.kind == "ageing").collect();
    let window = last_window(&rounds);
    let iops: Vec<f64> = window.iter().filter_map(|step| metric(step, "iops")).collect();
    let (Some(aged), Some(steady)) = (mean(&iops), steady) else { return Vec::new() };
    let drift = aged / steady - 1.0;
    let verdict = match drift {
        drift if drift < -NO_DRIFT => "falls in the long run",
        drift if drift > NO_DRIFT => "rises in the long run",
        _ => "holds in the long run",
    };
    let title = format!("IOPS, {} rounds after the steady state", rounds.len());
    let drifted = Figure::new("ageing-drift", "change of IOPS by ageing", drift * 100.0, "%");
    let amplification = amplification(&window).and_then(|value| {
        Figure::new("aged-write-amplification", "write amplification after ageing", value, "")
    });
    let aged = Figure::new("aged-iops", &title, aged, "IOPS");
    let verdict = Some(verdict.to_owned());
    let drifted = drifted.map(|figure| Figure { verdict, ..figure });
    let n = window.len() as u64;
    let figures = [aged, amplification, drifted].into_iter().flatten();
    figures.map(|figure| Figure { n, ..figure }).collect()
}

/// The curves of the whole run, a point a round: against time, and against what was accessed.
fn curves(steps: &[Step]) -> Option<Step> {
    let rounds: Vec<&Step> =
        steps.iter().filter(|step| step.kind == "round" || step.kind == "ageing").collect();
    let mut summary = Step::new("all-rounds", "summary");
    let (mut seconds, mut accessed) = (Vec::new(), Vec::new());
    for round in &rounds {
        let began = |key| round.parameters.get(key).copied();
        seconds.push(began("began_s")? + metric(round, "elapsed_s")?);
        let bytes = metric(round, "read_bytes").unwrap_or(0.0)
            + metric(round, "written_bytes").unwrap_or(0.0);
        accessed.push(began("began_gb")? + bytes / 1e9);
    }
    for (key, metric_key, unit) in
        [("iops", "iops", "IOPS"), ("write-amplification", "write_amplification_ratio", "")]
    {
        let y: Vec<Option<f64>> = rounds.iter().map(|round| metric(round, metric_key)).collect();
        for (axis, x_unit, x) in [("time", "s", &seconds), ("accessed", "GB", &accessed)] {
            let series = Series::new(x_unit, unit, x.clone(), y.clone());
            let series = series.filter(|series| series.y.iter().any(Option::is_some));
            summary.series.extend(series.map(|series| (format!("{key}-{axis}"), series)));
        }
    }
    (!summary.series.is_empty()).then_some(summary)
}
