//! What a command of the user's waited for: the requests of the devices below while it ran, and
//! what it reports itself.

use serde_json::Value;
use trimbench_core::{BlockRequest, Files, Instant, Nanos, OperationKind};
use trimbench_results::LatencyHistogram;

use super::steps::AbReportedStep;

/// How long reads, writes and flushes of the devices took, from the block layer's acceptance to
/// their end.
#[derive(Debug, Default)]
pub(super) struct RequestTimes {
    pub(super) times: LatencyHistogram,
    pub(super) longest: Option<Nanos>,
    taken: Vec<BlockRequest>,
}

impl RequestTimes {
    /// Takes in those that ended since the last call.
    pub(super) fn take(&mut self, files: &mut Files<'_>) {
        files.take_requests(&mut self.taken);
        for request in self.taken.drain(..) {
            let is_felt = request.kind != OperationKind::Discard;
            if is_felt && request.completed != Instant::NEVER {
                let took = request.completed.since(request.entered);
                self.times.record(took);
                self.longest = self.longest.max(Some(took));
            }
        }
    }
}

/// The latencies in what a command printed, if there is a JSON document of fio in it: completion
/// latencies, of each the worst of all jobs and directions.
pub(super) fn reported(output: &str) -> Option<AbReportedStep> {
    let begin = output.find('{')?;
    let mut documents = serde_json::Deserializer::from_str(&output[begin..]).into_iter::<Value>();
    let document = documents.next()?.ok()?;
    let mut worst: Option<AbReportedStep> = None;
    for job in document.get("jobs")?.as_array()? {
        for direction in ["read", "write", "sync"] {
            let Some(found) = job.get(direction).and_then(of_direction) else { continue };
            let so_far = worst.unwrap_or(found);
            worst = Some(AbReportedStep {
                reported_s_p50: so_far.reported_s_p50.max(found.reported_s_p50),
                reported_s_p99: so_far.reported_s_p99.max(found.reported_s_p99),
                reported_s_p999: so_far.reported_s_p999.max(found.reported_s_p999),
                reported_s_max: so_far.reported_s_max.max(found.reported_s_max),
            });
        }
    }
    worst
}

/// Of one direction of a job; `None` if it did nothing. fio calls latencies of syncs `lat_ns`.
fn of_direction(direction: &Value) -> Option<AbReportedStep> {
    let latencies = ["clat_ns", "lat_ns"].into_iter().filter_map(|key| direction.get(key));
    let latencies = latencies.into_iter().find(|it| it.get("percentile").is_some())?;
    let percentile = |key: &str| Some(latencies.get("percentile")?.get(key)?.as_f64()? / 1e9);
    Some(AbReportedStep {
        reported_s_p50: percentile("50.000000")?,
        reported_s_p99: percentile("99.000000")?,
        reported_s_p999: percentile("99.900000")?,
        reported_s_max: latencies.get("max")?.as_f64()? / 1e9,
    })
}
