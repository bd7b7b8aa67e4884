//! Records as Markdown, for an issue or a message: the verdicts, the headlines, and every figure
//! where it folds away.
//!
//! GitHub takes 65,536 characters. Where a report is longer, the figures that are no headlines are
//! left out, and the report says so.

use std::fmt::Write as _;

use trimbench_core::Caveat;
use trimbench_core::text::visible;
use trimbench_results::number::count;
use trimbench_results::{AdviceCard, Figure, RunRecord, Session};

use crate::csv::caveat_ids;
use crate::words::outcome_words;

#[cfg(test)]
mod tests;

/// What every report in Markdown begins with.
pub const MARKDOWN_MARK: &str = "<!-- trimbench -->\n";
/// Characters that GitHub takes in an issue or a comment.
const LONGEST: usize = 65_536;

/// The report of these records, each with its name.
pub fn markdown(records: &[(&str, &RunRecord)]) -> String {
    let whole = report(records, true);
    if whole.chars().count() <= LONGEST { whole } else { report(records, false) }
}

fn report(records: &[(&str, &RunRecord)], all: bool) -> String {
    let mut text = MARKDOWN_MARK.to_owned();
    for (name, record) in records {
        let _ = writeln!(text, "# {}\n", escaped(name));
        about(&mut text, record);
        text.push_str("## Verdicts\n\n");
        for of_drive in &record.advice {
            card(&mut text, of_drive);
        }
        text.push_str("## Headlines\n\n");
        headlines(&mut text, record);
        if all {
            for session in &record.sessions {
                figures(&mut text, session);
            }
        } else {
            text.push_str(
                "The other figures are left out: with them this would be longer than the 65,536 \
                 characters that GitHub takes. `trimbench report RUN --csv DIR` has them.\n\n",
            );
        }
        caveats(&mut text, record);
    }
    text
}

fn about(text: &mut String, record: &RunRecord) {
    let program = &record.program;
    let _ = writeln!(
        text,
        "{}. Seed {}, {} {}, commit {}, model version {}.\n",
        escaped(&outcome_words(&record.outcome)),
        record.seed,
        escaped(&program.name),
        escaped(&program.version),
        escaped(&program.commit),
        program.model_version
    );
    if !record.is_valid() {
        text.push_str("**INVALID: do not use the figures with caveats marked INVALID below.**\n\n");
    }
}

/// What to do with one drive.
fn card(text: &mut String, card: &AdviceCard) {
    let _ = writeln!(text, "### {}: {}\n", escaped(&card.target), escaped(&card.title));
    let reasons: Vec<&str> = card.because.iter().map(|reason| reason.text.as_str()).collect();
    list(text, "", &reasons);
    if !card.lines.is_empty() {
        text.push_str("```sh\n");
        for line in &card.lines {
            let place = line.file.as_deref().unwrap_or("as root");
            let untested = if line.tested { "" } else { ", not tested by trimbench" };
            let _ = writeln!(text, "# {}, {place}{untested}", line.system);
            let _ = writeln!(text, "{}", line.text);
        }
        text.push_str("```\n\n");
    }
    let texts = |all: &[String]| all.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    for (title, of) in [
        ("What would change this:", &card.would_change),
        ("Found, and not to be had:", &card.remarks),
        ("Methods that measured one cost:", &card.agreement),
        ("For programs that pace their deletions:", &card.paced),
        ("Not measured:", &card.not_measured),
    ] {
        list(text, title, &texts(of).lines().collect::<Vec<_>>());
    }
}

fn list(text: &mut String, title: &str, items: &[&str]) {
    if items.is_empty() {
        return;
    }
    if !title.is_empty() {
        let _ = writeln!(text, "{title}\n");
    }
    for item in items {
        let _ = writeln!(text, "- {}", escaped(item));
    }
    text.push('\n');
}

fn headlines(text: &mut String, record: &RunRecord) {
    text.push_str("| method | target | figure | value | n | verdict | caveats |\n");
    text.push_str("|---|---|---|---:|---:|---|---|\n");
    for session in &record.sessions {
        let (method, target) = (&session.plan.method, escaped(&session.target.name));
        match (session.headline(), &session.left_out) {
            (Some(figure), _) => {
                let _ = writeln!(text, "| {method} | {target} | {} |", cells(session, figure));
            }
            (None, Some(reason)) => {
                let reason = escaped(reason);
                let _ = writeln!(text, "| {method} | {target} | left out: {reason} | | | | |");
            }
            (None, None) => {
                let _ = writeln!(text, "| {method} | {target} | no headline | | | | |");
            }
        }
    }
    text.push('\n');
}

/// Every figure of a session, and what was set.
fn figures(text: &mut String, session: &Session) {
    if session.figures.is_empty() {
        return;
    }
    let Session { plan, target, state, .. } = session;
    let _ = writeln!(
        text,
        "<details><summary>{} on {}: {} figures</summary>\n",
        plan.method,
        escaped(&target.name),
        session.figures.len()
    );
    let options = plan.options.iter().map(|(key, value)| format!("{key}={value}"));
    let options = options.collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        text,
        "`{}`, preset {}: {}.",
        visible(&plan.target),
        plan.preset,
        escaped(&options)
    );
    let _ = writeln!(text, "Before: {}. Time: {}.\n", escaped(state), target.clock);
    text.push_str("| figure | value | n | verdict | caveats |\n|---|---:|---:|---|---|\n");
    for figure in &session.figures {
        let _ = writeln!(text, "| {} |", cells(session, figure));
    }
    text.push_str("\n</details>\n\n");
}

/// Title, value with interval, observations, verdict and caveats.
fn cells(session: &Session, figure: &Figure) -> String {
    [
        escaped(&figure.title),
        figure.shown().text(),
        count(figure.n),
        escaped(&figure.words().unwrap_or_default()),
        escaped(&caveat_ids(session, &figure.caveats).join(", ")),
    ]
    .join(" | ")
}

fn caveats(text: &mut String, record: &RunRecord) {
    let of_session = |session: &Session| {
        let steps = session.steps.iter().flat_map(|step| step.caveats.clone());
        let figures = session.figures.iter().flat_map(|figure| figure.caveats.clone());
        session.caveats.iter().cloned().chain(steps).chain(figures).collect::<Vec<String>>()
    };
    let mut ids: Vec<String> = record.sessions.iter().flat_map(of_session).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return;
    }
    text.push_str("## Caveats\n\n");
    for id in ids {
        let (invalid, meaning) = match Caveat::from_id(&id) {
            Some(caveat) => (
                if caveat.invalidates() { " (INVALID)" } else { "" },
                format!("{}. What to do: {}", caveat.meaning(), caveat.advice()),
            ),
            None => ("", "not known to this version".to_owned()),
        };
        let _ = writeln!(text, "- **{}**{invalid}: {}.", escaped(&id), escaped(&meaning));
    }
    text.push('\n');
}

/// Text that begins no table cell, tag or line.
fn escaped(text: &str) -> String {
    let text = visible(text);
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins_tag =
            |next: &char| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?');
        if letter == '|' || letter == '<' && letters.peek().is_some_and(begins_tag) {
            safe.push('\\');
        }
        safe.push(letter);
    }
    safe
}
