//! What a pass says: sentences while it runs, and its account at the end.

use std::io::Write as _;

use serde_json::{Value, json};
use trimbench_claim::mounts::Mount;
use trimbench_core::text::{to_text, visible};
use trimbench_core::{Bytes, Nanos, Ppm};
use trimbench_policy::pacing::{Amount, PassForecast};

use crate::exit::TrimRequest;
use crate::law::TOLERANCE;
use crate::pass::{PassEnd, PassObserver, PassOutcome};

/// Says sentences on stderr, if anybody wants them.
#[derive(Debug)]
pub struct Voice {
    /// What they are about.
    pub subject: String,
    /// Whether the course of the pass is told, and not only what the user must know.
    pub tells: bool,
}

impl PassObserver for Voice {
    fn notice(&self, sentence: &str) {
        say(&format!("{}: {sentence}", self.subject));
    }

    fn forecast(&self, forecast: &PassForecast, remaining: Amount, target: Option<Nanos>) {
        let is_missed = target.is_some() && forecast.late > TOLERANCE;
        if self.tells || is_missed {
            self.notice(&expected(forecast, remaining, target));
        }
    }
}

/// What is to be expected, in sentences.
fn expected(forecast: &PassForecast, remaining: Amount, target: Option<Nanos>) -> String {
    let cost = forecast.cost;
    let [command, mib] = [cost.command, cost.mib].map(milliseconds);
    let overtakes = match forecast.overtakes {
        Some(true) => ", and other requests overtake queued ones",
        Some(false) => ", and other requests wait for all that are queued",
        None => "",
    };
    let (rest, time) = (size(remaining.bytes), span(forecast.time));
    let late = target.map_or(String::new(), |target| {
        let (late, target) = (share(forecast.late), milliseconds(target));
        let excess = if forecast.late > TOLERANCE {
            format!(", more than the {} that may", share(TOLERANCE))
        } else {
            String::new()
        };
        format!("; {late} of the requests will take longer than {target}{excess}")
    });
    format!(
        "a discard takes {command} and {mib} a MiB here{overtakes}. The rest ({rest}) will take \
         about {time}{late}."
    )
}

/// One line for the user on stderr.
pub fn say(text: &str) {
    // Nobody may be there to read it: that is no error.
    let _ = writeln!(std::io::stderr().lock(), "{}", visible(text));
}

/// The line of `fstrim --verbose`, with the bytes that the devices counted.
pub fn trimmed_line(mount: &Mount, request: TrimRequest, outcome: &PassOutcome) -> String {
    let bytes = outcome.discarded.bytes;
    line(mount, request, &format!("{} ({} bytes) trimmed", size(bytes), bytes.0))
}

/// The line of `fstrim --dry-run`.
pub fn dry_line(mount: &Mount, request: TrimRequest) -> String {
    line(mount, request, "0 B (dry run) trimmed")
}

/// As fstrim, which tells the device only of filesystems that were not named.
fn line(mount: &Mount, request: TrimRequest, what: &str) -> String {
    let point = visible(&to_text(&mount.mount_point)).into_owned();
    match request {
        TrimRequest::Named { .. } => format!("{point}: {what}"),
        TrimRequest::Listed => format!("{point}: {what} on {}", visible(&to_text(&mount.source))),
    }
}

/// What a pass did, in clauses.
pub fn account_line(outcome: &PassOutcome) -> String {
    let mut clauses = vec![format!("{} in {} calls", span(outcome.took), outcome.calls)];
    if let (Some(account), Some(target)) = (outcome.account, outcome.target) {
        let late = account.late.0.saturating_mul(1_000_000).checked_div(account.busy.0);
        clauses.push(match late {
            _ if account.requests == 0 => {
                "no request was seen, so nothing is known of latency".to_owned()
            }
            None => "nobody else used the device".to_owned(),
            Some(late) => format!(
                "probes took longer than {} in {} of the time that others used the device, and {} \
                 at most",
                milliseconds(target),
                share(Ppm(u32::try_from(late).unwrap_or(u32::MAX))),
                milliseconds(outcome.longest_wait)
            ),
        });
        if account.floor_steps > 0 {
            clauses.push(format!(
                "{} of {} calls were made at the risk of missing the target: discards get at least \
                 0.1 % of the time",
                account.floor_steps, account.steps
            ));
        }
    }
    if is_remembered(outcome) {
        clauses.push(format!(
            "of {} that are free the devices discarded {}: the filesystem may remember the rest as \
             trimmed, or a discard failed",
            size(outcome.called.bytes),
            size(outcome.discarded.bytes)
        ));
    }
    clauses.extend(outcome.piece.map(|piece| format!("discards of at most {}", size(piece))));
    if outcome.deferred.bytes.0 > 0 {
        clauses.push(format!("{} left for another time", size(outcome.deferred.bytes)));
    }
    clauses.join("; ")
}

/// Whether so much less was discarded than is free that it is no matter of extents that came and
/// went meanwhile. Calls that did not end say nothing.
fn is_remembered(outcome: &PassOutcome) -> bool {
    outcome.end == PassEnd::Done && outcome.discarded.bytes.0 < outcome.called.bytes.0 / 4 * 3
}

/// The same for programs.
pub fn document(mount: &Mount, outcome: &PassOutcome) -> Value {
    let amount = |amount: Amount| json!({"discards": amount.discards, "bytes": amount.bytes.0});
    let end = match &outcome.end {
        PassEnd::Done => json!({"is": "done"}),
        PassEnd::Interrupted => json!({"is": "interrupted"}),
        PassEnd::Gone(why) => json!({"is": "gone", "why": why}),
        PassEnd::Refused(errno) => json!({"is": "refused", "why": errno.to_string()}),
    };
    json!({
        "mount_point": to_text(&mount.mount_point),
        "source": to_text(&mount.source),
        "filesystem": mount.filesystem,
        "end": end,
        "discarded": amount(outcome.discarded),
        "called": amount(outcome.called),
        "deferred": amount(outcome.deferred),
        "target_ns": outcome.target.map(|target| target.0),
        "took_ns": outcome.took.0,
        "calls": outcome.calls,
        "piece_bytes": outcome.piece.map(|piece| piece.0),
        "probe": outcome.probed.as_ref().map(|what| json!({
            "where": what,
            "longest_wait_ns": outcome.longest_wait.0,
        })),
        "governor": outcome.account.map(|account| json!({
            "steps": account.steps,
            "floor_steps": account.floor_steps,
            "busy_ns": account.busy.0,
            "late_ns": account.late.0,
            "idle_ns": account.idle.0,
            "discarding_ns": account.discarding.0,
            "requests": account.requests,
        })),
    })
}

/// As `fstrim` shows sizes: `1.2 GiB`.
pub fn size(bytes: Bytes) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes.0 < 1_024 {
        return format!("{} B", bytes.0);
    }
    let (mut value, mut unit) = (bytes.0 as f64 / 1_024.0, 0);
    while value >= 1_023.95 && unit + 1 < UNITS.len() {
        value /= 1_024.0;
        unit += 1;
    }
    let text = format!("{value:.1}");
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

fn milliseconds(span: Nanos) -> String {
    let ms = span.seconds() * 1e3;
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

/// As people say how long something takes: `9.3 s`, `41 min`, `2.5 h`.
pub fn span(span: Nanos) -> String {
    let seconds = span.seconds();
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

fn share(share: Ppm) -> String {
    let per_cent = share.fraction() * 100.0;
    if per_cent >= 9.95 { format!("{per_cent:.0} %") } else { format!("{per_cent:.2} %") }
}

#[cfg(test)]
mod tests;
