//! A figure has one unit and one rounding in the terminal, on the page, in CSV, in Markdown and in
//! `JUnit`: every figure of every method is looked up in all five renderings of its record. What a
//! step holds stands in the tables of its method.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tempfile::tempdir;
use trimbench_methods::METHODS;
use trimbench_results::{Figure, RunRecord, Session, StepPlace};

use super::{code, record, stderr, stdout, trimbench};

/// The runs: a name, a target, the methods, and what makes them short.
const RUNS: [(&str, &str, &[&str], &[&str]); 4] = [
    (
        "drive",
        "sim:generic-sata-tlc,capacity=4GiB",
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
    (
        "ab",
        "ext4:sim:vendor2,capacity=4GiB",
        &["ab"],
        &["deletes=64MiB", "span=64MiB", "blocks-max=9"],
    ),
];
/// Values of all orders that have room in a table of 80 columns.
const ORDERS: [f64; 7] = [0.0, 1.234e-7, 0.012_345, 0.868_1, 3.0, 95_748.944, -0.25];

#[test]
fn every_figure_of_every_method_is_shown_alike_in_every_format() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let mut methods = BTreeSet::new();
    for (name, target, of, settings) in RUNS {
        let mut arguments = vec!["run", "--target", target, "--output", name];
        arguments.extend(of);
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let run = trimbench(folder, &arguments);
        assert_eq!(code(&run), Some(0), "{}", stderr(&run));
        let mut record = record(folder, name);
        let sessions = record.sessions.iter().filter(|session| session.headline().is_some());
        methods.extend(sessions.map(|session| session.plan.method.clone()));
        is_shown_alike(folder, name, &record);
        record.sessions.iter().for_each(assert_in_tables);
        // The same with values that these drives do not have.
        let figures = record.sessions.iter_mut().flat_map(|session| &mut session.figures);
        for (figure, value) in figures.zip(ORDERS.into_iter().cycle()) {
            (figure.value, figure.interval) = (value, None);
        }
        let other = format!("{name}-other");
        fs::create_dir(folder.join(&other)).unwrap();
        fs::write(folder.join(&other).join("run.json"), record.to_json()).unwrap();
        is_shown_alike(folder, &other, &record);
    }
    assert_eq!(methods.len(), METHODS.len(), "each has a headline");
}

/// What a step holds stands in a table of its method, from which the documents are made.
fn assert_in_tables(session: &Session) {
    let method = METHODS.iter().find(|method| method.id == session.plan.method).unwrap();
    let rows = (method.steps)().into_iter().flat_map(|(_, rows)| rows);
    let known: BTreeSet<(String, StepPlace)> = rows.map(|row| (row.key, row.place)).collect();
    for step in &session.steps {
        let set = step.parameters.keys().map(|key| (key, StepPlace::Set));
        let measured = step.metrics.keys().map(|key| (key, StepPlace::Measured));
        let histograms = step.histograms.keys().map(|key| (key, StepPlace::Histogram));
        let series = step.series.keys().map(|key| (key, StepPlace::Series));
        for (key, place) in set.chain(measured).chain(histograms).chain(series) {
            let (method, kind) = (method.id, &step.kind);
            assert!(known.contains(&(key.clone(), place)), "{method}, {kind}: {place:?} {key}");
        }
    }
}

/// Renders a run in each format, and looks its figures up.
fn is_shown_alike(folder: &Path, run: &str, record: &RunRecord) {
    let [page, tables, markdown, junit] =
        ["html", "csv", "md", "xml"].map(|end| format!("{run}.{end}"));
    let report = |arguments: &[&str]| {
        let report = trimbench(folder, &[&["report", run], arguments].concat());
        assert!(matches!(code(&report), Some(0 | 1 | 4)), "{}", stderr(&report));
        stdout(&report)
    };
    let terminal = report(&[]);
    let exports = ["--export-markdown", &markdown, "--export-junit", &junit];
    report(&[&["--html", &page, "--csv", &tables], &exports[..]].concat());
    assert!(record.sessions.iter().any(|session| !session.figures.is_empty()));
    let lacking = lacking_in_terminal(record, &terminal);
    assert!(lacking.is_empty(), "{run}: not in the terminal: {lacking:?}");
    for (file, cell) in [
        (&page, cell_of_page as fn(&Figure) -> String),
        (&format!("{tables}/figures.csv"), cell_of_csv),
        (&markdown, |figure| format!("| {} | {} |", figure.title, figure.shown().text())),
        (&junit, cell_of_junit),
    ] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        for figure in record.sessions.iter().flat_map(|session| &session.figures) {
            let cell = cell(figure);
            assert!(text.contains(&cell), "{file} lacks {cell}");
        }
    }
}

fn in_html(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn cell_of_page(figure: &Figure) -> String {
    let (shown, unit) = (figure.shown(), &figure.unit);
    let number = in_html(&shown.number);
    let value = format!("<td data-value=\"{}\">{number}</td>", figure.value);
    format!("{value}<td data-unit=\"{unit}\">{}</td>", shown.unit)
}

fn cell_of_csv(figure: &Figure) -> String {
    let (value, shown) = (figure.value.to_string(), figure.shown().text());
    let field = |text: &str| {
        // Text that a spreadsheet would interpret has an apostrophe.
        let mark = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
        let text = format!("{mark}{text}");
        let is_quoted = text.contains([',', '"']);
        if is_quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
    };
    let [id, title, unit, shown] = [&figure.id, &figure.title, &figure.unit, &shown];
    [field(id), field(title), value, field(unit), field(shown)].join(",")
}

fn cell_of_junit(figure: &Figure) -> String {
    let text = format!("{}: {}", figure.title, figure.shown().text());
    format!("<system-out>{}", in_html(&text))
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
