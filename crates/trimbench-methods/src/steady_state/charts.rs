//! Charts, after \[PTS\]: IOPS round by round with both criteria of the steady window drawn.

use super::steps::SteadyRoundStep;
use trimbench_engine::Criterion;
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession, Mark};

#[cfg(test)]
mod tests;

/// Rounds of a window.
const WINDOW: usize = Criterion::PTS.window;
/// Half of what the rounds of a steady window may lie apart, as a share of their mean.
const EXCURSION: f64 = Criterion::PTS.excursion_max / 2.0;

/// The rounds of one trimmed share.
struct Share {
    percent: u32,
    /// Rounds of the shares before.
    before: usize,
    rounds: Vec<SteadyRoundStep>,
}

impl Share {
    /// The place of one of its rounds among all.
    fn place(&self, round: usize) -> f64 {
        (self.before + round + 1) as f64
    }

    /// A value of its rounds as a curve.
    fn curve(&self, value: fn(&SteadyRoundStep) -> Option<f64>) -> ChartSeries {
        let x = (0..self.rounds.len()).map(|round| self.place(round)).collect();
        let y = self.rounds.iter().map(value).collect();
        ChartSeries::new(format!("{} % trimmed", self.percent), ChartKind::Line, x, y)
    }
}

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [rounds(session), amplification(session)]).collect()
}

/// The rounds of each trimmed share, in the order in which they were measured.
fn shares(session: &LabelledSession<'_>) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for round in session.steps_of("round").filter_map(|it| it.read::<SteadyRoundStep>().ok()) {
        let percent = round.share.trimmed_percent;
        match shares.last_mut() {
            Some(share) if share.percent == percent => share.rounds.push(round),
            last => {
                let before = last.map_or(0, |share| share.before + share.rounds.len());
                shares.push(Share { percent, before, rounds: vec![round] });
            }
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
    for share in shares(session) {
        let mut curve = share.curve(|round| round.round.iops);
        let name = curve.name.clone();
        let count = share.rounds.len();
        let window = count.saturating_sub(WINDOW)..count;
        let values: Vec<f64> = curve.y[window.clone()].iter().flatten().copied().collect();
        let mut fit = None;
        if values.len() == WINDOW {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let inside =
                |value| (0..count).map(|round| window.contains(&round).then_some(value)).collect();
            curve.low = Some(inside(mean * (1.0 - EXCURSION)));
            curve.high = Some(inside(mean * (1.0 + EXCURSION)));
            let half = slope(&values) * (WINDOW as f64 - 1.0) / 2.0;
            let x = vec![share.place(window.start), share.place(window.end - 1)];
            let y = vec![Some(mean - half), Some(mean + half)];
            let line = ChartSeries::new(format!("{name}: slope"), ChartKind::Line, x, y);
            fit = Some(ChartSeries { dash: 1, like: Some(name.clone()), ..line });
        }
        chart.curve(curve);
        if let Some(fit) = fit {
            chart.curve(fit);
        }
        let (at, to) = (share.place(0) - 0.5, Some(share.place(count - 1) + 0.5));
        chart.marks.push(Mark { axis: "x", at, to, label: name });
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
    for share in shares(session) {
        chart.curve(share.curve(SteadyRoundStep::amplification));
    }
    chart
}
