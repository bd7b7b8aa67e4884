//! Tables of text: columns as wide as their content, and narrower only where the width demands it.

use trimbench_core::text::visible;

use crate::style::{Style, wrap};

#[cfg(test)]
mod tests;

/// Blanks between two columns.
pub(crate) const GAP: usize = 2;
/// Text is not made narrower than this while numbers can stay whole.
const TEXT_MIN: usize = 12;

/// One column.
#[derive(Clone, Debug)]
pub struct GridColumn {
    title: String,
    /// Whether it stands to the right.
    right: bool,
    /// Whether it is broken only where nothing else is left to break.
    whole: bool,
    /// Whether its title may stand in several lines, broken behind hyphens.
    hyphens: bool,
    /// Blanks before it.
    gap: usize,
}

/// A table in the making.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<GridColumn>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
enum Row {
    /// As many cells as columns, or fewer.
    Cells(Vec<String>),
    /// A line of its own over all columns, with this indent.
    Span(usize, String),
}

impl GridColumn {
    /// Text, to the left.
    pub fn text(title: &str) -> Self {
        Self { title: title.to_owned(), right: false, whole: false, hyphens: false, gap: GAP }
    }

    /// Names, to the left, and whole as numbers are.
    pub fn name(title: &str) -> Self {
        Self { whole: true, ..Self::text(title) }
    }

    /// Numbers, to the right and whole.
    pub fn number(title: &str) -> Self {
        Self { right: true, ..Self::name(title) }
    }

    /// Numbers below a name, which is broken behind hyphens where there is no room for it.
    pub(crate) fn number_below(title: &str) -> Self {
        Self { hyphens: true, ..Self::number(title) }
    }

    /// Text that belongs to the column before, such as its unit.
    pub(crate) fn close(title: &str) -> Self {
        Self { gap: 1, ..Self::text(title) }
    }
}

impl Grid {
    /// A table without rows.
    pub fn new(columns: Vec<GridColumn>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    /// Adds a line over all columns.
    pub fn span(&mut self, indent: usize, text: String) {
        self.rows.push(Row::Span(indent, text));
    }

    /// Characters that the table takes if nothing is broken.
    pub(crate) fn natural_width(&self) -> usize {
        let gaps: usize = self.columns.iter().skip(1).map(|column| column.gap).sum();
        self.natural_widths().iter().sum::<usize>() + gaps
    }

    /// Header, rule and rows, cleaned and without blanks at the ends of lines.
    pub fn render(&self, style: Style) -> Vec<String> {
        let widths = self.widths(style.columns());
        let titles = self.columns.iter().zip(&widths);
        let titles = titles.map(|(column, width)| {
            let title = style.clean(&column.title);
            if column.hyphens { at_hyphens(&title, *width) } else { fitted(title, *width) }
        });
        let mut lines = self.laid_out(&titles.collect::<Vec<_>>(), &widths);
        lines.push(style.rule(style.columns()));
        lines.extend(self.rows(style));
        lines
    }

    /// The rows alone.
    pub(crate) fn rows(&self, style: Style) -> Vec<String> {
        let widths = self.widths(style.columns());
        let mut lines = Vec::new();
        for row in &self.rows {
            match row {
                Row::Cells(cells) => lines.extend(self.lines(cells, &widths, style)),
                Row::Span(indent, text) => lines.extend(style.labelled("", *indent, text)),
            }
        }
        lines
    }

    /// Characters that the table takes with its titles broken behind hyphens.
    pub(crate) fn least_width(&self) -> usize {
        let gaps: usize = self.columns.iter().skip(1).map(|column| column.gap).sum();
        self.least_widths().iter().sum::<usize>() + gaps
    }

    fn least_widths(&self) -> Vec<usize> {
        let columns = self.columns.iter().map(|column| {
            let length = |text: &str| text.chars().count();
            let title = if column.hyphens {
                hyphenated(&column.title).map(length).max().unwrap_or(0)
            } else {
                length(&column.title)
            };
            GridColumn { title: "x".repeat(title), ..column.clone() }
        });
        Self { columns: columns.collect(), rows: self.rows.clone() }.natural_widths()
    }

    fn natural_widths(&self) -> Vec<usize> {
        self.greatest(|text| visible(text).chars().count())
    }

    /// Characters of the longest word of each column.
    fn words(&self) -> Vec<usize> {
        self.greatest(|text| {
            let text = visible(text);
            text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
        })
    }

    /// The greatest that `length` says of a title and cells, for each column.
    fn greatest(&self, length: impl Fn(&str) -> usize) -> Vec<usize> {
        let greatest = |(index, column): (usize, &GridColumn)| {
            let cells = self.rows.iter().filter_map(|row| match row {
                Row::Cells(cells) => cells.get(index),
                Row::Span(..) => None,
            });
            cells.map(|cell| length(cell)).fold(length(&column.title), usize::max)
        };
        self.columns.iter().enumerate().map(greatest).collect()
    }

    /// Widths that fit into `room`: first the widest titles give way that may be broken, then the
    /// widest texts, then whatever is widest, between its words as long as it has some.
    fn widths(&self, room: usize) -> Vec<usize> {
        let mut widths = self.natural_widths();
        let (least, words) = (self.least_widths(), self.words());
        let mut excess = self.natural_width().saturating_sub(room);
        while excess > 0 {
            let titles = (0..widths.len()).filter(|index| widths[*index] > least[*index]);
            if let Some(index) = titles.max_by_key(|index| widths[*index]) {
                widths[index] -= 1;
                excess -= 1;
                continue;
            }
            let indices = 0..widths.len();
            let text = |&index: &usize| !self.columns[index].whole && widths[index] > TEXT_MIN;
            let widest = |indices: &mut dyn Iterator<Item = usize>| {
                indices.max_by_key(|&index| widths[index])
            };
            let between = |&index: &usize| widths[index] > words[index];
            let chosen = widest(&mut indices.clone().filter(text))
                .or(widest(&mut indices.clone().filter(between)))
                .or(widest(&mut indices.clone()));
            let Some(index) = chosen.filter(|&index| widths[index] > 1) else { break };
            widths[index] -= 1;
            excess -= 1;
        }
        widths
    }

    /// One row: as many lines as its highest cell has.
    fn lines(&self, cells: &[String], widths: &[usize], style: Style) -> Vec<String> {
        let cells: Vec<Vec<String>> = widths
            .iter()
            .enumerate()
            .map(|(index, &width)| {
                fitted(style.clean(cells.get(index).map_or("", String::as_str)), width)
            })
            .collect();
        self.laid_out(&cells, widths)
    }

    /// The lines of cells, each of which is broken already.
    fn laid_out(&self, cells: &[Vec<String>], widths: &[usize]) -> Vec<String> {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height).map(|row| self.line(cells, row, widths)).collect()
    }

    fn line(&self, cells: &[Vec<String>], row: usize, widths: &[usize]) -> String {
        let mut line = String::new();
        for (index, (column, &width)) in self.columns.iter().zip(widths).enumerate() {
            let text = cells[index].get(row).map_or("", String::as_str);
            if index > 0 {
                line.push_str(&" ".repeat(column.gap));
            }
            let padding = " ".repeat(width.saturating_sub(text.chars().count()));
            line.extend(if column.right { [padding.as_str(), text] } else { [text, &padding] });
        }
        line.trim_end().to_owned()
    }
}

/// The text in lines that fit.
fn fitted(text: String, width: usize) -> Vec<String> {
    if text.chars().count() <= width { vec![text] } else { broken(&text, width) }
}

/// The parts of a name, each with the hyphen behind it.
fn hyphenated(name: &str) -> impl Iterator<Item = &str> {
    name.split_inclusive('-')
}

/// A name in lines of at most `width` characters, broken behind hyphens where it has some.
fn at_hyphens(name: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in hyphenated(name) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() <= width => {
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.into_iter().flat_map(|line| fitted(line, width)).collect()
}

/// The text in lines of at most `width` characters, each with the blanks that it begins with.
fn broken(text: &str, width: usize) -> Vec<String> {
    let indent = text.chars().take_while(|letter| *letter == ' ').count();
    let indent = indent.min(width.saturating_sub(1));
    let lines = wrap(text, width - indent);
    lines.into_iter().map(|line| format!("{:indent$}{line}", "")).collect()
}
