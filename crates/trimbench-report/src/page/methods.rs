//! A section for each method, and the methods' own pages.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{PageContext, figures};
use crate::method::ReportedMethod;

/// One method: its headline table, its charts, all its figures.
pub(super) fn section(
    method: &ReportedMethod<'_>,
    context: &PageContext,
    drawn: &BTreeMap<&str, Markup>,
) -> Markup {
    let ReportedMethod { id, sessions, view, .. } = method;
    // The charts of a method begin with its name, and so may those of another: the id goes on with
    // a dash, and no method's name is another's beginning.
    let prefix = format!("{id}-");
    let charts = context.charts.iter().filter(|chart| chart.id.starts_with(&prefix));
    let title = view.and_then(|view| view.page.lines().next()?.strip_prefix("# "));
    html! {
        section id={ "method-" (id) } {
            h2 { (title.unwrap_or(id)) }
            @if view.is_some() {
                p { a href={ "#page-" (id) } { "How it is measured, what it cannot show" } }
            }
            (figures::of_method(id, sessions))
            div.charts {
                @for chart in charts {
                    @if let Some(figure) = drawn.get(chart.id.as_str()) { (figure) }
                }
            }
            (figures::all(id, sessions))
        }
    }
}

/// The pages of these methods, closed.
pub(super) fn pages(methods: &[ReportedMethod<'_>]) -> Markup {
    html! {
        section id="pages" {
            h2 { "How it is measured" }
            @for ReportedMethod { id, view, .. } in methods {
                @if let Some(view) = view {
                    details.page id={ "page-" (id) } {
                        summary { (id) }
                        (PreEscaped(rendered(view.page)))
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
