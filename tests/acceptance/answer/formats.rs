//! A figure has one unit and one rounding in the terminal, on the page, in CSV, in Markdown and in
//! `JUnit`: every figure of every method is looked up in all five renderings of its record.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use trimbench_methods::METHODS;
use trimbench_results::{Figure, RunRecord};

use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

/// The runs: a name, a target, the methods, and what makes them short.
const RUNS: [(&str, &str, &[&str], &[&str]); 3] = [
    (
        "drive",
        "sim:generic-sata-tlc",
        &[
            "delete-stall",
            "trim-sweep",
            "idle-trim",
            "recovery",
            "steady-state",
            "latency-under-load",
            "trim-integrity",
            "settle",
            "replay",
        ],
        &[],
    ),
    ("files", "ext4:sim:vendor2", &["postmark", "delete-storm", "policy"], &[]),
    ("kernels", "ext4:sim:like-rc100", &["kernels"], &["drive-writes=2"]),
];
/// How a run is rendered.
const FORMATS: [&str; 5] = ["terminal", "page", "csv", "markdown", "junit"];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for (name, target, methods, settings) in RUNS {
        let [markdown, junit, page] = ["md", "xml", "html"].map(|end| format!("{name}.{end}"));
        let mut arguments = vec!["run", "--target", target, "--output", name, "--no-report"];
        arguments.extend(methods);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        arguments.extend(["--export-markdown", &markdown, "--export-junit", &junit]);
        let folder = context.folder();
        let mut command = context.trimbench(&arguments)?;
        context.capture_well(name, command.current_dir(folder))?;
        let tables = format!("{name}-csv");
        for (part, arguments) in [
            ("terminal", &["report", name][..]),
            ("files", &["report", name, "--html", &page, "--csv", &tables]),
        ] {
            let mut command = context.trimbench(arguments)?;
            context.capture_well(&format!("{name}-{part}"), command.current_dir(folder))?;
        }
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut methods = BTreeSet::new();
    for (name, ..) in RUNS {
        let record = raw.record(&format!("{name}/run.json"))?;
        let capture = raw.capture(name)?;
        let sessions = record.sessions.iter().filter(|session| session.headline().is_some());
        methods.extend(sessions.map(|session| session.plan.method.clone()));
        for format in FORMATS {
            findings.push(finding(raw, (name, format), &record, &capture)?);
        }
    }
    let (name, ..) = RUNS[0];
    findings.push(Finding::new(
        "methods with a headline",
        (methods.len() as f64, "methods"),
        Bar::Equals(METHODS.len() as f64),
        &raw.capture(name)?,
    ));
    Ok(findings)
}

fn finding(
    raw: &Raw,
    (name, format): (&str, &str),
    record: &RunRecord,
    capture: &Capture,
) -> Result<Finding> {
    let file = match format {
        "terminal" => raw.capture(&format!("{name}-terminal"))?.output,
        "page" => format!("{name}.html"),
        "csv" => format!("{name}-csv/figures.csv"),
        "markdown" => format!("{name}.md"),
        _ => format!("{name}.xml"),
    };
    let text = raw.text(&file).with_context(|| format!("the {format} of `{name}`"))?;
    let lacking = match format {
        "terminal" => lacking_in_terminal(record, &text),
        _ => lacking(record, &text, format),
    };
    let all: usize = record.sessions.iter().map(|session| session.figures.len()).sum();
    let what = format!("{name}, {format}: figures not shown as everywhere, of {all}");
    let note = lacking.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
    let count = lacking.len() as f64 + if all == 0 { 1.0 } else { 0.0 };
    let finding = Finding::new(&what, (count, "figures"), Bar::Equals(0.0), capture);
    Ok(finding.with_note(&note).from_file(&file))
}

/// The figures whose cells a rendering lacks.
fn lacking(record: &RunRecord, text: &str, format: &str) -> Vec<String> {
    let figures = record.sessions.iter().flat_map(|session| &session.figures);
    let cell = |figure: &Figure| {
        let shown = figure.shown();
        let html = |text: &str| text.replace('<', "&lt;").replace('>', "&gt;");
        match format {
            "page" => format!(
                "<td data-value=\"{}\">{}</td><td data-unit=\"{}\">{}</td>",
                figure.value,
                html(&shown.number),
                figure.unit,
                shown.unit
            ),
            "csv" => [
                field(&figure.id),
                field(&figure.title),
                figure.value.to_string(),
                field(&figure.unit),
                field(&shown.text()),
            ]
            .join(","),
            "markdown" => format!("| {} | {} |", figure.title, shown.text()),
            _ => html(&format!("<system-out>{}: {}", figure.title, shown.text())).replacen(
                "&lt;system-out&gt;",
                "<system-out>",
                1,
            ),
        }
    };
    let cells = figures.map(cell).filter(|cell| !text.contains(cell.as_str()));
    cells.collect()
}

/// A field of our CSV: text that a spreadsheet would interpret has an apostrophe.
fn field(text: &str) -> String {
    let text =
        if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// The values of which there are fewer in the tables than figures that have them. Columns are two
/// blanks apart; of a value that may be larger the table says `>`.
fn lacking_in_terminal(record: &RunRecord, text: &str) -> Vec<String> {
    let mut cells: BTreeMap<String, i64> = BTreeMap::new();
    let bare = |cell: &str| cell.strip_prefix("> ").unwrap_or(cell).to_owned();
    for cell in text.lines().flat_map(|line| line.split("  ")) {
        *cells.entry(bare(cell.trim())).or_default() += 1;
    }
    let mut lacking = Vec::new();
    for figure in record.sessions.iter().flat_map(|session| &session.figures) {
        let shown = figure.shown().quantity();
        let left = cells.entry(bare(&shown)).or_default();
        *left -= 1;
        if *left < 0 {
            lacking.push(format!("{}: {shown}", figure.id));
        }
    }
    lacking
}
