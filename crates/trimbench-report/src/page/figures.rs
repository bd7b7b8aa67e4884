//! Figures as tables: each with its unit, interval, number of observations, state and caveats.

use maud::{Markup, html};
use trimbench_core::Caveat;
use trimbench_results::chart::{LabelledSession, is_noise};
use trimbench_results::number::{count, significant};
use trimbench_results::{Figure, Interval, NOT_FINISHED};

use super::code;
use crate::csv::caveat_ids;
use crate::source::PageSource;

/// The confidence level of intervals, unless they say another, and the head of their column.
const LEVEL: f64 = 0.95;
const INTERVAL: &str = "95 % interval";

/// A column of a table of figures: its heading, and how its cells are made.
type TableColumn<'a> = (&'static str, &'a dyn Fn(&LabelledSession<'_>, &Figure) -> Markup);

const TITLE: TableColumn<'_> = ("figure", &|_, figure| html! { td { (figure.title) } });
const TARGET: TableColumn<'_> = ("target", &|session, _| html! { td { (session.label) } });
/// Shown as everywhere; sorted and downloaded with all digits, in the unit of the record.
const VALUE: TableColumn<'_> = ("value", &|_, figure| {
    html! { td data-value=(figure.value) { (figure.shown().number) } }
});
const UNIT: TableColumn<'_> = ("unit", &|_, figure| {
    html! { td data-unit=(figure.unit) { (figure.shown().unit) } }
});
const BETWEEN: TableColumn<'_> = (INTERVAL, &|_, figure| interval(figure));
const COUNT: TableColumn<'_> = ("n", &|_, figure| observations(figure));
const VERDICT: TableColumn<'_> =
    ("what to make of it", &|_, figure| html! { td { (verdict(figure)) } });
const CAVEATS: TableColumn<'_> =
    ("caveats", &|session, figure| html! { td { (caveat_links(session, figure)) } });

/// A table to sort and filter: a row for each figure.
fn table(
    id: &str,
    label: &str,
    columns: &[TableColumn<'_>],
    rows: &[(&LabelledSession<'_>, &Figure)],
) -> Markup {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    html! {
        (filter(id, "Show only rows with"))
        (scroll(label, &html! {
            table.data id=(id) {
                (heads(&names))
                tbody {
                    @for (session, figure) in rows {
                        tr { @for (_, cell) in columns { (cell(session, figure)) } }
                    }
                }
            }
        }))
    }
}

/// Every headline.
pub(super) fn headlines(sessions: &[LabelledSession<'_>], sources: &[PageSource]) -> Markup {
    let method: TableColumn<'_> =
        ("method", &|session, _| html! { td { (method_link(&session.plan.method)) } });
    let time: TableColumn<'_> = ("time", &|session, _| html! { td { (session.target.clock) } });
    let record: TableColumn<'_> =
        ("record", &|session, _| html! { td { (sources[session.source].name) } });
    let mut columns =
        vec![method, TARGET, TITLE, VALUE, UNIT, BETWEEN, COUNT, VERDICT, time, record, CAVEATS];
    if sources.len() < 2 {
        columns.retain(|(name, _)| *name != record.0);
    }
    let rows = sessions.iter().filter_map(|session| Some((session, session.headline()?)));
    let rows: Vec<_> = rows.collect();
    html! {
        section id="headlines" {
            h2 { "Headlines" }
            (table("table-headlines", "Headlines", &columns, &rows))
        }
    }
}

/// All figures of one method's sessions, the headlines first.
pub(super) fn all(method: &str, sessions: &[LabelledSession<'_>]) -> Markup {
    let mut rows: Vec<(&LabelledSession<'_>, &Figure)> = Vec::new();
    for session in sessions {
        rows.extend(session.figures.iter().map(|figure| (session, figure)));
    }
    rows.sort_by_key(|(_, figure)| !figure.headline);
    let columns = [TITLE, TARGET, VALUE, UNIT, BETWEEN, COUNT, VERDICT, CAVEATS];
    let (id, label) = (format!("table-{method}"), format!("Figures of {method}"));
    html! {
        details {
            summary { "All " (rows.len()) " figures of " (method) }
            (table(&id, &label, &columns, &rows))
        }
    }
}

/// The headlines of one method in words and numbers, with the state of each target.
pub(super) fn of_method(method: &str, sessions: &[LabelledSession<'_>]) -> Markup {
    html! {
        (scroll(&format!("Headline of {method}"), &html! {
            table.data id={ "table-" (method) "-headline" } {
                (heads(&[
                    "target", "figure", "value", INTERVAL, "n", "what to make of it",
                    "state of the target before", "caveats",
                ]))
                tbody {
                    @for session in sessions {
                        tr {
                            td { (session.label) }
                            @if let Some(figure) = session.headline() {
                                td { (figure.title) }
                                (scaled(figure))
                                (observations(figure))
                                td { (verdict(figure)) }
                                td.state { (session.state) }
                                td { (caveat_links(session, figure)) }
                            } @else {
                                td colspan="5" {
                                    @if session.finished { "no headline could be computed" }
                                    @else {
                                        (NOT_FINISHED) ": its other figures say how far it got"
                                    }
                                }
                                td.state { (session.state) }
                                td {}
                            }
                        }
                    }
                }
            }
        }))
    }
}

/// Meaning and advice of every caveat that the report mentions.
pub(super) fn caveats(sessions: &[LabelledSession<'_>]) -> Markup {
    let mut ids: Vec<&str> = sessions
        .iter()
        .flat_map(|session| {
            let steps = session.steps.iter().flat_map(|step| &step.caveats);
            let figures = session.figures.iter().flat_map(|figure| &figure.caveats);
            session.caveats.iter().chain(steps).chain(figures)
        })
        .map(String::as_str)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    html! {
        section id="caveats" {
            h2 { "Caveats" }
            @if ids.is_empty() { p { "None." } }
            dl {
                @for id in ids {
                    dt id={ "caveat-" (id) } { (id) }
                    dd {
                        @match Caveat::from_id(id) {
                            Some(caveat) => {
                                @if caveat.invalidates() {
                                    strong { "Invalid: do not use the figures that have it. " }
                                }
                                (code(caveat.meaning())) ". What to do: "
                                (code(caveat.advice())) "."
                            }
                            None => {
                                "This version does not know it; that which wrote the record does."
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A table that may be wider than the page, which must not be.
pub(super) fn scroll(label: &str, table: &Markup) -> Markup {
    html! { div.scroll role="region" tabindex="0" aria-label=(label) { (table) } }
}

/// The heads of columns that sort.
pub(super) fn heads(names: &[&str]) -> Markup {
    html! {
        thead { tr {
            @for name in names { th scope="col" { button type="button" { (name) } } }
        } }
    }
}

/// A link to the section of a method.
pub(super) fn method_link(method: &str) -> Markup {
    html! { a href={ "#method-" (method) } { (method) } }
}

fn invalidates(id: &str) -> bool {
    Caveat::from_id(id).is_some_and(Caveat::invalidates)
}

/// What shows only some rows of a table, and gives them as a file.
pub(super) fn filter(table: &str, label: &str) -> Markup {
    let id = format!("filter-{table}");
    html! {
        div.filter {
            label for=(id) { (label) } " "
            input type="search" id=(id) data-table=(table);
            " " button type="button" data-download="csv" data-table=(table) { "CSV" }
        }
    }
}

fn interval(figure: &Figure) -> Markup {
    let (Some(interval), Some(ends)) = (figure.interval, figure.shown().interval()) else {
        return html! { td.n { "–" } };
    };
    html! { td data-value=(interval.low) { (ends) (level(&interval)) } }
}

/// The level of an interval, where it is not that of the column.
fn level(interval: &Interval) -> Markup {
    html! { @if interval.level != LEVEL { " (" (significant(interval.level * 100.0)) " %)" } }
}

/// Value and interval.
fn scaled(figure: &Figure) -> Markup {
    html! {
        td data-value=(figure.value) { (figure.shown().quantity()) }
        (interval(figure))
    }
}

fn observations(figure: &Figure) -> Markup {
    html! { td.n data-value=(figure.n) { (count(figure.n)) } }
}

fn verdict(figure: &Figure) -> Markup {
    let noise = is_noise(figure);
    html! {
        @if let Some(words) = figure.words() {
            @if noise { mark.noise { (code(&words)) } } @else { (code(&words)) }
        }
    }
}

/// The caveats on the figure and on its session, each a link to its meaning.
fn caveat_links(session: &LabelledSession<'_>, figure: &Figure) -> Markup {
    let ids = caveat_ids(session, &figure.caveats);
    html! {
        @for (index, id) in ids.into_iter().enumerate() {
            @if index > 0 { ", " }
            a.invalid[invalidates(id)] href={ "#caveat-" (id) } { (id) }
        }
    }
}
