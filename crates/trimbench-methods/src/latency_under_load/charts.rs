//! The curve of each session: response times over the offered rate. That of all targets, and where
//! there were TRIMs, the p99 over rate and TRIM rate.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};

use super::session::RATE;
use super::steps::{OfferedRateStep, ResponseStep};
use super::watch::Class;

const CLASSES: [Class; 2] = [Class::Read, Class::Write];
const PERCENTILES: [(&str, Percentile, u8); 3] =
    [("p50", |it| it.percentiles.p50, 0), ("p99", P99, 1), ("p99.9", |it| it.percentiles.p99_9, 2)];
const P99: Percentile = |it| it.percentiles.p99;

/// A percentile of the response times of a class, in seconds.
type Percentile = fn(&ResponseStep) -> Option<f64>;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let all = CLASSES.map(|class| targets(class, sessions));
    let own = sessions.iter().flat_map(|session| {
        let trims = CLASSES.map(|class| beside_trims(class, session));
        std::iter::once(curves(session)).chain(trims)
    });
    all.into_iter().chain(own).collect()
}

fn rates(session: &LabelledSession<'_>) -> impl Iterator<Item = OfferedRateStep> {
    session.steps_of(RATE).filter_map(|step| step.read().ok())
}

/// TRIMs a second beside the rates of a session.
fn trim_rates(session: &LabelledSession<'_>) -> Vec<u64> {
    let mut rates: Vec<u64> = rates(session).map(|rate| rate.trims_per_s).collect();
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// A percentile over the offered rate, beside so many TRIMs a second.
fn curve(
    name: String,
    session: &LabelledSession<'_>,
    (class, percentile): (Class, Percentile),
    trims: u64,
) -> ChartSeries {
    let mut points: Vec<(f64, Option<f64>)> = rates(session)
        .filter(|rate| rate.trims_per_s == trims)
        .map(|rate| {
            let response = rate.responses(class).and_then(percentile).map(|seconds| seconds * 1e3);
            (rate.offered_per_s, response.filter(|value| *value > 0.0))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (x, y) = points.into_iter().unzip();
    ChartSeries::new(name, ChartKind::Line, x, y)
}

fn axes() -> (Axis, Axis) {
    (Axis::from_zero("offered reads and writes a second", ""), Axis::log("response time", "ms"))
}

/// Reads and writes of one session without TRIMs, or with the fewest.
fn curves(session: &LabelledSession<'_>) -> Chart {
    let (x, y) = axes();
    let mut chart = session.chart("curve", "Response times at each rate", x, y);
    chart.describe(
        "Each point is one offered rate, at which reads and writes arrive at random; their times \
         count from when they should have started. A curve ends with the last rate that the drive \
         kept up with.",
    );
    let Some(&trims) = trim_rates(session).first() else { return chart };
    for class in CLASSES {
        let plural = class.plural();
        let first = format!("{plural}, p50");
        for (label, percentile, dash) in PERCENTILES {
            let name = format!("{plural}, {label}");
            let like = (name != first).then(|| first.clone());
            let curve = curve(name, session, (class, percentile), trims);
            chart.curve(ChartSeries { dash, like, ..curve });
        }
    }
    let sustained = session.value("sustained").filter(|value| *value > 0.0);
    if let (Some(sustained), false) = (sustained, chart.is_empty()) {
        chart.mark("x", sustained, "sustained");
    }
    chart
}

/// The p99 of every target, without TRIMs or with the fewest.
fn targets(class: Class, sessions: &[LabelledSession<'_>]) -> Chart {
    let (x, y) = axes();
    let plural = class.plural();
    let id = format!("latency-under-load-{plural}");
    let mut chart = Chart::new(id, format!("p99 of {plural} at each rate"), x, y);
    chart.describe("A curve for each target, up to the last rate that it kept up with.");
    for session in sessions {
        if let Some(&trims) = trim_rates(session).first() {
            chart.curve(curve(session.label.clone(), session, (class, P99), trims));
        }
    }
    chart
}

/// The p99 over the offered rate, a curve for each rate of TRIMs; nothing where there is one only.
fn beside_trims(class: Class, session: &LabelledSession<'_>) -> Chart {
    let (x, y) = axes();
    let plural = class.plural();
    let title = format!("p99 of {plural} at each rate, beside TRIMs");
    let mut chart = session.chart(&format!("{plural}-beside-trims"), &title, x, y);
    chart.describe(
        "A curve for each number of TRIMs a second: by how much they raise it shows between the \
         curves, and by how much they lower the rate that the drive keeps up with at their ends.",
    );
    let rates = trim_rates(session);
    for trims in rates.iter().filter(|_| rates.len() > 1) {
        chart.curve(curve(format!("{trims} TRIMs/s"), session, (class, P99), *trims));
    }
    chart
}
