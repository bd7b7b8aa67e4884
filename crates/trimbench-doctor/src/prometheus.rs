//! A diagnosis as metrics in the text format of Prometheus, for the textfile collector of its node
//! exporter. Source: Prometheus, "Exposition formats".
//!
//! An alert that TRIM is sent and does not arrive:
//! `increase(trimbench_discarded_bytes_total{end="top"}[8d]) > 0 and on(place)
//! increase(trimbench_discarded_bytes_total{end="bottom"}[8d]) == 0`.

use std::fmt::Write as _;

use crate::device::DiscardCount;
use crate::diagnosis::{Diagnosis, Reach};

/// What the file begins with.
pub const PROMETHEUS_MARK: &str = "# HELP trimbench_trim_reaches ";
/// What every line begins with that is not a comment.
const PREFIX: &str = "trimbench_";

/// How one metric follows from the counters of a device.
type Counter = (&'static str, &'static str, fn(&DiscardCount) -> String);

const COUNTERS: [Counter; 3] = [
    ("trimbench_discards_total", "Discards that a device has completed.", |it| {
        it.requests.to_string()
    }),
    ("trimbench_discarded_bytes_total", "Bytes of these discards.", |it| it.bytes.to_string()),
    ("trimbench_discard_seconds_total", "The sum of the times of these discards.", |it| {
        format!("{}.{:03}", it.time_ms / 1_000, it.time_ms % 1_000)
    }),
];

/// The metrics of these places.
pub fn prometheus(places: &[&Diagnosis]) -> String {
    let mut text = format!(
        "{PROMETHEUS_MARK}1 if TRIM reaches every drive of a place, 0 if not; absent if it cannot \
         be told.\n# TYPE trimbench_trim_reaches gauge\n"
    );
    for place in places {
        let value = match place.reach {
            Reach::Reaches { .. } => 1,
            Reach::DoesNot { .. } => 0,
            Reach::CannotTell { .. } | Reach::HasNoDrive => continue,
        };
        let _ =
            writeln!(text, "trimbench_trim_reaches{{{}}} {value}", label("place", &place.place));
    }
    for (name, help, value) in COUNTERS {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for place in places {
            let since = &place.since_start;
            for (end, devices) in [("top", &since.top), ("bottom", &since.bottom)] {
                for (device, count) in devices {
                    let labels = [("place", &place.place), ("device", device)];
                    let labels = labels.map(|(key, text)| label(key, text)).join(",");
                    let value = value(count);
                    let _ = writeln!(text, "{name}{{{labels},end=\"{end}\"}} {value}");
                }
            }
        }
    }
    text
}

/// Whether a text behind its mark is of these metrics only.
pub fn is_prometheus(rest: &str) -> bool {
    let mut lines = rest.lines().skip(1);
    rest.ends_with('\n')
        && lines.all(|line| {
            let line = line.strip_prefix("# HELP ").unwrap_or(line);
            line.strip_prefix("# TYPE ").unwrap_or(line).starts_with(PREFIX)
        })
}

/// A label, whose value may have anything.
fn label(key: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{key}=\"{value}\"")
}
