//! The first screen: what to do with each target, why, and what would change that.

use maud::{Markup, html};
use serde::Serialize;
use trimbench_results::{Action, Advice, LabelledSession, Reason, Session, advise};

use super::code;
use crate::source::PageSource;

/// The answer for one target of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictSection {
    /// The target's name; where several records have one of this name, with the record's.
    pub target: String,
    /// Index of the record.
    pub record: usize,
    /// The answer.
    pub advice: Advice,
    /// The methods behind each reason, with the figures' titles.
    pub sources: Vec<Vec<String>>,
}

/// An answer for each target of each record, in the order in which they come first.
pub(super) fn verdicts(
    sessions: &[LabelledSession<'_>],
    sources: &[PageSource],
) -> Vec<VerdictSection> {
    let mut targets: Vec<(usize, &str, Vec<&Session>)> = Vec::new();
    for session in sessions {
        let name = session.target.name.as_str();
        match targets
            .iter_mut()
            .find(|(source, other, _)| (*source, *other) == (session.source, name))
        {
            Some((.., sessions)) => sessions.push(session.session),
            None => targets.push((session.source, name, vec![session.session])),
        }
    }
    let shared = |name: &str| targets.iter().filter(|(_, other, _)| *other == name).count() > 1;
    let verdict = |(record, name, sessions): &(usize, &str, Vec<&Session>)| {
        let advice = advise(sessions);
        let title = |(session, id): &(usize, String)| {
            let session = sessions.get(*session)?;
            Some(format!("{}: {}", session.plan.method, session.figure(id)?.title))
        };
        let behind =
            advice.because.iter().map(|reason| reason.figures.iter().filter_map(title).collect());
        VerdictSection {
            target: if shared(name) {
                format!("{name}, {}", sources[*record].name)
            } else {
                (*name).to_owned()
            },
            record: *record,
            sources: behind.collect(),
            advice,
        }
    };
    targets.iter().map(verdict).collect()
}

/// How an answer looks; words always say the same.
fn tone(action: &Action) -> &'static str {
    match action {
        Action::MountWithDiscard => "good",
        Action::WeeklyFstrim | Action::PacedTrim { .. } | Action::SmallerDiscardMax { .. } => {
            "warn"
        }
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
            (list("What would change this", &advice.would_change))
            (list("Not measured", &advice.not_measured))
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
