//! Curves as characters: one line of them, or the picture of a deletion.
//!
//! Where a column stands for several values it shows their largest: a stall of one request is seen
//! however long the curve. What is there is never blank, what is missing always is.

use trimbench_core::units::{index, rounded};
use trimbench_results::Series;

use crate::number::quantity;
use crate::style::Style;

#[cfg(test)]
mod tests;

/// Eighths of a character cell, lowest first.
const BLOCKS: [char; 8] = [
    '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];
/// The same by weight of ASCII characters.
const LETTERS: [char; 8] = ['.', ':', '-', '=', '+', '*', '#', '@'];
/// The most that a step up stands for: no two times that were measured are 10^21 apart.
const FACTOR_MAX: f64 = 1_000.0;
/// Rows of the picture, without axis and mark.
const ROWS: usize = 8;

/// One line for a curve, at most `width` characters: from 0 (or the smallest value, if negative) to
/// the largest. A column of several values shows their largest; `None` and NaN are blank. A curve
/// of nothing but zeros lies at the bottom.
pub fn sparkline(values: &[Option<f64>], width: usize, unicode: bool) -> String {
    let width = width.min(values.len());
    if width == 0 {
        return String::new();
    }
    let mut columns = vec![None; width];
    for (position, value) in values.iter().enumerate() {
        raise(&mut columns[position * width / values.len()], *value);
    }
    let (low, high) = range(&columns);
    let levels = if unicode { BLOCKS } else { LETTERS };
    let symbol = |value: &Option<f64>| match value {
        Some(value) => levels[level(*value, low, high, levels.len() - 1)],
        None => ' ',
    };
    columns.iter().map(symbol).collect()
}

/// Curves on common axes, a line each. Times between two drives differ by orders of magnitude, so
/// each step up stands for a factor: the smallest whole one with which the steps reach from the
/// lowest column to the highest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Strips {
    /// The ends of the common x axis.
    pub(crate) ends: [f64; 2],
    /// What a step up multiplies by.
    pub(crate) factor: u32,
    /// One line per curve; a column of several values shows their largest.
    pub(crate) lines: Vec<String>,
    width: usize,
}

impl Strips {
    /// Lines of `width` characters for these curves; `None` if none of them has a point.
    pub(crate) fn of(curves: &[&Series], width: usize, unicode: bool) -> Option<Self> {
        let x = || curves.iter().flat_map(|series| &series.x).copied();
        let ends = [x().min_by(f64::total_cmp)?, x().max_by(f64::total_cmp)?];
        let mut strips = Self { ends, factor: 2, lines: Vec::new(), width };
        let columns: Vec<Vec<Option<f64>>> =
            curves.iter().map(|series| strips.columns(series)).collect();
        let values = || columns.iter().flatten().flatten().copied();
        let lowest = values().filter(|&value| value > 0.0).min_by(f64::total_cmp).unwrap_or(1.0);
        let highest = values().max_by(f64::total_cmp).unwrap_or(0.0);
        let levels = if unicode { BLOCKS } else { LETTERS };
        // What is so small beside the rest that no step reaches it is shown as zeros are.
        let lowest = lowest.max(highest / FACTOR_MAX.powi(7));
        while steps(highest, lowest, strips.factor) >= levels.len() {
            strips.factor += 1;
        }
        let symbol = |value: &Option<f64>| {
            value.map_or(' ', |value| levels[steps(value, lowest, strips.factor)])
        };
        strips.lines = columns.iter().map(|columns| columns.iter().map(symbol).collect()).collect();
        Some(strips)
    }

    /// The column of this x; `None` outside the axis.
    pub(crate) fn column(&self, x: f64) -> Option<usize> {
        let [start, end] = self.ends;
        let inside = (start..=end).contains(&x);
        inside.then(|| column(x, self.ends, self.width))
    }

    /// The ends of the axis, above the lines.
    pub(crate) fn axis(&self, unit: &str) -> String {
        time_axis(self.ends, unit, self.width, 0)
    }

    /// The arrow and its label below column `at`.
    pub(crate) fn mark(&self, at: usize, label: &str, style: Style) -> String {
        mark_line(at, label, self.width, 0, style)
    }

    fn columns(&self, series: &Series) -> Vec<Option<f64>> {
        let mut columns = vec![None; self.width];
        for (x, y) in series.x.iter().zip(&series.y) {
            raise(&mut columns[column(*x, self.ends, self.width)], *y);
        }
        columns
    }
}

/// Which of several values a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// The smallest: a dip of a rate is seen however long the curve.
    Smallest,
    /// The largest: a stall is seen however long the curve.
    Largest,
}

/// Curves on common axes, a line of `width` characters each, from 0 to the largest value of all.
/// Also the ends of the x axis; `None` if no curve has a point.
pub(crate) fn level_strips(
    curves: &[&Series],
    width: usize,
    extreme: Extreme,
    unicode: bool,
) -> Option<(Vec<String>, [f64; 2])> {
    let x = || curves.iter().flat_map(|series| &series.x).copied();
    let ends = [x().min_by(f64::total_cmp)?, x().max_by(f64::total_cmp)?];
    let y = curves.iter().flat_map(|series| series.y.iter().flatten());
    let highest = y.copied().fold(0.0, f64::max);
    let levels = if unicode { BLOCKS } else { LETTERS };
    let line = |series: &&Series| {
        let mut columns: Vec<Option<f64>> = vec![None; width];
        for (x, y) in series.x.iter().zip(&series.y) {
            let column = &mut columns[column(*x, ends, width)];
            match (extreme, y) {
                (Extreme::Largest, y) => raise(column, *y),
                (Extreme::Smallest, Some(y)) => {
                    *column = Some(column.map_or(*y, |smallest| smallest.min(*y)));
                }
                (Extreme::Smallest, None) => {}
            }
        }
        if series.x.len() < width && series.y.iter().all(Option::is_some) {
            // A point stands for what came since the one before it.
            let ahead = columns.clone();
            for (at, column) in columns.iter_mut().enumerate() {
                *column = ahead[at..].iter().flatten().next().copied();
            }
        }
        let symbol = |value: &Option<f64>| {
            value.map_or(' ', |value| levels[level(value, 0.0, highest, levels.len() - 1)])
        };
        columns.iter().map(symbol).collect::<String>()
    };
    Some((curves.iter().map(line).collect(), ends))
}

/// The picture of a curve with one moment marked: `mark` is a position on x and its label. Empty
/// if the curve is.
pub(crate) fn picture(series: &Series, mark: Option<(f64, &str)>, style: Style) -> Vec<String> {
    let (Some(&start), Some(&end)) = (series.x.first(), series.x.last()) else {
        return Vec::new();
    };
    let highest = series.y.iter().flatten().copied().fold(0.0, f64::max);
    let x_unit = style.clean(&series.x_unit);
    // The curve has half of the columns at least, whatever its unit.
    let label = |value| style.cut(&quantity(value, &series.y_unit), style.columns() / 2);
    let (top, bottom) = (label(highest), label(0.0));
    let margin = top.chars().count().max(bottom.chars().count());
    let width = style.columns().saturating_sub(margin + 2);
    let mut columns = vec![None; width];
    for (x, y) in series.x.iter().zip(&series.y) {
        raise(&mut columns[column(*x, [start, end], width)], *y);
    }
    let axis = if style.unicode { '\u{2502}' } else { '|' };
    let mut lines = Vec::with_capacity(ROWS + 2);
    for row in (0..ROWS).rev() {
        let label = match row {
            _ if row == ROWS - 1 => top.as_str(),
            0 => bottom.as_str(),
            _ => "",
        };
        let cells: String =
            columns.iter().map(|value| cell(*value, highest, row, style.unicode)).collect();
        lines.push(format!("{label:>margin$} {axis}{cells}").trim_end().to_owned());
    }
    let indent = margin + 2;
    lines.push(style.cut(&time_axis([start, end], &x_unit, width, indent), style.columns()));
    if let Some((x, label)) = mark.filter(|(x, _)| (start..=end).contains(x)) {
        lines.push(mark_line(column(x, [start, end], width), label, width, indent, style));
    }
    lines
}

/// The start and the end of the curve below its corners.
pub(crate) fn time_axis([start, end]: [f64; 2], unit: &str, width: usize, indent: usize) -> String {
    let (left, right) = (quantity(start, unit), quantity(end, unit));
    let gap = width.saturating_sub(left.chars().count() + right.chars().count()).max(1);
    format!("{:indent$}{left}{:gap$}{right}", "", "")
}

/// An arrow below `column` with its label on the side where there is room.
fn mark_line(column: usize, label: &str, width: usize, indent: usize, style: Style) -> String {
    let arrow = if style.unicode { '\u{25b2}' } else { '^' };
    let label: String = style.clean(label).chars().take(width.saturating_sub(2)).collect();
    let length = label.chars().count();
    if column + 2 + length <= width {
        return format!("{:pad$}{arrow} {label}", "", pad = indent + column);
    }
    if column > length {
        let pad = indent + column - length - 1;
        return format!("{:pad$}{label} {arrow}", "");
    }
    format!("{:pad$}{arrow}", "", pad = indent + column)
}

/// The character of one cell: how much of row `row` (0 is the lowest) the column fills.
fn cell(value: Option<f64>, highest: f64, row: usize, unicode: bool) -> char {
    let Some(value) = value else { return ' ' };
    let eighths = level(value, 0.0, highest, ROWS * 8);
    // What was measured shows, however small.
    let eighths = eighths.max(1).saturating_sub(row * 8).min(8);
    match (eighths, unicode) {
        (0, _) => ' ',
        (_, true) => BLOCKS[eighths - 1],
        (1..=3, false) => '.',
        (4..=7, false) => ':',
        (_, false) => '#',
    }
}

/// Makes the column show `value` if that is its largest.
fn raise(column: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        *column = Some(column.map_or(value, |largest| largest.max(value)));
    }
}

/// The column of `x` among `width`, at least one, between two ends.
fn column(x: f64, [start, end]: [f64; 2], width: usize) -> usize {
    index(rounded(share(x, start, end) * (width as f64 - 1.0))).min(width - 1)
}

/// How many times `lowest` can be multiplied by `factor` without exceeding `value`, at most as many
/// as there are symbols. Multiplied out, because logarithms differ between machines.
fn steps(value: f64, lowest: f64, factor: u32) -> usize {
    let bounds = std::iter::successors(Some(lowest), |bound| Some(bound * f64::from(factor)));
    bounds.skip(1).take(BLOCKS.len()).take_while(|&bound| bound <= value).count()
}

/// From 0 or less to the largest.
fn range(columns: &[Option<f64>]) -> (f64, f64) {
    let values = columns.iter().flatten().copied();
    values.fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)))
}

/// Where `value` lies between `low` (level 0) and `high` (level `top`); only the highest values
/// reach the top.
fn level(value: f64, low: f64, high: f64, top: usize) -> usize {
    if high <= low {
        return 0;
    }
    index(rounded((share(value, low, high) * top as f64).floor())).min(top)
}

/// The position of `value` between `low` and `high`, in [0, 1]; 0 where there is no between.
fn share(value: f64, low: f64, high: f64) -> f64 {
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}
