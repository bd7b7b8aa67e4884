//! The only place that prints.

#![expect(clippy::print_stderr, reason = "printing is this module's task")]

use std::io::{IsTerminal, Write};

use trimbench_report::Style;

/// Writes data to stdout. A reader that went away (`| head`) is no error.
pub(crate) fn data(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

/// Writes a line for the user to stderr.
pub(crate) fn error_line(text: &str) {
    eprintln!("{text}");
}

/// How the terminal report is to look on this stdout.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { width().unwrap_or(80) } else { 80 };
    Style { width: width.clamp(60, 120), colour: terminal && !set("NO_COLOR"), unicode: unicode() }
}

/// Whether progress may be drawn.
pub(crate) fn progress_terminal() -> bool {
    std::io::stderr().is_terminal()
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
