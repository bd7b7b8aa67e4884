//! \[S2\]'s curves: sequential throughput over the drive, fresh, fragmented, healed by itself,
//! trimmed.

use super::{Sessions, id, line, of_kind};
use crate::chart::{Axis, Chart};

pub(super) fn pictures(sessions: Sessions<'_, '_>) -> Vec<Chart> {
    sessions
        .iter()
        .flat_map(|entry| {
            let mut curves = Chart::new(
                id("recovery", entry, "curves"),
                format!("Sequential writes over the drive: {}", entry.label),
                Axis::from_zero("place on the drive", "GB"),
                Axis::from_zero("throughput", "MB/s"),
            );
            curves.describe(
                "Throughput of a sequential pass at each place, in each state of the \
            drive. TRIM brought back what lies between fragmented and trimmed.",
            );
            for step in of_kind(entry.session, "pass") {
                if let Some(series) = step.series.get("throughput-address") {
                    curves.curve(line(step.id.clone(), series));
                }
            }
            let mut torture = Chart::new(
                id("recovery", entry, "torture"),
                format!("Random writes before: {}", entry.label),
                Axis::linear("written", "GB"),
                Axis::from_zero("rate", "IOPS"),
            );
            torture.describe("Random writes between the passes: what they come down to.");
            for step in of_kind(entry.session, "torture") {
                if let Some(series) = step.series.get("iops-accessed") {
                    torture.curve(line(step.id.clone(), series));
                }
            }
            [curves, torture]
        })
        .collect()
}
