//! The output of `--dry-run`: what would be done, how long it takes, and what it needs.

use std::fmt::Write;

use trimbench_app::{
    DiscardOutlook, ForecastTotal, Obstacle, Plan, QuietOptions, SessionForecast, rough_bytes,
    rough_span,
};
use trimbench_core::text::visible;
use trimbench_core::{Bytes, Medium, Nanos};
use trimbench_devices::TargetOutlook;
use trimbench_engine::quiet::WINDOW;
use trimbench_engine::{Demand, DiscardWaits};
use trimbench_results::PlannedSession;

/// Full writes that a drive is assumed to be rated for: 0.3 a day for five years, as many client
/// drives.
const RATED_DRIVE_WRITES: f64 = 550.0;

/// The whole plan.
pub(crate) fn describe(plan: &Plan) -> String {
    let mut text = format!("seed {}\n", plan.seed);
    let mut total = ForecastTotal::default();
    for session in &plan.sessions {
        let forecast = plan.forecast(session);
        describe_session(&mut text, plan, &forecast);
        total.add(&forecast);
    }
    if let [_, _, ..] = plan.sessions[..] {
        describe_total(&mut text, total, plan.sessions.len());
    }
    text
}

fn describe_total(text: &mut String, total: ForecastTotal, planned: usize) {
    let _ = writeln!(text, "\nin total");
    fact(text, "sessions", &format!("{} of {planned} suit their target", total.sessions));
    fact(text, "writes", &format!("at most about {}", rough_bytes(total.written)));
    let clocks = [(total.real, "wall time"), (total.emulated, "virtual time (no waiting)")];
    let times = clocks.into_iter().filter(|(time, _)| *time > Nanos::ZERO);
    let times: Vec<String> =
        times.map(|(time, clock)| format!("about {} of {clock}", rough_span(time))).collect();
    if !times.is_empty() {
        fact(text, "time", &times.join(", "));
    }
}

fn describe_session(text: &mut String, plan: &Plan, forecast: &SessionForecast<'_>) {
    let PlannedSession { method, target, preset, .. } = &forecast.session.planned;
    let _ = writeln!(text, "\n{method} ({preset}) on {}", visible(target));
    if let Some(target) = &forecast.target {
        describe_target(text, plan, forecast, target);
    }
    match &forecast.obstacle {
        Some(Obstacle::LeftOut { reason }) => fact(text, "left out", reason),
        Some(Obstacle::Refused { reason, hint }) => {
            fact(text, "refused", reason);
            if let Some(hint) = hint {
                fact(text, "hint", hint);
            }
        }
        None => {}
    }
}

/// Describes the target, and what the session does to it.
fn describe_target(
    text: &mut String,
    plan: &Plan,
    forecast: &SessionForecast<'_>,
    target: &TargetOutlook,
) {
    for line in target.stack.iter().flat_map(|stack| stack.lines()) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(Obstacle::LeftOut { .. }) = forecast.obstacle {
        return;
    }
    let session = forecast.session;
    let drive = session.target.emulated_drive();
    if let Some(drive) = drive {
        fact(text, "profile", &drive.profile().summary);
        fact(text, "provenance", &drive.profile().provenance.to_string());
    }
    let Some(demand) = forecast.demand else { return };
    describe_demand(text, plan, (forecast, target), demand);
    describe_waits(text, plan, forecast);
    if drive.is_some() {
        describe_memory(text, session.method.drives_at_once() > 1, session.target.memory());
    } else if session.target.memory() > Bytes(0) {
        let most = rough_bytes(session.target.memory());
        fact(text, "memory", &format!("at most about {most} for the drive and what it holds"));
    } else if let Some(memory) = session.method.memory() {
        let limit = format!(
            "{memory} for the run and its page cache, by a control group, if the target sets \
             none; that takes root"
        );
        fact(text, "memory", &limit);
    }
    if let Some(drives) = target.worn {
        fact(text, "endurance", &endurance(demand.written, drives));
    }
    fact(text, "destroys", target.destroys);
    if target.takes_purge {
        fact(text, "purge", &format!("{} (`--purge`)", plan.purge));
    }
    fact(text, "privileges", target.privileges);
    if let (None, Some(unchecked)) = (&forecast.obstacle, target.unchecked) {
        fact(text, "not checked", unchecked);
    }
}

/// Describes what the tables of emulated drives keep in memory, beside some 15 MB for all else.
fn describe_memory(text: &mut String, in_passes: bool, tables: Bytes) {
    let tables = rough_bytes(tables);
    let also =
        if in_passes { "; twice that if there is memory for two passes at a time" } else { "" };
    fact(text, "memory", &format!("about {tables} for the tables of emulated drives{also}"));
}

/// Describes what the session writes, and how long it takes.
fn describe_demand(
    text: &mut String,
    plan: &Plan,
    (forecast, target): (&SessionForecast<'_>, &TargetOutlook),
    Demand { written, time }: Demand,
) {
    let session = forecast.session;
    fact(text, "space", &format!("{} needed", session.method.space()));
    let of_files = match target.ideal.medium {
        Medium::Device { .. } => "",
        Medium::Directory { .. } => " to its files",
    };
    let fills = target.capacity.filter(|capacity| capacity.0 > 0).map(|capacity| {
        let times = rough_ratio(written.0 as f64 / capacity.0 as f64);
        format!(", {times} times {}", target.holder)
    });
    let (rough, fills) = (rough_bytes(written), fills.unwrap_or_default());
    fact(text, "writes", &format!("at most about {rough}{of_files}{fills}"));
    if let Some((whole, drives)) = session.target.with_parity(written) {
        let below = format!(
            "about {} with parity, all {drives} together; padding, metadata and records that are \
             rewritten for a part of them come on top",
            rough_bytes(whole)
        );
        fact(text, "on drives", &below);
    }
    let (span, rate) = (rough_span(time), rough_bytes(Bytes(plan.assumed_rate)));
    let at = format!("{rate} a second (assumed)");
    let told = match forecast.pace {
        _ if session.target.emulated_drive().is_some() => {
            format!("about {span} of virtual time, at {at}")
        }
        Some(pace) => {
            let times = rough_ratio(pace);
            format!(
                "about {span} of wall time, {times} times as long as at {at}: as in the earlier run"
            )
        }
        None => format!(
            "about {span} of wall time, at {at}; what the target needs for its TRIMs comes on top \
             (`--timed-by` the directory of a short run on the same target knows it)"
        ),
    };
    fact(text, "time", &told);
}

/// Describes what a session waits for: quiet, and discards.
fn describe_waits(text: &mut String, plan: &Plan, forecast: &SessionForecast<'_>) {
    if let Some(DiscardOutlook { waits, rule, files }) = &forecast.discards {
        let DiscardWaits { deletions, each } = *waits;
        let waits = format!(
            "waits up to {} after each of {deletions} deletions until they are over ({files}), {} \
             together, in the time above; where others keep discarding, up to {} each",
            rough_span(each),
            rough_span(waits.total()),
            rough_span(rule.timeout)
        );
        fact(text, "discards", &waits);
    }
    if !forecast.session.rests_on_quiet() {
        return;
    }
    let QuietOptions { wait, busy_ok } = plan.quiet;
    let quiet = if plan.quiet.looks() {
        let (window, wait) = (rough_span(WINDOW), rough_span(wait));
        let then = if busy_ok { ", and measures all the same (`--busy-ok`)" } else { "" };
        format!("looks for other load for {window}, waits up to {wait} for quiet{then}")
    } else {
        "does not look for other load (`--quiet-wait 0s`)".to_owned()
    };
    fact(text, "quiet", &quiet);
}

/// What so many bytes are of the life of a drive.
pub(crate) fn endurance(written: Bytes, drives: Bytes) -> String {
    let share = written.0 as f64 / drives.0 as f64 / RATED_DRIVE_WRITES * 100.0;
    format!(
        "about {share:.2} % of the life of a drive of {drives}, if it is rated for \
         {RATED_DRIVE_WRITES} full writes (assumed: see its data sheet)"
    )
}

/// One line.
fn fact(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:12} {}", visible(value));
}

/// A number of times, to a tenth, or to two digits below that.
fn rough_ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 0.95 => format!("{ratio:.1}"),
        ratio if ratio >= 0.0995 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}
