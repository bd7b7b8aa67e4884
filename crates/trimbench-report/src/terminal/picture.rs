//! Curves as characters: one line of them, or the picture of a deletion.
//!
//! If a column represents several values it shows the largest: a stall of one request is visible
//! however long the curve. A column with data is never blank; one without data always is.

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
    let mut columns: Vec<Option<f64>> = vec![None; width];
    for (position, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.is_finite()) else { continue };
        let column = &mut columns[position * width / values.len()];
        *column = Some(column.map_or(value, |largest| largest.max(value)));
    }
    // From 0 or less to the largest.
    let values = columns.iter().flatten();
    let (low, high) = values
        .fold((0.0, 0.0), |(low, high): (f64, f64), value| (low.min(*value), high.max(*value)));
    symbols(&columns, unicode, |value| level(value, low, high, BLOCKS.len() - 1))
}

/// Terminal columns that stand for an x axis, which several curves share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Columns {
    /// The smallest x and the largest.
    ends: [f64; 2],
    /// How many there are, at least one.
    pub(crate) width: usize,
}

/// Which of several values a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// The smallest: a dip of a rate is seen however long the curve.
    Smallest,
    /// The largest: a stall is seen however long the curve.
    Largest,
}

impl Columns {
    /// `width` columns for these curves; `None` if none of them has a point.
    pub(crate) fn of(curves: &[&Series], width: usize) -> Option<Self> {
        let x = || curves.iter().flat_map(|series| &series.x).copied();
        let ends = [x().min_by(f64::total_cmp)?, x().max_by(f64::total_cmp)?];
        Some(Self { ends, width })
    }

    /// A line for each curve. Times of two drives differ by orders of magnitude, so each step up
    /// stands for a factor: the smallest whole one with which the steps reach from the lowest
    /// column to the highest. Also that factor.
    pub(crate) fn by_factor(self, curves: &[&Series], unicode: bool) -> (Vec<String>, u32) {
        let columns: Vec<Vec<Option<f64>>> =
            curves.iter().map(|series| self.values(series, Extreme::Largest)).collect();
        let values = || columns.iter().flatten().flatten().copied();
        let lowest = values().filter(|&value| value > 0.0).min_by(f64::total_cmp).unwrap_or(1.0);
        let highest = values().max_by(f64::total_cmp).unwrap_or(0.0);
        // What is so small beside the rest that no step reaches it is shown as zeros are.
        let lowest = lowest.max(highest / FACTOR_MAX.powi(7));
        let mut factor = 2;
        while steps(highest, lowest, factor) >= BLOCKS.len() {
            factor += 1;
        }
        let line = |values: &Vec<Option<f64>>| {
            symbols(values, unicode, |value| steps(value, lowest, factor))
        };
        (columns.iter().map(line).collect(), factor)
    }

    /// A line for each curve, all from 0 to the largest value of all.
    pub(crate) fn by_level(
        self,
        curves: &[&Series],
        extreme: Extreme,
        unicode: bool,
    ) -> Vec<String> {
        let highest = highest(curves);
        let line = |series: &&Series| {
            let mut values = self.values(series, extreme);
            if series.x.len() < self.width && series.y.iter().all(Option::is_some) {
                // A point stands for what came since the one before it.
                let mut next = None;
                for value in values.iter_mut().rev() {
                    next = value.or(next);
                    *value = next;
                }
            }
            symbols(&values, unicode, |value| level(value, 0.0, highest, BLOCKS.len() - 1))
        };
        curves.iter().map(line).collect()
    }

    /// The ends of the axis, above or below the lines.
    pub(crate) fn axis(self, unit: &str) -> String {
        let [left, right] = self.ends.map(|end| quantity(end, unit));
        let gap = self.width.saturating_sub(left.chars().count() + right.chars().count()).max(1);
        format!("{left}{:gap$}{right}", "")
    }

    /// An arrow at `x` with its label on the side where there is room; `None` outside the axis.
    pub(crate) fn mark(self, x: f64, label: &str, style: Style) -> Option<String> {
        let [start, end] = self.ends;
        if !(start..=end).contains(&x) {
            return None;
        }
        let (column, width) = (self.column(x), self.width);
        let arrow = if style.unicode { '\u{25b2}' } else { '^' };
        let label: String = style.clean(label).chars().take(width.saturating_sub(2)).collect();
        let length = label.chars().count();
        Some(if column + 2 + length <= width {
            format!("{:column$}{arrow} {label}", "")
        } else if column > length {
            format!("{:pad$}{label} {arrow}", "", pad = column - length - 1)
        } else {
            format!("{:column$}{arrow}", "")
        })
    }

    /// The column of `x`.
    fn column(self, x: f64) -> usize {
        let [start, end] = self.ends;
        index(rounded(share(x, start, end) * (self.width as f64 - 1.0))).min(self.width - 1)
    }

    /// The value that each column shows of a curve.
    fn values(self, series: &Series, extreme: Extreme) -> Vec<Option<f64>> {
        let mut values = vec![None; self.width];
        for (x, y) in series.x.iter().zip(&series.y) {
            let Some(y) = *y else { continue };
            let value: &mut Option<f64> = &mut values[self.column(*x)];
            *value = Some(value.map_or(y, |before| match extreme {
                Extreme::Smallest => before.min(y),
                Extreme::Largest => before.max(y),
            }));
        }
        values
    }
}

/// The picture of a curve with one moment marked: a position on x and its label. Empty if the curve
/// is.
pub(crate) fn picture(series: &Series, (at, mark): (f64, &str), style: Style) -> Vec<String> {
    let highest = highest(&[series]);
    // The curve has half of the columns at least, whatever its unit.
    let label = |value| style.cut(&quantity(value, &series.y_unit), style.columns() / 2);
    let (top, bottom) = (label(highest), label(0.0));
    let margin = top.chars().count().max(bottom.chars().count());
    let indent = margin + 2;
    let width = style.columns().saturating_sub(indent);
    let Some(columns) = Columns::of(&[series], width) else { return Vec::new() };
    let values = columns.values(series, Extreme::Largest);
    let axis = if style.unicode { '\u{2502}' } else { '|' };
    let mut lines = Vec::with_capacity(ROWS + 2);
    for row in (0..ROWS).rev() {
        let label = match row {
            _ if row == ROWS - 1 => top.as_str(),
            0 => bottom.as_str(),
            _ => "",
        };
        let cells: String =
            values.iter().map(|value| cell(*value, highest, row, style.unicode)).collect();
        lines.push(format!("{label:>margin$} {axis}{cells}").trim_end().to_owned());
    }
    let ends = format!("{:indent$}{}", "", columns.axis(&style.clean(&series.x_unit)));
    lines.push(style.cut(&ends, style.columns()));
    lines.extend(columns.mark(at, mark, style).map(|mark| format!("{:indent$}{mark}", "")));
    lines
}

/// The largest value of the curves, at least 0.
fn highest(curves: &[&Series]) -> f64 {
    curves.iter().flat_map(|series| &series.y).flatten().copied().fold(0.0, f64::max)
}

/// The character of each value by its level, in [0, 7]; a blank where there is none.
fn symbols(values: &[Option<f64>], unicode: bool, level: impl Fn(f64) -> usize) -> String {
    let levels = if unicode { BLOCKS } else { LETTERS };
    values.iter().map(|value| value.map_or(' ', |value| levels[level(value)])).collect()
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

/// How many times `lowest` can be multiplied by `factor` without exceeding `value`, at most as many
/// as there are symbols. Multiplied out, because logarithms differ between machines.
fn steps(value: f64, lowest: f64, factor: u32) -> usize {
    let bounds = std::iter::successors(Some(lowest), |bound| Some(bound * f64::from(factor)));
    bounds.skip(1).take(BLOCKS.len()).take_while(|&bound| bound <= value).count()
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
