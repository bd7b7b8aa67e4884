//! Charts, after \[PTS\]: IOPS round by round with both criteria of the steady window drawn.

use trimbench_results::Step;
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession, Mark};

#[cfg(test)]
mod tests;

/// Rounds of a window \[PTS\].
const WINDOW: usize = 5;
/// Half of what the rounds of a steady window may lie apart, as a share of their mean \[PTS\].
const EXCURSION: f64 = 0.1;

/// The rounds of one trimmed share.
struct Share<'a> {
    percent: f64,
    rounds: Vec<&'a Step>,
}

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [rounds(session), amplification(session)]).collect()
}

/// The rounds of each trimmed share, in the order in which they were measured.
fn shares<'a>(session: &LabelledSession<'a>) -> Vec<Share<'a>> {
    let mut shares: Vec<Share<'a>> = Vec::new();
    for step in session.steps_of("round") {
        let percent = step.parameters.get("trimmed_percent").copied().unwrap_or(0.0);
        match shares.last_mut() {
            Some(share) if share.percent.total_cmp(&percent).is_eq() => share.rounds.push(step),
            _ => shares.push(Share { percent, rounds: vec![step] }),
        }
    }
    shares
}

fn rounds(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "rounds",
        "IOPS round by round",
        Axis::linear("round", ""),
        Axis::from_zero("rate", "IOPS"),
    );
    chart.describe(
        "A point for each round. Around the last five of each trimmed share: the \
        band within which they must lie (10 % about their mean) and the line whose rise must stay \
        within 10 %.",
    );
    let mut before = 0;
    for share in shares(session) {
        let place = |round: usize| (before + round + 1) as f64;
        let iops: Vec<Option<f64>> =
            share.rounds.iter().map(|step| step.metrics.get("iops").copied()).collect();
        let x = (0..iops.len()).map(place).collect();
        let name = format!("{} % trimmed", share.percent);
        let mut curve = ChartSeries::new(&name, ChartKind::Line, x, iops.clone());
        let window = iops.len().saturating_sub(WINDOW)..iops.len();
        let values: Vec<f64> = iops[window.clone()].iter().flatten().copied().collect();
        if values.len() == WINDOW {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let inside = |value: f64| {
                (0..iops.len()).map(|round| window.contains(&round).then_some(value)).collect()
            };
            curve.low = Some(inside(mean * (1.0 - EXCURSION)));
            curve.high = Some(inside(mean * (1.0 + EXCURSION)));
            let slope = slope(&values);
            let half = slope * (WINDOW as f64 - 1.0) / 2.0;
            let ends = vec![place(window.start), place(window.end - 1)];
            let fit = vec![Some(mean - half), Some(mean + half)];
            chart.curve(curve);
            let mut line = ChartSeries::new(format!("{name}: slope"), ChartKind::Line, ends, fit);
            line.dash = 1;
            line.like = Some(name.clone());
            chart.curve(line);
        } else {
            chart.curve(curve);
        }
        let (at, to) = (place(0) - 0.5, Some(place(share.rounds.len() - 1) + 0.5));
        chart.marks.push(Mark { axis: "x", at, to, label: name });
        before += share.rounds.len();
    }
    chart
}

/// Of the least-squares line through values one round apart.
fn slope(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places = || (0..values.len()).map(|place| place as f64 - middle);
    let products: f64 = places().zip(values).map(|(place, value)| place * value).sum();
    products / places().map(|place| place * place).sum::<f64>()
}

fn amplification(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "amplification",
        "Write amplification round by round",
        Axis::linear("round", ""),
        Axis::from_zero("write amplification", ""),
    );
    chart.describe("Bytes programmed over bytes written by the host, in each round.");
    let mut before = 0;
    for share in shares(session) {
        let metric = |step: &&Step| step.metrics.get("write_amplification_ratio").copied();
        let y: Vec<Option<f64>> = share.rounds.iter().map(metric).collect();
        let x = (0..y.len()).map(|round| (before + round + 1) as f64).collect();
        chart.curve(ChartSeries::new(
            format!("{} % trimmed", share.percent),
            ChartKind::Line,
            x,
            y,
        ));
        before += share.rounds.len();
    }
    chart
}
