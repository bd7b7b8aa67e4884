//! The trade of each trim policy: latency of the foreground against write amplification later.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};
use trimbench_results::{Figure, MetricAxis, Session, Verdict};

#[cfg(test)]
mod tests;

/// Columns of the method's tables; those of the tail with their names.
const LATENCY: &str = "p99.9";
const AMPLIFICATION: &str = "amplification";
const TAIL: [(&str, &str); 4] =
    [("p50", "p50"), ("p99", "p99"), (LATENCY, "p99.9"), ("max", "longest")];

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [pareto(session), latencies(session)]).collect()
}

/// The policies of a session, in the order of its figures.
fn policies(session: &Session) -> Vec<&str> {
    let is_latency =
        |figure: &&Figure| figure.coordinates.key(MetricAxis::Measure) == Some(LATENCY);
    let latencies = session.figures.iter().filter(is_latency);
    latencies.filter_map(|figure| figure.coordinates.key(MetricAxis::Policy)).collect()
}

/// The figure of a column under a policy.
fn figure<'a>(session: &'a Session, column: &str, policy: &str) -> Option<&'a Figure> {
    session.figure_at(&[(MetricAxis::Measure, column), (MetricAxis::Policy, policy)])
}

/// A point for each policy; those that no other beats in both are joined.
fn pareto(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "pareto",
        "Latency against write amplification",
        Axis::log("p99.9 of the foreground", "ms"),
        Axis::linear("write amplification", ""),
    );
    chart.describe(
        "A point for each policy: the further to the left, the less the \
        foreground feels; the lower, the less the drive wears. The line joins those that no \
        other beats in both.",
    );
    let mut points: Vec<(f64, f64, &str, bool)> = policies(session)
        .into_iter()
        .filter_map(|policy| {
            let latency = figure(session, LATENCY, policy)?;
            let amplification = figure(session, AMPLIFICATION, policy)?.value;
            // The verdict says `front` or `to choose`.
            let front = latency.verdict.is_some();
            (latency.value > 0.0).then_some((latency.value, amplification, policy, front))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let chosen = |policy: &str| {
        let latency = figure(session, LATENCY, policy);
        latency.is_some_and(|latency| latency.verdict == Some(Verdict::ToChoose))
    };
    let front = points.iter().filter(|(.., front)| *front);
    let (x, y) = front.map(|(x, y, ..)| (*x, Some(*y))).unzip();
    let mut line = ChartSeries::new("not beaten", ChartKind::Steps, x, y);
    line.dash = 1;
    chart.curve(line);
    // Policies often lie close together: each has a name in the legend, where none hides another.
    for (x, y, policy, _) in points {
        let name = if chosen(policy) { format!("{policy} (to choose)") } else { policy.to_owned() };
        chart.curve(ChartSeries::new(name, ChartKind::Points, vec![x], vec![Some(y)]));
    }
    chart
}

/// Response times of the foreground under each policy.
fn latencies(session: &LabelledSession<'_>) -> Chart {
    let policies = policies(session);
    let names = policies.iter().map(|policy| (*policy).to_owned()).collect();
    let mut chart = session.chart(
        "latency",
        "Response times of the foreground",
        Axis::of("policy", names),
        Axis::log("response time", "ms"),
    );
    chart.horizontal = true;
    chart.describe(
        "A group of points for each policy: half of the accesses, 99 %, 99.9 % and the longest.",
    );
    for (column, name) in TAIL {
        let value = |policy: &&str| Some(figure(session, column, policy)?.value);
        let value = |policy: &&str| value(policy).filter(|one| *one > 0.0);
        let values: Vec<Option<f64>> = policies.iter().map(value).collect();
        chart.curve(ChartSeries { kind: ChartKind::Points, ..ChartSeries::bars(name, values) });
    }
    chart
}
