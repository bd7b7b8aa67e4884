//! A section for each method, and the methods' own pages.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{PageContext, figures};
use crate::entries::Entry;

/// The page of each method.
const PAGES: [(&str, &str); 11] = [
    ("delete-stall", include_str!("../../../../docs/methods/delete-stall.md")),
    ("delete-storm", include_str!("../../../../docs/methods/delete-storm.md")),
    ("idle-trim", include_str!("../../../../docs/methods/idle-trim.md")),
    ("policy", include_str!("../../../../docs/methods/policy.md")),
    ("postmark", include_str!("../../../../docs/methods/postmark.md")),
    ("recovery", include_str!("../../../../docs/methods/recovery.md")),
    ("replay", include_str!("../../../../docs/methods/replay.md")),
    ("settle", include_str!("../../../../docs/methods/settle.md")),
    ("steady-state", include_str!("../../../../docs/methods/steady-state.md")),
    ("trim-integrity", include_str!("../../../../docs/methods/trim-integrity.md")),
    ("trim-sweep", include_str!("../../../../docs/methods/trim-sweep.md")),
];

/// One method: its headline table, its charts, all its figures.
pub(super) fn section(
    method: &str,
    sessions: &[&Entry<'_>],
    context: &PageContext,
    drawn: &BTreeMap<&str, Markup>,
) -> Markup {
    // The charts of a method begin with its name, and so may those of another: the id goes on with
    // a dash, and no method's name is another's beginning.
    let prefix = format!("{method}-");
    let charts = context.charts.iter().filter(|chart| chart.id.starts_with(&prefix));
    let title =
        page(method).and_then(|text| text.lines().next()).map(|line| line.trim_start_matches("# "));
    html! {
        section id={ "method-" (method) } {
            h2 { (title.unwrap_or(method)) }
            @if page(method).is_some() {
                p { a href={ "#page-" (method) } { "How it is measured, what it cannot show" } }
            }
            (figures::of_method(method, sessions))
            div.charts {
                @for chart in charts {
                    @if let Some(figure) = drawn.get(chart.id.as_str()) { (figure) }
                }
            }
            (figures::all(method, sessions))
        }
    }
}

fn page(method: &str) -> Option<&'static str> {
    PAGES.iter().find(|(name, _)| *name == method).map(|(_, text)| *text)
}

/// The pages of these methods, closed.
pub(super) fn pages<'a>(methods: impl Iterator<Item = &'a str>) -> Markup {
    html! {
        section id="pages" {
            h2 { "How it is measured" }
            @for method in methods {
                @if let Some(text) = page(method) {
                    details.page id={ "page-" (method) } {
                        summary { (method) }
                        (PreEscaped(rendered(text)))
                    }
                }
            }
        }
    }
}

/// A page of the documents as HTML: its headings below the report's, its links to other files as
/// text, as those are not here.
fn rendered(markdown: &str) -> String {
    let mut in_link = false;
    let parser = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    let events = parser.flat_map(|event| match event {
        Event::Start(Tag::Heading { id, classes, attrs, .. }) => {
            vec![Event::Start(Tag::Heading { level: HeadingLevel::H3, id, classes, attrs })]
        }
        Event::End(TagEnd::Heading(_)) => vec![Event::End(TagEnd::Heading(HeadingLevel::H3))],
        Event::Start(Tag::Link { ref dest_url, .. }) if !dest_url.starts_with("http") => {
            in_link = true;
            Vec::new()
        }
        Event::End(TagEnd::Link) if in_link => {
            in_link = false;
            Vec::new()
        }
        Event::Start(Tag::Table(_)) => {
            let open = "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table\">";
            vec![Event::Html(CowStr::Borrowed(open)), event]
        }
        Event::End(TagEnd::Table) => vec![event, Event::Html(CowStr::Borrowed("</div>"))],
        other => vec![other],
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    html.replace("<pre>", "<pre tabindex=\"0\">")
}
