//! The first screen: what to do with each target, why, and what would change that.

use maud::{Markup, html};
use serde::Serialize;
use trimbench_results::advice::{Agreement, LineToType, PacedSetting, StatedFact, placeholders};
use trimbench_results::{Action, Advice, LabelledSession, Reason};

use super::code;
use crate::source::PageSource;
use trimbench_results::drives::{MeasuredDrive, drives};

/// The answer for one drive of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictSection {
    /// The drive's name; where several records have one of this name, with the record's.
    pub target: String,
    /// Index of the record.
    pub record: usize,
    /// The answer.
    pub advice: Advice,
    /// The methods behind each reason, with the figures' titles.
    pub sources: Vec<Vec<String>>,
}

/// An answer for each drive of each record, in the order in which they come first.
pub(super) fn verdicts(
    sessions: &[LabelledSession<'_>],
    sources: &[PageSource],
) -> Vec<VerdictSection> {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let sessions = sessions.iter().map(|session| (session.source, session.session));
    let verdict = |drive: MeasuredDrive<'_>| {
        let advice = drive.advice();
        let title = |(session, id): &(usize, String)| {
            let session = drive.sessions.get(*session)?;
            Some(format!("{}: {}", session.plan.method, session.figure(id)?.title))
        };
        let behind =
            advice.because.iter().map(|reason| reason.figures.iter().filter_map(title).collect());
        let sources = behind.collect();
        VerdictSection { target: drive.name, record: drive.record, sources, advice }
    };
    drives(sessions, &names).into_iter().map(verdict).collect()
}

/// How an answer looks; words always say the same.
fn tone(action: &Action) -> &'static str {
    match action {
        Action::MountWithDiscard | Action::EitherWillDo => "good",
        Action::WeeklyFstrim | Action::SmallerDiscardMax { .. } => "warn",
        Action::TrimDoesNotReach | Action::DoNotTrim => "bad",
        _ => "none",
    }
}

/// A card for each target.
pub(super) fn section(verdicts: &[VerdictSection]) -> Markup {
    html! {
        section id="verdict" {
            h2 { "Verdict" }
            @if verdicts.is_empty() { p { "Nothing was measured." } }
            div.cards {
                @for verdict in verdicts { (card(verdict)) }
            }
        }
    }
}

/// Reasons that are seen at once; the rest is a click away.
const REASONS_SHOWN: usize = 3;

fn card(verdict: &VerdictSection) -> Markup {
    let advice = &verdict.advice;
    let reasons: Vec<_> = advice.because.iter().zip(&verdict.sources).collect();
    let (first, more) = reasons.split_at(reasons.len().min(REASONS_SHOWN));
    let reason = |reason: &Reason, figures: &[String]| {
        html! { li { (code(&reason.text)) (behind(figures)) } }
    };
    html! {
        article data-target=(verdict.target) data-action=(advice.action.id())
            data-tone=(tone(&advice.action)) {
            h3 { (verdict.target) }
            p.action { (code(&advice.action.title())) }
            (facts(&advice.facts))
            ul { @for (one, figures) in first { (reason(one, figures)) } }
            @if !more.is_empty() {
                details {
                    summary { (more.len()) " more reasons" }
                    ul { @for (one, figures) in more { (reason(one, figures)) } }
                }
            }
            (lines(advice))
            (list("What would change this", &advice.would_change))
            (list("Also found", &advice.remarks))
            (agreement(&advice.agreement))
            (paced(&advice.paced))
            (list("Not measured", &advice.open_questions()))
        }
    }
}

/// The facts that the answer follows from.
fn facts(facts: &[StatedFact]) -> Markup {
    html! {
        @if !facts.is_empty() {
            table.facts {
                @for fact in facts {
                    tr { th { (fact.question) } td { (fact.known.word()) } td { (fact.by) } }
                }
            }
        }
    }
}

/// What to type: for each filesystem its commands and lines of files, each with its check.
fn lines(advice: &Advice) -> Markup {
    let lines = &advice.lines;
    let mut systems: Vec<&str> = Vec::new();
    for line in lines {
        if !systems.contains(&line.system) {
            systems.push(line.system);
        }
    }
    let names = placeholders(lines);
    html! {
        @if let Some(already) = &advice.already { p { (code(already)) } }
        @if !lines.is_empty() {
            details.lines open {
                summary { "What to type" }
                @if let Some(label) = advice.template { p { (label) } }
                @if !names.is_empty() { p { "Yours to replace: " (names.join(", ")) "." } }
                @for system in systems {
                    @if system != "all" { h4 { (system) } }
                    @for line in lines.iter().filter(|line| line.system == system) {
                        @match line.file {
                            Some(file) => p { "in " code { (file) } (untested(line)) ":" },
                            None => p { "as root" (untested(line)) ":" },
                        }
                        // It scrolls, so the keyboard must reach it.
                        pre tabindex="0" { (line.text) }
                        @if let Some(note) = line.note { p { small { (code(note)) } } }
                        @if let Some(check) = &line.check {
                            p { small { "shows its effect: " code { (check) } } }
                        }
                    }
                }
            }
        }
    }
}

fn untested(line: &LineToType) -> &'static str {
    if line.tested { "" } else { " (not tested by trimbench)" }
}

/// Whether methods that measured one cost agree.
fn agreement(all: &[Agreement]) -> Markup {
    let items: Vec<String> = all.iter().map(|it| it.text.clone()).collect();
    let title = if all.iter().all(|it| it.agrees) {
        "Methods agree"
    } else {
        "Methods that measured one cost differ"
    };
    list(title, &items)
}

/// A rate of deletion as settings of programs.
fn paced(settings: &[PacedSetting]) -> Markup {
    html! {
        @if !settings.is_empty() {
            details {
                summary { "For programs that pace their deletions" }
                table {
                    @for setting in settings {
                        tr {
                            th { (setting.program) }
                            td { code { (setting.text) } br; small { (setting.note) } }
                        }
                    }
                }
            }
        }
    }
}

/// Links to the methods whose figures these are; the figures' titles are at hand.
fn behind(figures: &[String]) -> Markup {
    let method = |figure: &String| figure.split(':').next().unwrap_or_default().to_owned();
    let mut methods: Vec<String> = figures.iter().map(method).collect();
    methods.dedup();
    html! {
        @for method in methods {
            " " small { a href={ "#method-" (method) } title=(figures.join("; ")) { (method) } }
        }
    }
}

fn list(title: &str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            details {
                summary { (title) }
                ul { @for item in items { li { (code(item)) } } }
            }
        }
    }
}
