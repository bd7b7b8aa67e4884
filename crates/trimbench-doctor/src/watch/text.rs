//! The report as at most ten lines that end with the conclusion.

use super::WatchReport;
use super::analysis::{WatchFindings, WatchReason, WatchVerdict};
use super::latencies::WatchLatencies;
use super::observation::{WatchSource, WatchedThread};
use super::stalls::WatchedStall;
use crate::size::{size, three_digits};

/// Stalls and names that are shown.
const STALLS: usize = 3;
const NAMES: usize = 3;
/// Requests are under way for less of a wait that has none.
const BUSY: f64 = 0.1;

impl WatchReport {
    /// At most ten lines for a terminal; the last is the conclusion.
    pub fn to_lines(&self) -> Vec<String> {
        let mut lines = vec![self.heading(), discards(&self.findings)];
        lines.extend(["read", "write", "flush"].iter().filter_map(|of| latencies(self, of)));
        let it = &self.findings;
        let shown = it.stalls.len().min(STALLS);
        if it.stalls_count > 0 {
            let threshold = time(it.stall_threshold_ns);
            let count = it.stalls_count;
            let single = it.evidence.map_or(0, |evidence| evidence.stalls_count_independent);
            let single = (single > count).then(|| format!(", {single} single stalls in them"));
            lines.push(format!(
                "stalls: {count} periods with requests of more than {threshold}{}; the longest \
                 {shown}:",
                single.unwrap_or_default()
            ));
            lines.extend(it.stalls.iter().take(STALLS).map(stall));
        }
        lines.push(self.conclusion.clone());
        lines
    }

    fn heading(&self) -> String {
        let (disks, span) = (self.disks.join(" "), time(self.watched_ns));
        let seen = match self.source {
            WatchSource::Tracepoints => "each request was seen",
            WatchSource::Counters => "seen by counters: no single request can be named",
        };
        let lost = match self.events_count_lost {
            0 => String::new(),
            lost => format!("; at least {lost} events were lost"),
        };
        let ended = if self.interrupted { " (interrupted)" } else { "" };
        let file = self.disks.iter().find(|disk| disk.starts_with("loop"));
        let file = file.map(|disk| format!("; the disk below {disk}'s file was not watched"));
        format!("watched {disks} for {span}{ended}: {seen}{lost}{}", file.unwrap_or_default())
    }
}

/// The verdict in a sentence.
pub(super) fn conclusion(it: &WatchFindings, source: WatchSource) -> String {
    let verdict = match it.verdict {
        WatchVerdict::Trim => "TRIM",
        WatchVerdict::NotTrim => "not TRIM",
        WatchVerdict::NoStall => "no stall",
        WatchVerdict::CannotTell => "cannot tell",
    };
    let hedge = match (source, it.verdict) {
        (WatchSource::Counters, WatchVerdict::Trim | WatchVerdict::NotTrim) => " (by counters)",
        _ => "",
    };
    format!("{verdict}{hedge}: {}", because(it))
}

fn because(it: &WatchFindings) -> String {
    let median = it.latency_ns_p50_without_discards.map(time).unwrap_or_default();
    match it.reason {
        WatchReason::StallsBeginUnderDiscards => accusation(it),
        WatchReason::NoDiscardInStalls => "no discard was seen in these stalls".to_owned(),
        WatchReason::NoMoreThanByChance => match &it.evidence {
            Some(evidence) => format!(
                "{} of {} single stalls began under discards, no more than by chance; at most {} \
                 are TRIM's",
                evidence.stalls_count_exposed,
                evidence.stalls_count_independent,
                percent(evidence.trim_share_ratio_high),
            ),
            None => "stalls began under discards no more often than by chance".to_owned(),
        },
        WatchReason::DeviceSlow => {
            format!(
                "half of the requests take {median} without discards: the disk is slow, or has \
                 more to do than it can"
            )
        }
        WatchReason::AboveDevice => above(it),
        WatchReason::NothingStalled => {
            format!("no request took more than {}", time(it.stall_threshold_ns))
        }
        WatchReason::NothingSeen => "no request was seen, and nobody waited".to_owned(),
        WatchReason::TooFewStalls => {
            format!(
                "{} stalls are too few to tell coincidence from cause; watch for longer",
                it.evidence.map_or(0, |evidence| evidence.stalls_count_independent)
            )
        }
        WatchReason::EventsLost => {
            "events were lost that could change the verdict; watch for less \
                                    time, or while there is less load"
                .to_owned()
        }
        WatchReason::DiscardsAllTheTime => format!(
            "discards were in flight {} of the time, so they coincide with everything; watch until \
             they pause",
            percent(it.discards.in_flight_share_ratio)
        ),
        WatchReason::Ambiguous => "discards and stalls coincide, but not more than chance might \
                                   explain; watch for longer"
            .to_owned(),
    }
}

fn accusation(it: &WatchFindings) -> String {
    let Some(evidence) = &it.evidence else { return String::new() };
    let [share, low, high] =
        [evidence.trim_share_ratio, evidence.trim_share_ratio_low, evidence.trim_share_ratio_high]
            .map(percent);
    let issuers: Vec<&WatchedThread> =
        it.discards.issuers.iter().map(|issuer| &issuer.thread).collect();
    let by = if issuers.is_empty() { String::new() } else { format!(" by {}", names(&issuers)) };
    format!(
        "{share} of the stalls are due to discards{by} ({low} to {high}; by chance {} would begin \
         under one)",
        percent(evidence.chance_share_ratio)
    )
}

fn above(it: &WatchFindings) -> String {
    let Some(waits) = &it.waits_above else { return String::new() };
    let count = waits.threads_count;
    let many = if count == 1 { "process waits" } else { "processes wait" };
    let why = match (waits.frozen, waits.functions.first()) {
        (true, _) => " (frozen?)".to_owned(),
        (false, Some(function)) => format!(" (in `{function}`)"),
        (false, None) => String::new(),
    };
    let threads: Vec<&WatchedThread> = waits.threads.iter().collect();
    let requests = if waits.requests_share_ratio < BUSY {
        "no request was under way"
    } else {
        "the requests under way are of others"
    };
    format!(
        "above the device: {requests}; {count} {many} in the filesystem{why}: {}",
        names(&threads)
    )
}

fn discards(it: &WatchFindings) -> String {
    let discards = &it.discards;
    if discards.count == 0 {
        return "discards: none".to_owned();
    }
    let issuers: Vec<&WatchedThread> =
        discards.issuers.iter().map(|issuer| &issuer.thread).collect();
    let by = if issuers.is_empty() { String::new() } else { format!(", by {}", names(&issuers)) };
    format!(
        "discards: {}, {}, in flight {} of the time, {} on average{by}",
        discards.count,
        size(discards.bytes),
        percent(discards.in_flight_share_ratio),
        time(discards.latency_ns_mean),
    )
}

fn latencies(report: &WatchReport, operation: &str) -> Option<String> {
    let rows = report.findings.latencies.iter().filter(|row| row.operation == operation);
    let row = |row: &WatchLatencies| {
        let with = if row.with_discards { "with" } else { "without" };
        // The counters are in whole milliseconds.
        let is_known = |latency| report.source == WatchSource::Tracepoints || latency >= 1_000_000;
        let shown = |latency| if is_known(latency) { time(latency) } else { "<1 ms".to_owned() };
        let [p50, p99, max] =
            [row.latency_ns_p50, row.latency_ns_p99, row.latency_ns_max].map(shown);
        format!("{with} discards {p50} / {p99} / {max} (n={})", row.requests_count)
    };
    let rows: Vec<String> = rows.map(row).collect();
    let plural = if operation == "flush" { "flushes" } else { &format!("{operation}s") };
    (!rows.is_empty()).then(|| format!("{plural}, p50 / p99 / max: {}", rows.join(", ")))
}

fn stall(stall: &WatchedStall) -> String {
    let threads: Vec<&WatchedThread> = stall.threads.iter().collect();
    let waited = if threads.is_empty() { "somebody".to_owned() } else { names(&threads) };
    let discards = match stall.discards_count {
        0 => "no discard".to_owned(),
        count => format!(
            "{count} discards of {} for {} of it",
            size(stall.discards_bytes),
            percent(stall.discards_share_ratio)
        ),
    };
    let (place, start, span) = (&stall.place, time(stall.start_ns), time(stall.span_ns));
    format!("  {place} at {start} for {span}: {waited} waited; {discards}")
}

fn names(threads: &[&WatchedThread]) -> String {
    let mut names: Vec<String> = threads
        .iter()
        .take(NAMES)
        .map(|thread| format!("{} ({})", thread.name, thread.pid))
        .collect();
    if let Some(more) = threads.len().checked_sub(NAMES).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    if percent > 0.0 && percent < 1.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Three digits and a unit.
fn time(nanos: u64) -> String {
    let value = nanos as f64;
    let (value, unit) = match nanos {
        0..1_000 => return format!("{nanos} ns"),
        1_000..1_000_000 => (value / 1e3, "us"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

#[cfg(test)]
mod tests;
