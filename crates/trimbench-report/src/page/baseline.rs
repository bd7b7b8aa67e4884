//! What changed between the first record and each other one.

use maud::{Markup, html};
use trimbench_results::compare::{Comparison, Effect, MetricChange, Pair, Value, compare};

use trimbench_results::number::quantity;

use super::figures::{filter, heads, method_link, scroll};
use crate::source::PageSource;
use crate::words::effect_words;

/// A table for each record after the first; none where there is nothing to compare.
pub(super) fn section(sources: &[PageSource]) -> Option<Markup> {
    let mut readable = sources.iter().filter_map(|source| Some((source, source.record.as_ref()?)));
    let (baseline, before) = readable.next()?;
    let others: Vec<(&PageSource, Comparison)> =
        readable.map(|(source, after)| (source, compare(before, after))).collect();
    if others.iter().all(|(_, comparison)| comparison.pairs.is_empty()) {
        return None;
    }
    Some(html! {
        section id="baseline" {
            h2 { "Against the baseline " (baseline.name) }
            @for (index, (source, comparison)) in others.iter().enumerate() {
                @if !comparison.pairs.is_empty() { (table(index, source, comparison)) }
            }
        }
    })
}

fn table(index: usize, source: &PageSource, comparison: &Comparison) -> Markup {
    let id = format!("table-baseline-{index}");
    let changes = comparison.worst_first();
    let worse = changes.iter().filter(|(_, change)| change.effect == Effect::Worse).count();
    let obstacles = comparison.pairs.iter().filter(|pair| !pair.obstacles.is_empty());
    html! {
        h3 { (source.name) }
        p { (worse) " of " (changes.len()) " figures are worse and told apart; the worst first." }
        @for pair in obstacles {
            p {
                (pair.method) " on " (pair.target) " cannot be compared: "
                (pair.obstacles.join("; ")) "."
            }
        }
        (filter(&id, "Show only rows with"))
        (scroll(&format!("Changes in {}", source.name), &html! {
            table.data id=(id) {
                (heads(&[
                    "method", "target", "figure", "before", "after", "worse by", "effect",
                ]))
                tbody { @for (pair, change) in changes { (row(pair, change)) } }
            }
        }))
    }
}

fn row(pair: &Pair, change: &MetricChange) -> Markup {
    html! {
        tr {
            td { (method_link(&pair.method)) }
            td { (pair.target) }
            td title=(change.id) { (change.title) }
            (side(change, change.before.as_ref()))
            (side(change, change.after.as_ref()))
            @match change.worse_percent {
                Some(percent) => td data-value=(percent) { (quantity(percent, "%")) },
                None => td.n { "–" },
            }
            td {
                (effect_words(change.effect))
                @if let Some(remark) = &change.remark { ": " (remark) }
            }
        }
    }
}

fn side(change: &MetricChange, value: Option<&Value>) -> Markup {
    let Some(value) = value else { return html! { td.n { "–" } } };
    html! {
        td data-value=(value.value) {
            (value.shown(&change.unit).text())
        }
    }
}
