//! The first screen: what to do with each target, why, and what would change that.

use maud::{Markup, html};
use serde::Serialize;
use trimbench_results::advice::{Agreement, LineToType, PacedSetting, drive_name, drive_of};
use trimbench_results::{Action, Advice, LabelledSession, Reason, Session, advise};

use super::code;
use crate::source::PageSource;

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
    let mut drives: Vec<(usize, String, Vec<&Session>)> = Vec::new();
    for session in sessions {
        let name = drive_of(session.session);
        let same = |(source, other, _): &&mut (usize, String, Vec<&Session>)| {
            *source == session.source && *other == name
        };
        match drives.iter_mut().find(same) {
            Some((.., sessions)) => sessions.push(session.session),
            None => drives.push((session.source, name, vec![session.session])),
        }
    }
    // What was set, and the record, are said where drives have one name without them.
    let label = |(record, key, sessions): &(usize, String, Vec<&Session>)| {
        let name = sessions.first().map_or(key.as_str(), |session| drive_name(session));
        let same = drives.iter().filter(|(_, other, _)| other == key).count();
        let alike = drives
            .iter()
            .filter(|(.., other)| other.first().is_some_and(|session| drive_name(session) == name));
        let name = if alike.count() > same { key } else { name };
        match same {
            1 => name.to_owned(),
            _ => format!("{name}, {}", sources[*record].name),
        }
    };
    let verdict = |drive: &(usize, String, Vec<&Session>)| {
        let (record, _, sessions) = drive;
        let advice = advise(sessions);
        let title = |(session, id): &(usize, String)| {
            let session = sessions.get(*session)?;
            Some(format!("{}: {}", session.plan.method, session.figure(id)?.title))
        };
        let behind =
            advice.because.iter().map(|reason| reason.figures.iter().filter_map(title).collect());
        VerdictSection { target: label(drive), record: *record, sources: behind.collect(), advice }
    };
    drives.iter().map(verdict).collect()
}

/// How an answer looks; words always say the same.
fn tone(action: &Action) -> &'static str {
    match action {
        Action::MountWithDiscard => "good",
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
            ul { @for (one, figures) in first { (reason(one, figures)) } }
            @if !more.is_empty() {
                details {
                    summary { (more.len()) " more reasons" }
                    ul { @for (one, figures) in more { (reason(one, figures)) } }
                }
            }
            (lines(&advice.lines))
            (list("What would change this", &advice.would_change))
            (list("Found, and not to be had", &advice.remarks))
            (agreement(&advice.agreement))
            (paced(&advice.paced))
            (list("Not measured", &advice.not_measured))
        }
    }
}

/// What to type: for each filesystem its commands and lines of files.
fn lines(lines: &[LineToType]) -> Markup {
    let systems = lines.iter().map(|line| line.system);
    let mut systems: Vec<&str> = systems.collect();
    systems.sort_by_key(|system| lines.iter().position(|line| line.system == *system));
    systems.dedup();
    html! {
        @if !lines.is_empty() {
            details.lines open {
                summary { "What to type" }
                p {
                    "Yours to replace: FILESYSTEM-UUID, /MOUNTPOINT, SERIAL-NUMBER, DISK, POOL, "
                    "NAME."
                }
                @for system in systems {
                    @if system != "all" { h4 { (system) } }
                    @for line in lines.iter().filter(|line| line.system == system) {
                        @match line.file {
                            Some(file) => p { "in " code { (file) } ":" },
                            None => p { "as root" (untested(line)) ":" },
                        }
                        // It scrolls, so the keyboard must reach it.
                        pre tabindex="0" { (line.text) }
                    }
                }
            }
        }
    }
}

fn untested(line: &LineToType) -> &'static str {
    if line.tested { "" } else { " (not tested by trimbench: the program is not here)" }
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
