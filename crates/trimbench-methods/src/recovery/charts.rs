//! \[S2\]'s curves: sequential throughput over the drive, fresh, fragmented, healed by itself,
//! trimmed.

use trimbench_engine::{PassStep, RateStep};
use trimbench_results::chart::{Axis, Chart, ChartSeries, LabelledSession};
use trimbench_results::{Series, Step};

pub(super) fn charts(sessions: &[LabelledSession<'_>]) -> Vec<Chart> {
    sessions.iter().flat_map(|session| [passes(session), torture(session)]).collect()
}

fn passes(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "curves",
        "Sequential writes over the drive",
        Axis::from_zero("place on the drive", "GB"),
        Axis::from_zero("throughput", "MB/s"),
    );
    chart.describe(
        "Throughput of a sequential pass at each place, in each state of the \
        drive. TRIM brought back what lies between fragmented and trimmed.",
    );
    add_steps(&mut chart, session, "pass", |step| step.read::<PassStep>().ok()?.means);
    chart
}

fn torture(session: &LabelledSession<'_>) -> Chart {
    let mut chart = session.chart(
        "torture",
        "Random writes before",
        Axis::linear("written", "GB"),
        Axis::from_zero("rate", "IOPS"),
    );
    chart.describe("Random writes between the passes: what they come down to.");
    add_steps(&mut chart, session, "torture", |step| step.read::<RateStep>().ok()?.by_bytes);
    chart
}

/// Adds a curve for each step of this kind.
fn add_steps(
    chart: &mut Chart,
    session: &LabelledSession<'_>,
    kind: &str,
    series: fn(&Step) -> Option<Series>,
) {
    for step in session.steps_of(kind) {
        if let Some(series) = series(step) {
            chart.curve(ChartSeries::line(&step.id, &series));
        }
    }
}
