//! Whether each format says that a headline is invalid.

use ::tests::program::Output;
use anyhow::{Context as _, Result};
use trimbench_core::Caveat;
use trimbench_results::{Figure, RunRecord, Session};

#[cfg(test)]
mod tests;

/// What a run and its reports said.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) run: Output,
    /// Exit codes of the reports.
    pub(super) codes: [Option<i32>; 3],
    pub(super) terminal: String,
    pub(super) json: RunRecord,
    pub(super) page: String,
    pub(super) markdown: String,
    pub(super) junit: String,
    /// The table of figures.
    pub(super) figures: String,
}

/// Formats that do not mark an invalid headline of this record.
pub(super) fn unmarked(kept: &RunRecord, shown: &Shown) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for (index, session) in kept.sessions.iter().enumerate() {
        let Some(figure) = session.headline().filter(|it| !session.believes(it)) else { continue };
        let invalidates = |id: &&str| Caveat::from_id(id).is_some_and(Caveat::invalidates);
        let ids = figure.caveats.iter().chain(&session.caveats).map(String::as_str);
        let ids: Vec<&str> = ids.filter(invalidates).collect();
        let in_json = shown.json.sessions.get(index);
        let in_json = in_json.and_then(|it| Some(!it.believes(it.figure(&figure.id)?)));
        for (format, is_marked) in [
            ("the run", in_terminal(&shown.run.stdout, &ids)),
            ("the terminal", in_terminal(&shown.terminal, &ids)),
            ("the page", in_page(&shown.page, &ids)),
            ("Markdown", in_markdown(&shown.markdown, &ids)),
            ("CSV", in_table(&shown.figures, (index, figure), &ids)?),
            ("JUnit", in_junit(&shown.junit, session, figure)?),
            ("JSON", in_json == Some(true)),
        ] {
            if !is_marked {
                let method = &session.plan.method;
                faults.push(format!("{format}, {method}: {} has {}", figure.id, ids.join(", ")));
            }
        }
    }
    Ok(faults)
}

/// A line of the terminal may break anywhere.
fn in_terminal(text: &str, ids: &[&str]) -> bool {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    ids.iter().all(|id| words.contains(&format!("INVALID, {id}: ")))
}

/// The figure links to its caveat, which says what it means.
fn in_page(page: &str, ids: &[&str]) -> bool {
    let links = |id: &&str| page.contains(&format!("class=\"invalid\" href=\"#caveat-{id}\""));
    let says = |id: &str| format!("id=\"caveat-{id}\">{id}</dt><dd><strong>Invalid: ");
    ids.iter().all(|id| links(id) && page.contains(&says(id)))
}

fn in_markdown(text: &str, ids: &[&str]) -> bool {
    let is_marked = |id: &&str| text.contains(&format!("- `{id}` (INVALID): "));
    text.contains("**INVALID: ") && ids.iter().all(is_marked)
}

fn in_table(table: &str, (session, figure): (usize, &Figure), ids: &[&str]) -> Result<bool> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().context("read a table")?.clone();
    let column = |name: &str| header.iter().position(|head| head == name).context("no column");
    let [at, id, verdict, caveats] =
        [column("session")?, column("figure")?, column("verdict")?, column("caveats")?];
    for row in reader.records() {
        let row = row.context("read a row")?;
        if row[at] == session.to_string() && row[id] == figure.id {
            let has = |id: &&str| row[caveats].split(';').any(|other| other == *id);
            let says =
                row[verdict].is_empty() || row[verdict].to_ascii_uppercase().starts_with("INVALID");
            return Ok(says && ids.iter().all(has));
        }
    }
    Ok(false)
}

fn in_junit(text: &str, session: &Session, figure: &Figure) -> Result<bool> {
    let document = roxmltree::Document::parse(text).context("read a JUnit file")?;
    let place = format!("{}.{}", session.plan.method, session.target.name);
    let mut cases = document.descendants().filter(|node| {
        node.has_tag_name("testcase")
            && node.attribute("classname") == Some(&place)
            && node.attribute("name") == Some(&figure.id)
    });
    let is_error = |node: roxmltree::Node<'_, '_>| {
        node.children().any(|child| {
            let message = child.attribute("message").unwrap_or_default();
            child.has_tag_name("error") && message.starts_with("invalid: ")
        })
    };
    Ok(cases.next().is_some_and(is_error))
}
