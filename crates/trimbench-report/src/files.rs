//! Names of the report's files, and how existing ones are recognised by their beginning.

use crate::page::PageContext;

#[cfg(test)]
mod tests;

/// What every page begins with.
pub const PAGE_MARK: &str =
    "<!DOCTYPE html><html lang=\"en\"><head><meta name=\"generator\" content=\"trimbench\">";
/// What every file of a figure begins with.
pub const FIGURE_MARK: &str = "<svg data-generator=\"trimbench\"";
/// What every file of a context begins with.
pub const CONTEXT_MARK: &str = "{\"generator\":\"trimbench\",";
/// Bytes of a chart's id that its file's name has at most.
const NAME_MAX: usize = 100;

/// The files of these figures, which are those of `context`: names and contents. No two names are
/// equal, nor does any lead out of a directory, whatever ids the records brought.
///
/// # Panics
/// If a figure is no SVG.
pub fn figure_files(context: &PageContext, figures: &[String]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (chart, figure) in context.charts.iter().zip(figures) {
        let drawing = figure.strip_prefix("<svg").expect("a figure is an SVG");
        let base = file_stem(&chart.id);
        let numbered = (2..).map(|number| format!("{base}-{number}.svg"));
        let name = std::iter::once(format!("{base}.svg"))
            .chain(numbered)
            .find(|name| files.iter().all(|(taken, _)| taken != name))
            .expect("there is always a next number");
        files.push((name, format!("{FIGURE_MARK}{drawing}")));
    }
    files
}

/// The header line of a table, by which it is known again.
pub fn header_line(table: &str) -> &str {
    table.split_inclusive('\n').next().unwrap_or_default()
}

/// The id with nothing but lower-case letters, digits and hyphens in it, as our own ids are.
fn file_stem(id: &str) -> String {
    let plain = |character: char| match character.to_ascii_lowercase() {
        plain @ ('a'..='z' | '0'..='9') => plain,
        _ => '-',
    };
    let stem: String = id.chars().take(NAME_MAX).map(plain).collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() { "chart".to_owned() } else { stem.to_owned() }
}
