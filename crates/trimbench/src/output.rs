//! The only place that prints.
//!
//! Text for people has no hidden characters except line ends, whoever chose the names in it
//! ([`cleaned`], [`error_line`]); the report cleans its own text, because it has colours. Data for
//! programs is exact ([`data`]): in JSON hidden characters are escapes, which mean the same. Each
//! [`OutputFormat`] is known here only.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use serde_json::Value;
use trimbench_app::Failure;
use trimbench_core::reason;
use trimbench_core::text::{visible, visible_json, visible_lines};
use trimbench_report::Style;
use trimbench_results::RunRecord;

use crate::args::OutputFormat;

/// Whether notes are left out.
static QUIET: AtomicBool = AtomicBool::new(false);
/// What lines on stderr begin with, where they are of a kind.
const LABELS: [&str; 2] = ["error: ", "hint: "];
/// The bar on the terminal, which makes room for whatever else is printed.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);
/// Whether data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// A result that is printed on stdout in any [`OutputFormat`].
pub(crate) trait Printed {
    /// Text for people; `cleaned` where names in it are not ours.
    fn human(&self) -> String;

    /// The same as one JSON document, with its line end.
    fn json(&self) -> String;

    /// The same as JSON values, each of which becomes a line.
    fn items(&self) -> Vec<Value>;

    /// The result in this format.
    fn text(&self, format: OutputFormat) -> String {
        match format {
            OutputFormat::Human => self.human(),
            OutputFormat::Json => visible_json(&self.json()).into_owned(),
            OutputFormat::Ndjson => {
                let lines = joined(self.items().iter().map(Value::to_string).collect());
                visible_json(&lines).into_owned()
            }
        }
    }

    /// Writes the result to stdout, as [`data`].
    fn print(&self, format: OutputFormat) {
        data(&self.text(format));
    }
}

/// The text without hidden characters except line ends.
pub(crate) fn cleaned(text: &str) -> String {
    visible_lines(text).into_owned()
}

/// A JSON value as a document for programs and people.
pub(crate) fn document(value: &Value) -> String {
    format!("{value:#}\n")
}

/// The document of a record: the bytes of `run.json`.
pub(crate) fn record_json(record: &RunRecord) -> String {
    String::from_utf8_lossy(&record.to_json()).into_owned()
}

/// Lines as one text.
pub(crate) fn joined(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Writes data to stdout. A reader that went away (`| head`) is no error; anything else is said,
/// and [`lost`] from then on.
pub(crate) fn data(text: &str) {
    let written = beside_bar(|| {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        error_line(&format!("error: cannot write to stdout: {}", reason(&error)));
    }
}

/// Whether data could not be written.
pub(crate) fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes one line for the user to stderr. Nobody may be there to read it: that is no error.
/// On a terminal it is wrapped at the terminal's width, with what follows its label below itself;
/// elsewhere it stays one line.
pub(crate) fn error_line(text: &str) {
    let lines = match console::Term::stderr().size_checked() {
        Some((_, columns)) => wrapped(text, usize::from(columns)),
        None => vec![visible(text).into_owned()],
    };
    let _ = beside_bar(|| writeln!(std::io::stderr().lock(), "{}", lines.join("\n")));
}

/// Says what failed, and what to do.
pub(crate) fn print_failure(failure: &Failure) {
    error_line(&format!("error: {}", failure.message()));
    if let Some(hint) = &failure.hint {
        error_line("");
        error_line(&format!("hint: {hint}"));
    }
}

/// The text in lines of so many columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let style = Style { width, colour: false, unicode: true };
    let label = LABELS.into_iter().find(|label| text.starts_with(label)).unwrap_or("");
    style.labelled(label.trim_end(), label.len(), &text[label.len()..])
}

/// Prints while the bar is not on the terminal.
fn beside_bar<T>(print: impl FnOnce() -> T) -> T {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Puts a bar on the terminal, or takes it off.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Writes one line that a quiet run leaves out.
pub(crate) fn note(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        error_line(text);
    }
}

/// Leaves out notes and progress from now on: errors and limits that fail are still printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// How the terminal report is to look on this stdout.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { width().unwrap_or(80) } else { 80 };
    Style { width: width.clamp(40, 120), colour: terminal && !set("NO_COLOR"), unicode: unicode() }
}

/// How progress is to look on this stderr.
pub(crate) fn progress_style() -> Style {
    let size = console::Term::stderr().size_checked();
    let width = size.map_or(80, |(_, columns)| usize::from(columns));
    Style { width, colour: false, unicode: unicode() }
}

/// Whether progress may be drawn.
pub(crate) fn progress_terminal() -> bool {
    std::io::stderr().is_terminal() && !QUIET.load(Ordering::Relaxed)
}

fn width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

#[expect(clippy::disallowed_methods, reason = "how to print is a matter of the environment")]
fn set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !value.is_empty())
}

/// Whether the locale can show more than ASCII; unknown locales of today can.
#[expect(clippy::disallowed_methods, reason = "how to print is a matter of the environment")]
fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok());
    locale.is_none_or(|locale| !matches!(locale.as_str(), "C" | "POSIX"))
}
