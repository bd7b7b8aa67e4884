//! How long a drive is slower after a TRIM: a surface over range and what was written, and the
//! point where it is longest as a curve beside its twin.

use trimbench_results::StepOf;
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};

use super::session::POINT;
use super::steps::SettlePointStep;

#[cfg(test)]
mod tests;

/// A point of a session.
type ChartPoint<'a> = StepOf<'a, SettlePointStep>;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    let own = sessions.iter().flat_map(|session| {
        let points: Vec<_> = session.steps_of(POINT).filter_map(ChartPoint::read).collect();
        [surface(session, &points), longest(session, &points)]
    });
    own.collect()
}

/// The settling time of a point: the figure that stands for it.
fn settling(session: &LabelledSession<'_>, point: &ChartPoint<'_>) -> Option<f64> {
    session.value(&format!("settling-{}", point.step.id))
}

fn surface(session: &LabelledSession<'_>, points: &[ChartPoint<'_>]) -> Chart {
    let axis = |percent: fn(&SettlePointStep) -> u32| {
        let mut values: Vec<u32> = points.iter().map(|point| percent(point)).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (trimmed, written) = (axis(|it| it.trimmed_percent), axis(|it| it.written_percent));
    let names = |values: &[u32]| values.iter().map(|value| format!("{value} %")).collect();
    let mut chart = session.chart(
        "surface",
        "Settling time after a TRIM",
        Axis::of("trimmed", names(&trimmed)),
        Axis::of("written before", names(&written)),
    );
    chart.describe(
        "Each cell is one TRIM: its range from left to right, what had been \
        written from top to bottom; the number is how long the drive was slower afterwards.",
    );
    let place = |values: &[u32], value| values.partition_point(|other| *other < value) as f64;
    let x = points.iter().map(|point| place(&trimmed, point.trimmed_percent)).collect();
    let y = points.iter().map(|point| Some(place(&written, point.written_percent))).collect();
    let z: Vec<Option<f64>> = points.iter().map(|point| settling(session, point)).collect();
    let largest = z.iter().flatten().copied().fold(0.0, f64::max);
    let mut colours = Axis::from_zero("settling time", "s");
    // Where nothing settles, everything has the colour of nothing.
    colours.max = Some(if largest > 0.0 { largest } else { 1.0 });
    chart.z = Some(colours);
    let mut curve = ChartSeries::new("settling time", ChartKind::Cells, x, y);
    curve.z = Some(z);
    chart.curve(curve);
    chart
}

fn longest(session: &LabelledSession<'_>, points: &[ChartPoint<'_>]) -> Chart {
    let point = points.iter().rev().max_by(|a, b| {
        let time = |point| settling(session, point).unwrap_or(-1.0);
        time(a).total_cmp(&time(b))
    });
    let mut chart = session.chart(
        "longest",
        "Pace after the TRIM that settles longest",
        Axis::linear("time after the TRIM", "s"),
        Axis::from_zero("throughput", "MB/s"),
    );
    chart.describe("Throughput after the TRIM, beside a twin of the drive that was left idle.");
    let Some(point) = point else { return chart };
    chart.title = format!("{} ({})", chart.title, point.step.id);
    let curves = [(&point.pace.twin, "twin, idle before", 1), (&point.pace.trimmed, "trimmed", 0)];
    for (series, name, dash) in curves {
        if let Some(series) = series {
            let mut curve = ChartSeries::line(name, series);
            curve.dash = dash;
            chart.curve(curve);
        }
    }
    chart
}
