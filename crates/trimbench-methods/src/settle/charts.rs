//! How long a drive is slower after a TRIM: a surface over range and what was written, and the
//! point where it is longest as a curve beside its twin.

use trimbench_results::Step;
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};

#[cfg(test)]
mod tests;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [surface(session), longest(session)]).collect()
}

/// The settling time of a point: the figure that stands for it.
fn settling(session: &LabelledSession<'_>, step: &Step) -> Option<f64> {
    session.value(&format!("settling-{}", step.id))
}

fn surface(session: &LabelledSession<'_>) -> Chart {
    let axis = |key: &str| {
        let mut values: Vec<f64> =
            session.steps_of("point").filter_map(|step| step.parameter(key)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (trimmed, written) = (axis("trimmed_percent"), axis("written_percent"));
    let names = |values: &[f64]| values.iter().map(|value| format!("{value} %")).collect();
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
    let (mut x, mut y, mut z) = (Vec::new(), Vec::new(), Vec::new());
    for step in session.steps_of("point") {
        let place = |key: &str, values: &[f64]| {
            let value = step.parameters.get(key)?;
            values.iter().position(|other| other.total_cmp(value).is_eq())
        };
        let column = place("trimmed_percent", &trimmed);
        let row = place("written_percent", &written);
        if let (Some(column), Some(row)) = (column, row) {
            x.push(column as f64);
            y.push(Some(row as f64));
            z.push(settling(session, step));
        }
    }
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

fn longest(session: &LabelledSession<'_>) -> Chart {
    let point = session.steps_of("point").rev().max_by(|a, b| {
        let time = |step: &Step| settling(session, step).unwrap_or(-1.0);
        time(a).total_cmp(&time(b))
    });
    let mut chart = session.chart(
        "longest",
        "Pace after the TRIM that settles longest",
        Axis::linear("time after the TRIM", "s"),
        Axis::from_zero("throughput", "MB/s"),
    );
    if let Some(point) = point {
        chart.title = format!("{} ({})", chart.title, point.id);
    }
    chart.describe("Throughput after the TRIM, beside a twin of the drive that was left idle.");
    let curves =
        [("throughput-time-twin", "twin, idle before", 1), ("throughput-time", "trimmed", 0)];
    for (series, name, dash) in curves {
        if let Some(series) = point.and_then(|step| step.series.get(series)) {
            let mut curve = ChartSeries::line(name, series);
            curve.dash = dash;
            chart.curve(curve);
        }
    }
    chart
}
