//! Records as Markdown, for an issue or a message: the verdicts, the headlines, and every figure
//! where it folds away.
//!
//! GitHub takes 65,536 characters. Where a report is longer, the figures that are no headlines are
//! left out, and the report says so.
//!
//! The verdicts are those of this version's rules, whatever a record says of them.

use trimbench_core::Caveat;
use trimbench_results::advice::StatedFact;
use trimbench_results::drives::{MeasuredDrive, drives};
use trimbench_results::number::count;
use trimbench_results::{Figure, RunRecord, Session};

use self::document::Document;
use crate::csv::caveat_ids;
use crate::words::outcome_words;

mod document;
#[cfg(test)]
mod tests;

/// What every report in Markdown begins with.
pub const MARKDOWN_MARK: &str = "<!-- trimbench -->\n";
/// What it ends with.
pub const MARKDOWN_END: &str = "<!-- end of trimbench's report -->\n";
/// Characters that GitHub takes in an issue or a comment.
const LONGEST: usize = 65_536;

/// The report of these records, each with its name.
pub fn markdown(records: &[(&str, &RunRecord)]) -> String {
    let whole = report(records, true);
    if whole.chars().count() <= LONGEST { whole } else { report(records, false) }
}

fn report(records: &[(&str, &RunRecord)], all: bool) -> String {
    let mut text = Document::new(MARKDOWN_MARK);
    for (name, record) in records {
        text.ours("# ").text(name).ours("\n\n");
        about(&mut text, record);
        text.ours("## Verdicts\n\n");
        for drive in drives(record.sessions.iter().map(|session| (0, session)), &[]) {
            card(&mut text, &drive);
        }
        text.ours("## Headlines\n\n");
        headlines(&mut text, record);
        if all {
            for session in &record.sessions {
                figures(&mut text, session);
            }
        } else {
            text.ours(
                "The other figures are left out: with them this would be longer than the 65,536 \
                 characters that GitHub takes. `trimbench report RUN --csv DIR` has them.\n\n",
            );
        }
        caveats(&mut text, record);
    }
    text.ours(MARKDOWN_END);
    text.into_text()
}

fn about(text: &mut Document, record: &RunRecord) {
    let program = &record.program;
    text.text(&outcome_words(&record.outcome)).ours(". Seed ").number(record.seed).ours(", ");
    text.text(&program.name).ours(" ").text(&program.version);
    text.ours(", commit ").text(&program.commit);
    text.ours(", model version ").number(program.model_version.into()).ours(".\n\n");
    if !record.is_valid() {
        text.ours("**INVALID: do not use the figures with caveats marked INVALID below.**\n\n");
    }
}

/// What to do with one drive.
fn card(text: &mut Document, drive: &MeasuredDrive<'_>) {
    let advice = drive.advice();
    text.ours("### ").text(&drive.name).ours(": ").text(&advice.action.title()).ours("\n\n");
    let facts: Vec<String> = advice.facts.iter().map(StatedFact::text).collect();
    list(text, "", facts.iter().map(String::as_str));
    list(text, "Because:", advice.because.iter().map(|reason| reason.text.as_str()));
    if let Some(already) = &advice.already {
        text.text(already).ours(".\n\n");
    }
    if let Some(label) = advice.template {
        text.ours(label).ours(":\n\n");
    }
    text.commands(&advice.action, &advice.place);
    let texts = |all: &'static str, items: &[String]| (all, items.to_vec());
    let paced = advice.paced.iter();
    let paced = paced.map(|it| format!("{}: `{}` ({})", it.program, it.text, it.note));
    let agreement = advice.agreement.iter().map(|it| it.text.clone());
    for (title, items) in [
        texts("What would change this:", &advice.would_change),
        texts("Also found:", &advice.remarks),
        ("Methods that measured one cost:", agreement.collect()),
        ("For programs that pace their deletions:", paced.collect()),
        texts("Not measured:", &advice.not_measured),
    ] {
        list(text, title, items.iter().map(String::as_str));
    }
}

fn list<'a>(
    text: &mut Document,
    title: &'static str,
    items: impl ExactSizeIterator<Item = &'a str>,
) {
    if items.len() == 0 {
        return;
    }
    if !title.is_empty() {
        text.ours(title).ours("\n\n");
    }
    for item in items {
        text.ours("- ").text(item).ours("\n");
    }
    text.ours("\n");
}

fn headlines(text: &mut Document, record: &RunRecord) {
    text.ours("| method | target | figure | value | n | verdict | caveats |\n");
    text.ours("|---|---|---|---:|---:|---|---|\n");
    for session in &record.sessions {
        text.ours("| ").text(&session.plan.method).ours(" | ").text(&session.target.name);
        match (session.headline(), &session.left_out) {
            (Some(figure), _) => {
                text.ours(" | ");
                cells(text, session, figure);
            }
            (None, Some(reason)) => {
                text.ours(" | left out: ").text(reason).ours(" | | | | |\n");
            }
            (None, None) => {
                text.ours(" | no headline | | | | |\n");
            }
        }
    }
    text.ours("\n");
}

/// Every figure of a session, and what was set.
fn figures(text: &mut Document, session: &Session) {
    if session.figures.is_empty() {
        return;
    }
    let Session { plan, target, state, .. } = session;
    text.ours("<details><summary>").html_code(&plan.method).ours(" on ").html_code(&target.name);
    text.ours(": ").number(session.figures.len() as u64).ours(" figures</summary>\n\n");
    let options = plan.options.iter().map(|(key, value)| format!("{key}={value}"));
    let options = options.collect::<Vec<_>>().join(" ");
    text.code(&plan.target).ours(", preset ").text(&plan.preset).ours(": ").text(&options);
    text.ours(".\nBefore: ").text(state).ours(". Time: ").text(&target.clock).ours(".\n\n");
    text.ours("| figure | value | n | verdict | caveats |\n|---|---:|---:|---|---|\n");
    for figure in &session.figures {
        text.ours("| ");
        cells(text, session, figure);
    }
    text.ours("\n</details>\n\n");
}

/// Title, value with interval, observations, verdict and caveats, up to the end of the row.
fn cells(text: &mut Document, session: &Session, figure: &Figure) {
    let parts = [
        figure.title.clone(),
        figure.shown().text(),
        count(figure.n),
        figure.words().unwrap_or_default(),
        caveat_ids(session, &figure.caveats).join(", "),
    ];
    for (index, part) in parts.iter().enumerate() {
        text.ours(if index > 0 { " | " } else { "" }).text(part);
    }
    text.ours(" |\n");
}

fn caveats(text: &mut Document, record: &RunRecord) {
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
    text.ours("## Caveats\n\n");
    for id in ids {
        text.ours("- ").code(&id);
        match Caveat::from_id(&id) {
            Some(caveat) => {
                text.ours(if caveat.invalidates() { " (INVALID): " } else { ": " });
                text.text(caveat.meaning()).ours(". What to do: ").text(caveat.advice());
            }
            None => {
                text.ours(": not known to this version");
            }
        }
        text.ours(".\n");
    }
    text.ours("\n");
}
