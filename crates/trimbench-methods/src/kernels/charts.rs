//! The table as a matrix, and the longest reads over time.

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries, LabelledSession};
use trimbench_results::{Direction, Figure};

use super::metrics::{COLUMNS, TableColumn};
use super::session::DELETION;
use super::steps::KernelsWindowStep;

#[cfg(test)]
mod tests;

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [matrix(session), over_time(session)]).collect()
}

/// The systems of a session, in the order of its steps.
fn systems<'a>(session: &LabelledSession<'a>) -> Vec<&'a str> {
    let ids = session.steps_of(DELETION).map(|step| step.id.as_str());
    ids.filter_map(|id| id.strip_suffix(DELETION)?.strip_suffix('-')).collect()
}

/// A cell for each system and column: the value, and in colour how many systems do better.
fn matrix(session: &LabelledSession<'_>) -> Chart {
    let systems = systems(session);
    let columns = COLUMNS.iter().map(|column| column.title.to_owned()).collect();
    let names = systems.iter().map(|system| (*system).to_owned()).collect();
    let mut chart = session.chart(
        "matrix",
        "The same deletions under each system",
        Axis::of("system", names),
        Axis::of("figure", columns),
    );
    chart.horizontal = true;
    chart.describe(
        "A row for each filesystem, era and setting; in the cells the figures. The colour says \
         how many of the other systems do better in that column: the paler, the fewer.",
    );
    let mut cells = ChartSeries::new("systems", ChartKind::Cells, Vec::new(), Vec::new());
    let (mut labels, mut shares) = (Vec::new(), Vec::new());
    for (place, column) in COLUMNS.iter().enumerate() {
        let figure = |system: &&str| session.figure(&column.id(system));
        let figures: Vec<Option<&Figure>> = systems.iter().map(figure).collect();
        let values: Vec<f64> = figures.iter().flatten().map(|figure| figure.value).collect();
        for (row, figure) in figures.into_iter().enumerate() {
            cells.x.push(row as f64);
            cells.y.push(figure.map(|_| place as f64));
            labels.push(figure.map_or(String::new(), |it| it.shown().quantity()));
            shares.push(figure.map(|figure| better(column, figure.value, &values)));
        }
    }
    (cells.labels, cells.z) = (Some(labels), Some(shares));
    let mut colours = Axis::from_zero("systems that do better", "%");
    colours.max = Some(100.0);
    chart.z = Some(colours);
    chart.curve(cells);
    chart
}

/// How many of the values are better, in percent of the others.
fn better(column: &TableColumn, value: f64, values: &[f64]) -> f64 {
    let is_better = |other: &&f64| match column.direction {
        Direction::Lower => **other < value,
        Direction::Higher => **other > value,
        Direction::Neither => false,
    };
    let others = values.len().saturating_sub(1).max(1);
    100.0 * values.iter().filter(is_better).count() as f64 / others as f64
}

/// The longest read in each piece of time from the deletion on.
fn over_time(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "reads",
        "Reads after the deletion",
        Axis::log("time since the deletion began", "s"),
        Axis::log("longest read", "ms"),
    );
    chart.describe(
        "The longest read of each piece of time, under each system; the lines end where \
         everything is discarded.",
    );
    for (step, system) in session.steps_of(DELETION).zip(systems(session)) {
        let window = step.read::<KernelsWindowStep>().ok();
        if let Some(series) = window.and_then(|window| window.read_ms_max) {
            chart.curve(ChartSeries::line(system, &series));
        }
    }
    chart
}
