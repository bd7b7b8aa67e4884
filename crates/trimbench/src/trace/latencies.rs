//! How long the requests took that `trace record` recorded: no format that is written holds
//! latencies, so they are printed at its end.

use std::path::Path;

use trimbench_doctor::watch::{LatencyWatch, WatchLatencies};
use trimbench_results::number::quantity;

use crate::output::error_line;

/// Watches beside a recording.
#[derive(Debug)]
pub(super) struct RecordedLatencies(Option<LatencyWatch>);

impl RecordedLatencies {
    /// Of the disk of this node. Where they cannot be seen, nothing is printed.
    pub(super) fn start(node: &Path) -> Self {
        Self(LatencyWatch::start(node).ok())
    }

    /// To be called as often as the recording is emptied.
    pub(super) fn take(&mut self) {
        if let Some(watch) = &mut self.0 {
            watch.take();
        }
    }

    /// Prints a line for each class.
    pub(super) fn print(self) {
        let Some(watch) = self.0 else { return };
        let disks = watch.disks().join(" ");
        let (rows, lost) = watch.finish();
        if rows.is_empty() {
            return;
        }
        let lost =
            if lost > 0 { format!(" (at least {lost} events were lost)") } else { String::new() };
        error_line(&format!("latencies of `{disks}`, from the block layer to the end{lost}:"));
        for row in &rows {
            error_line(&line(row));
        }
    }
}

fn line(row: &WatchLatencies) -> String {
    let with = match (row.operation.as_str(), row.with_discards) {
        ("discard", _) => "",
        (_, true) => " with discards in flight",
        (_, false) => " without discards",
    };
    let [p50, p99, max] = [row.latency_ns_p50, row.latency_ns_p99, row.latency_ns_max]
        .map(|latency| quantity(latency as f64 / 1e9, "s"));
    let (operation, count) = (&row.operation, row.requests_count);
    format!("  {operation}{with}: {count}, p50 {p50}, p99 {p99}, maximum {max}")
}
