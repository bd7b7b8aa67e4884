//! What the report is of: records, hosts, targets, and what is wrong with them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use trimbench_results::{Outcome, Session};

use super::{DATA_POINTS_MAX, Source, figures};
use crate::entries::Entry;
use crate::words::outcome_words;

/// What can be had of a record, and the buttons' names.
const DOWNLOADS: [(&str, &str); 3] =
    [("json", "JSON"), ("csv", "CSV of all figures"), ("series", "CSV of all series")];

/// How many records, and what they are of, in a line each.
pub(super) fn summary(sources: &[Source]) -> Markup {
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
fn host(source: &Source) -> Option<String> {
    let part = |key: &str| source.host.get(key).cloned();
    let parts: Vec<String> = [part("kernel"), part("cpu-model")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What is wrong with the records, and what was left out of them, before anything else.
pub(super) fn messages(sources: &[Source]) -> Markup {
    let invalid =
        |source: &&Source| source.record.as_ref().is_some_and(|record| !record.is_valid());
    let ended = |source: &&Source| {
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

/// Every target with its identity, capabilities, options and environment; and what was left out.
pub(super) fn targets(entries: &[Entry<'_>], sources: &[Source]) -> Markup {
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
        section id="targets" {
            h2 { "Targets, states and settings" }
            @for entry in entries {
                details {
                    summary { (entry.session.plan.method) " on " (entry.label) }
                    (session(entry.session, &sources[entry.source]))
                }
            }
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
}

fn session(session: &Session, source: &Source) -> Markup {
    let provenance = session.target.provenance.map(|values| {
        format!(
            "{} values sourced, {} fitted, {} assumed",
            values.sourced, values.fitted, values.assumed
        )
    });
    html! {
        p {
            "Before: " (session.state) ". Preset " (session.plan.preset) ", version "
            (session.method_version) " of the method, " (session.target.clock) " time"
            @if let Some(provenance) = provenance { "; the model: " (provenance) }
            @if let Some(hash) = &session.trace_hash { "; trace hash " (hash) }
            "."
        }
        (pairs("Options", &session.plan.options))
        (pairs("Identity", &session.target.identity))
        (pairs("Capabilities", &session.target.capabilities))
        (pairs("Machine before", &session.environment_before))
        (pairs("Machine after", &session.environment_after))
        (pairs("Host of the record", &source.host))
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
pub(super) fn downloads(sources: &[Source]) -> Markup {
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
