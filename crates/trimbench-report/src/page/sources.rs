//! The sources of the report: records, hosts, targets, and flaws of the records.

use std::collections::BTreeMap;

use maud::{Markup, html};
use trimbench_results::{LabelledSession, Outcome, Session};

use super::{DATA_POINTS_MAX, figures};
use crate::drive_counts;
use crate::source::PageSource;
use crate::words::outcome_words;

/// What can be had of a record, and the buttons' names.
const DOWNLOADS: [(&str, &str); 3] =
    [("json", "JSON"), ("csv", "CSV of all figures"), ("series", "CSV of all series")];

/// How many records, and what they are of, in a line each.
pub(super) fn summary(sources: &[PageSource]) -> Markup {
    html! {
        @for (index, source) in sources.iter().enumerate() {
            @if index > 0 { br; }
            strong { (source.name) } ": "
            @match &source.record {
                Some(record) => {
                    (outcome_words(&record.outcome)) ", " (record.sessions.len()) " of "
                    (record.plan.len().max(record.sessions.len())) " sessions; seed " (record.seed)
                    ", " (record.program.name) " " (record.program.version) ", commit "
                    (record.program.commit) ", model version " (record.program.model_version)
                    @if let Some(host) = host(source) { "; " (host) }
                }
                None => { "not readable, see below" }
            }
        }
    }
}

/// Processor and kernel, where known.
fn host(source: &PageSource) -> Option<String> {
    let part = |key: &str| source.host.get(key).cloned();
    let parts: Vec<String> = [part("kernel"), part("cpu-model")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What is wrong with the records, and what was left out of them, before anything else.
pub(super) fn messages(sources: &[PageSource]) -> Markup {
    let invalid =
        |source: &&PageSource| source.record.as_ref().is_some_and(|record| !record.is_valid());
    let ended = |source: &&PageSource| {
        source.record.as_ref().is_some_and(|record| record.outcome != Outcome::Complete)
    };
    let any = sources
        .iter()
        .any(|source| !source.messages.is_empty() || invalid(&source) || ended(&source));
    html! {
        @if any {
            section id="messages" role="alert" {
                h2 { "Before you read on" }
                ul {
                    @for source in sources {
                        @for message in &source.messages {
                            li { strong { (source.name) } ": " (message) }
                        }
                        @if ended(&source) && let Some(record) = &source.record {
                            li { strong { (source.name) } ": " (outcome_words(&record.outcome)) }
                        }
                        @if invalid(&source) {
                            li {
                                strong { (source.name) }
                                ": has figures that are invalid; their caveats are marked"
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every target with its identity and capabilities, every method with its options and the states it
/// found, every record with its host; and what was left out. What is alike is said once.
pub(super) fn targets(sessions: &[LabelledSession<'_>], sources: &[PageSource]) -> Markup {
    let alike = |session: &LabelledSession<'_>| {
        let target = &session.target;
        (target.name.clone(), target.identity.clone(), target.capabilities.clone())
    };
    let of_method = |session: &LabelledSession<'_>| {
        let plan = &session.plan;
        (plan.method.clone(), plan.options.clone(), session.method_version)
    };
    html! {
        section id="targets" {
            h2 { "Targets, states and settings" }
            @for group in grouped(sessions, alike) { (target(&group)) }
            @for (index, group) in grouped(sessions, of_method).iter().enumerate() {
                (method(group, &format!("table-states-{index}")))
            }
            @for source in sources.iter().filter(|source| !source.host.is_empty()) {
                details {
                    summary { "Host of " (source.name) }
                    (pairs("Host", &source.host))
                }
            }
            (left_out(sources))
        }
    }
}

/// The sessions that have this in common, in the order of the first of each.
fn grouped<'a, 'b, K: Ord>(
    sessions: &'a [LabelledSession<'b>],
    common: impl Fn(&LabelledSession<'b>) -> K,
) -> Vec<Vec<&'a LabelledSession<'b>>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Vec<&LabelledSession<'_>>> = Vec::new();
    for session in sessions {
        let place = *places.entry(common(session)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(session);
    }
    groups
}

/// A target that all of these sessions measured.
fn target(sessions: &[&LabelledSession<'_>]) -> Markup {
    let target = &sessions[0].session.target;
    let mut labels: Vec<&str> = sessions.iter().map(|session| session.label.as_str()).collect();
    labels.dedup();
    html! {
        details {
            summary { "Target " (labels.join(", ")) }
            @if let Some(values) = target.provenance {
                p {
                    "The model: " (values.sourced) " values sourced, " (values.fitted)
                    " fitted, " (values.assumed) " assumed" (values.set_by_the_user()) "."
                }
            }
            (pairs("Identity", &target.identity))
            (pairs("Capabilities", &target.capabilities))
        }
    }
}

/// A method that measured all of these sessions with the same options; the table's id.
fn method(sessions: &[&LabelledSession<'_>], id: &str) -> Markup {
    let first = sessions[0].session;
    let heads = ["target", "preset", "time", "trace hash", "state of the target before"];
    html! {
        details {
            summary {
                "Options of " (first.plan.method) ", version " (first.method_version)
                ", and the states it found"
            }
            (pairs("Options", &first.plan.options))
            (figures::scroll("Sessions", &html! {
                table.data id=(id) {
                    (figures::heads(&heads))
                    tbody {
                        @for session in sessions {
                            tr {
                                td { (session.label) }
                                td { (session.plan.preset) }
                                td { (session.target.clock) }
                                td { (session.trace_hash.as_deref().unwrap_or("–")) }
                                td { (session.state) }
                            }
                        }
                    }
                }
            }))
            @for session in sessions {
                (machine(("before", &session.label), &session.environment_before))
                (machine(("after", &session.label), &session.environment_after))
                (drives(session))
            }
        }
    }
}

/// Sessions that were planned and not run, with the reasons.
fn left_out(sources: &[PageSource]) -> Markup {
    let left_out: Vec<(&str, &Session, &str)> = sources
        .iter()
        .flat_map(|source| {
            let sessions = source.record.iter().flat_map(|record| &record.sessions);
            sessions.filter_map(|session| {
                Some((source.name.as_str(), session, session.left_out.as_deref()?))
            })
        })
        .collect();
    html! {
        @if !left_out.is_empty() {
            details {
                summary { "Left out: " (left_out.len()) }
                ul {
                    @for (source, session, reason) in left_out {
                        li {
                            (session.plan.method) " on " (session.plan.target)
                            @if sources.len() > 1 { " (" (source) ")" }
                            ": " (reason)
                        }
                    }
                }
            }
        }
    }
}

/// The machine's settings; what its drives counted has a table of its own.
fn machine((when, label): (&str, &str), environment: &BTreeMap<String, String>) -> Markup {
    let mut settings = environment.clone();
    settings.retain(|key, _| !drive_counts::is_log(key));
    pairs(&format!("Machine {when}: {label}"), &settings)
}

/// What the drives counted during a session.
fn drives(session: &LabelledSession<'_>) -> Markup {
    let changed = drive_counts::changed(session);
    let title = format!("Log pages of the drives, where they changed: {}", session.label);
    html! {
        @if !changed.is_empty() {
            @for said in drive_counts::words(session) { p { (said) "." } }
            (figures::scroll(&title, &html! {
                table.data {
                    caption { (title) }
                    (figures::heads(&["value", "before", "after"]))
                    tbody {
                        @for drive_counts::DriveCount { key, before, after } in changed {
                            tr { td { (key) } td { (before) } td { (after) } }
                        }
                    }
                }
            }))
        }
    }
}

fn pairs(title: &str, pairs: &BTreeMap<String, String>) -> Markup {
    html! {
        @if !pairs.is_empty() {
            (figures::scroll(title, &html! {
                table.pairs {
                    caption { (title) }
                    tbody {
                        @for (key, value) in pairs {
                            tr { th scope="row" { (key) } td { (value) } }
                        }
                    }
                }
            }))
        }
    }
}

/// The records as files.
pub(super) fn downloads(sources: &[PageSource]) -> Markup {
    html! {
        section id="data" {
            h2 { "Data" }
            p {
                "The records that this page was made of. Series of more than " (DATA_POINTS_MAX)
                " points are thinned here to the first, lowest, highest and last point of each \
                column; the records themselves have all."
            }
            ul {
                @for (index, source) in sources.iter().enumerate() {
                    @if source.record.is_some() {
                        li {
                            (source.name) ": "
                            @for (kind, what) in DOWNLOADS {
                                button type="button" data-download=(kind) data-record=(index) {
                                    (what)
                                }
                                " "
                            }
                        }
                    }
                }
            }
        }
    }
}
