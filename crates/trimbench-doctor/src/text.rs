//! A diagnosis for people: at most ten lines, the last of which is the conclusion.

use std::path::Path;

use trimbench_core::text::shell_path;
use trimbench_linux::wall_time_unix;

use crate::diagnosis::{Diagnosis, Reach, SinceStart, Stop};
use crate::layer::{Handling, Layer, LayerKind};
use crate::probe::ProbeReport;
use crate::size::size;

/// Lines of a diagnosis.
const MOST: usize = 10;
/// Lines of those that are layers.
const LAYERS: usize = 5;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The diagnosis in at most ten lines, or with all notes and lines to type.
pub fn lines(diagnosis: &Diagnosis, probe: Option<&ProbeReport>, is_full: bool) -> Vec<String> {
    let mut all = layer_lines(diagnosis, is_full);
    match probe {
        Some(report) => all.extend(probe_lines(report)),
        None => all.extend(counter_line(&diagnosis.since_start)),
    }
    let unread = diagnosis.top.all().into_iter().flat_map(|layer| &layer.unread);
    let mut notes: Vec<String> = unread.map(|text| format!("not seen: {text}")).collect();
    notes.dedup();
    for trap in &diagnosis.traps {
        notes.push(format!("{}: {}", weight(trap), trap.text));
        if is_full {
            notes.extend(trap.lines.iter().map(|line| typed(line.file, &line.text)));
        }
    }
    notes.extend(diagnosis.drives_say.iter().cloned());
    let mend = mend_lines(&diagnosis.reach, is_full);
    let room = MOST.saturating_sub(all.len() + mend.len() + 1);
    if !is_full && notes.len() > room {
        let left = notes.len() - room.saturating_sub(1);
        notes.truncate(room.saturating_sub(1));
        notes.push(format!("{left} more notes: add `--full`"));
    }
    all.extend(notes);
    all.extend(mend);
    all.push(conclusion(diagnosis));
    all
}

/// The conclusion in a sentence or two.
pub fn conclusion(diagnosis: &Diagnosis) -> String {
    let place = &diagnosis.place;
    match &diagnosis.reach {
        Reach::Reaches { drives } => match &diagnosis.top.handling {
            Handling::Sends { by } => {
                let verb = if by.len() == 1 { "sends" } else { "send" };
                let senders = by.join(" and ");
                format!(
                    "TRIM reaches {}: {senders} {verb} it, and every layer passes it.",
                    joined(drives)
                )
            }
            _ => format!("TRIM that is sent to `{place}` reaches {}.", joined(drives)),
        },
        Reach::DoesNot { stops, reached } => does_not(stops, reached),
        Reach::CannotTell { unknown } => {
            let Some(first) = unknown.first() else { return String::new() };
            let Stop { name, layer, why, .. } = first;
            match first.cause.as_str() {
                "hidden" => format!(
                    "TRIM gets as far as {name}, which is {why}.{}",
                    probe_hint(diagnosis).unwrap_or_default()
                ),
                "probe-undecided" => format!(
                    "TRIM gets as far as {name}, which is {why}. The test does not decide it: what \
                     `{name}` holds could not be compared."
                ),
                _ => format!("Whether TRIM reaches a drive cannot be told: {layer}: {why}."),
            }
        }
        Reach::HasNoDrive => match diagnosis.nothing_to_trim() {
            Some(why) => format!("There is nothing to trim on `{place}`: {why}."),
            None => format!("`{place}` is on no drive: there is nothing to trim."),
        },
    }
}

/// How to test what becomes of TRIM in a device that hides it. Below a loop device no test shows
/// it, and a device has no files.
fn probe_hint(diagnosis: &Diagnosis) -> Option<String> {
    let top = &diagnosis.top;
    (top.kind == LayerKind::Filesystem && !top.stands_on_file()).then(|| {
        let place = shell_path(Path::new(&diagnosis.place));
        format!(" `trimbench doctor --probe {place}` (as root) tests what becomes of it.")
    })
}

/// What keeps TRIM from the drive: first the layers that drop it, then what does not send it.
fn does_not(stops: &[Stop], reached: &[String]) -> String {
    let (senders, layers): (Vec<&Stop>, Vec<&Stop>) =
        stops.iter().partition(|stop| stop.cause == "nobody-sends");
    let drops = layers.iter().map(|stop| match stop.kind {
        LayerKind::Drive => format!("{} does not accept it, because {}", stop.name, stop.why),
        _ => format!("{} drops it, because {}", stop.layer, stop.why),
    });
    let silent = senders
        .iter()
        .map(|stop| format!("nothing sends it from `{}`, because {}", stop.name, stop.why));
    let reasons: Vec<String> = drops.chain(silent).collect();
    let where_to = match reached {
        [] => "TRIM does not reach the drive".to_owned(),
        some => format!("TRIM reaches {}, but not every drive", joined(some)),
    };
    format!("{where_to}: {}.", reasons.join("; "))
}

/// A line a layer; equal ones below a RAID are one.
fn layer_lines(diagnosis: &Diagnosis, is_full: bool) -> Vec<String> {
    let layers = diagnosis.top.all();
    let mut rows: Vec<(String, String)> = Vec::new();
    for layer in layers {
        let words = layer_words(layer, diagnosis);
        match rows.last_mut() {
            Some((names, last)) if *last == words => {
                names.push(' ');
                names.push_str(&layer.name);
            }
            _ => rows.push((layer.name.clone(), words)),
        }
    }
    if !is_full && rows.len() > LAYERS {
        // The top and the bottom say most.
        let left = rows.len() - (LAYERS - 1);
        rows.drain(2..2 + left);
        rows.insert(2, ("...".to_owned(), format!("{left} more layers: add `--full`")));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.into_iter().map(|(name, words)| format!("{name:width$}  {words}")).collect()
}

fn layer_words(layer: &Layer, diagnosis: &Diagnosis) -> String {
    let title = match layer.kind {
        LayerKind::Filesystem | LayerKind::Overlay | LayerKind::Drive => layer.title.clone(),
        kind if layer.title.is_empty() => kind.label().to_owned(),
        kind => format!("{} `{}`", kind.label(), layer.title),
    };
    let does = match &layer.handling {
        Handling::Sends { by } => {
            let is_timed = by.iter().any(|it| it.contains("fstrim.timer"));
            let last = diagnosis.timer_last_s.filter(|_| is_timed).map(ago);
            let bytes = diagnosis.timer_trimmed_bytes.filter(|_| is_timed);
            let trimmed = bytes.map(|bytes| format!(" ({} trimmed)", size(bytes)));
            let last = last.map(|last| format!("{last}{}", trimmed.unwrap_or_default()));
            format!("TRIM is sent by {}{}", by.join(" and "), last.unwrap_or_default())
        }
        Handling::Passes => "passes TRIM".to_owned(),
        Handling::Frees { .. } => "punches holes into its file".to_owned(),
        Handling::Drops { cause: "nobody-sends", .. } => "nothing sends TRIM".to_owned(),
        Handling::Drops { .. } if layer.kind == LayerKind::Drive => "accepts no TRIM".to_owned(),
        Handling::Drops { .. } => "drops TRIM".to_owned(),
        Handling::Accepts | Handling::Hides { .. } => "accepts TRIM".to_owned(),
        Handling::Unknown { .. } => "unknown".to_owned(),
        Handling::HasNoDrive if layer.nothing_to_trim.is_some() => "never frees blocks".to_owned(),
        Handling::HasNoDrive => "has no drive".to_owned(),
    };
    let limits = layer.limits.as_ref().filter(|it| it.accepts() == Some(true));
    let limits = limits.map(|limits| {
        let most = limits.max_bytes.unwrap_or(0);
        let unit = limits.granularity_bytes.unwrap_or(0);
        format!(", up to {} at once in units of {}", size(most), size(unit))
    });
    let hides = match &layer.handling {
        Handling::Hides { .. } => "; what is behind it cannot be seen",
        _ => "",
    };
    format!("{title}: {does}{}{hides}", limits.unwrap_or_default())
}

/// How long ago the timer ran.
fn ago(last_s: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "whole days are shown")]
    let days = (wall_time_unix().seconds() - last_s as f64) / DAY_S;
    match days {
        ..1.0 => ", last within a day".to_owned(),
        ..2.0 => ", last 1 day ago".to_owned(),
        days => format!(", last {days:.0} days ago"),
    }
}

/// What a live test has shown.
fn probe_lines(report: &ProbeReport) -> Vec<String> {
    let arrived =
        report.layers.iter().map(|it| format!("{} at {}", size(it.discarded_bytes), it.name));
    let arrived = joined(&arrived.collect::<Vec<_>>());
    let mut all = vec![format!(
        "tested: a file of {} was deleted and trimmed; discarded meanwhile: {arrived}",
        size(report.mapped_bytes)
    )];
    all.extend(
        report.refused.as_ref().map(|errno| format!("the filesystem refused to trim: {errno}")),
    );
    all.push(match report.read_back {
        Some(seen) => format!(
            "read afterwards: {} zeros, {} as written, {} something else",
            size(seen.zero_bytes),
            size(seen.kept_bytes),
            size(seen.other_bytes)
        ),
        None => format!(
            "what its blocks read as is unknown: {}",
            report.not_read.unwrap_or("they could not be read")
        ),
    });
    all
}

/// What was discarded at the top and at the bottom.
fn counter_line(since: &SinceStart) -> Option<String> {
    let sum = |all: &[(String, crate::DiscardCount)]| {
        let bytes = all.iter().map(|(_, count)| count.bytes).sum();
        let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
        format!("{} at {}", size(bytes), joined(&names))
    };
    if since.top.is_empty() {
        return None;
    }
    let names = |all: &[(String, crate::DiscardCount)]| {
        all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let bottom = (names(&since.top) != names(&since.bottom) && !since.bottom.is_empty())
        .then(|| format!(", {}", sum(&since.bottom)));
    let shared =
        (bottom.is_some() && since.ratio.is_none() && since.top.iter().any(|it| it.1.bytes > 0))
            .then_some(" (which serves others as well)");
    Some(format!(
        "discarded since the devices appeared: {}{}{}",
        sum(&since.top),
        bottom.unwrap_or_default(),
        shared.unwrap_or_default()
    ))
}

/// What to type, with the effect of each line.
fn mend_lines(reach: &Reach, is_full: bool) -> Vec<String> {
    let stops = match reach {
        Reach::DoesNot { stops, .. } => stops.as_slice(),
        // Of the other side, which may be of another kind.
        Reach::CannotTell { unknown } if is_full => unknown.as_slice(),
        Reach::CannotTell { .. } | Reach::Reaches { .. } | Reach::HasNoDrive => &[],
    };
    let mut all = Vec::new();
    for line in stops.iter().flat_map(|stop| &stop.lines) {
        all.push(typed(line.file, &line.text));
        if is_full {
            all.extend(line.note.map(|note| format!("    {note}")));
            all.extend(line.check.as_ref().map(|it| format!("    shows its effect: `{it}`")));
        }
    }
    all.dedup();
    all
}

fn typed(file: Option<&str>, text: &str) -> String {
    match file {
        Some(file) => format!("  in {file}: {text}"),
        None => format!("  # {text}"),
    }
}

fn weight(trap: &crate::Trap) -> &'static str {
    match trap.weight {
        crate::TrapWeight::Note => "note",
        crate::TrapWeight::Loss => "loss",
        crate::TrapWeight::Danger => "danger",
    }
}

fn joined(names: &[String]) -> String {
    names.join(", ")
}
