//! \[S2\]'s curves: sequential throughput over the drive, fresh, fragmented, healed by itself,
//! trimmed.

use super::{Sessions, id, line, of_kind};
use crate::chart::{Axis, Chart};
use crate::entries::Entry;

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    sessions.iter().flat_map(|entry| [passes(entry), torture(entry)]).collect()
}

fn passes(entry: &Entry<'_>) -> Chart {
    let mut chart = Chart::new(
        id("recovery", entry, "curves"),
        format!("Sequential writes over the drive: {}", entry.label),
        Axis::from_zero("place on the drive", "GB"),
        Axis::from_zero("throughput", "MB/s"),
    );
    chart.describe(
        "Throughput of a sequential pass at each place, in each state of the \
        drive. TRIM brought back what lies between fragmented and trimmed.",
    );
    add_steps(&mut chart, entry, "pass", "throughput-address");
    chart
}

fn torture(entry: &Entry<'_>) -> Chart {
    let mut chart = Chart::new(
        id("recovery", entry, "torture"),
        format!("Random writes before: {}", entry.label),
        Axis::linear("written", "GB"),
        Axis::from_zero("rate", "IOPS"),
    );
    chart.describe("Random writes between the passes: what they come down to.");
    add_steps(&mut chart, entry, "torture", "iops-accessed");
    chart
}

/// Adds a curve for each step of this kind.
fn add_steps(chart: &mut Chart, entry: &Entry<'_>, kind: &str, series: &str) {
    for step in of_kind(entry.session, kind) {
        if let Some(series) = step.series.get(series) {
            chart.curve(line(step.id.clone(), series));
        }
    }
}
