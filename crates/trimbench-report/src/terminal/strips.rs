//! Curves that share an x axis, one line each: name, curve, extreme.

use trimbench_results::Series;

use super::picture::Columns;
use crate::grid::GAP;
use crate::style::Style;

/// One curve.
pub(super) struct Strip<'a> {
    pub(super) name: String,
    pub(super) series: &'a Series,
    /// Its extreme, in words.
    pub(super) extreme: String,
    /// A place on the x axis, and what happened there.
    pub(super) mark: Option<(f64, String)>,
}

/// Curves laid out in the terminal's width: names to the left, extremes to the right.
pub(super) struct Strips<'a> {
    rows: Vec<Strip<'a>>,
    /// What the extremes are: `longest`.
    heading: &'static str,
    pub(super) columns: Columns,
    name_width: usize,
    extreme_width: usize,
}

impl<'a> Strips<'a> {
    /// `None` if none of the curves has a point.
    pub(super) fn of(rows: Vec<Strip<'a>>, heading: &'static str, style: Style) -> Option<Self> {
        let length = |text: &String| text.chars().count();
        let name_width = rows.iter().map(|row| length(&row.name)).max().unwrap_or(0);
        let extremes = rows.iter().map(|row| length(&row.extreme));
        let extreme_width = extremes.fold(heading.len(), usize::max);
        let width = style.columns().saturating_sub(name_width + extreme_width + 2 * GAP).max(1);
        let series: Vec<&Series> = rows.iter().map(|row| row.series).collect();
        let columns = Columns::of(&series, width)?;
        Some(Self { rows, heading, columns, name_width, extreme_width })
    }

    /// The curves.
    pub(super) fn series(&self) -> Vec<&'a Series> {
        self.rows.iter().map(|strip| strip.series).collect()
    }

    /// The axis, then the lines in `drawn`, one for each curve. Curves next to each other that have
    /// the same mark share one, below the last of them.
    pub(super) fn render(&self, drawn: &[String], style: Style) -> Vec<String> {
        let unit = self.rows.first().map_or("", |strip| strip.series.x_unit.as_str());
        let mut lines = vec![self.line("", &self.columns.axis(&style.clean(unit)), self.heading)];
        for (index, (strip, curve)) in self.rows.iter().zip(drawn).enumerate() {
            lines.push(self.line(&strip.name, curve, &strip.extreme));
            let Some((x, label)) = &strip.mark else { continue };
            let next = self.rows.get(index + 1).and_then(|next| next.mark.as_ref());
            if next.is_none_or(|(_, other)| other != label) {
                let mark = self.columns.mark(*x, label, style);
                lines.extend(mark.map(|mark| self.line("", &mark, "")));
            }
        }
        let cut = |line: String| line.trim_end().chars().take(style.columns()).collect();
        lines.into_iter().map(cut).collect()
    }

    fn line(&self, name: &str, curve: &str, extreme: &str) -> String {
        let (names, extremes, width) = (self.name_width, self.extreme_width, self.columns.width);
        format!("{name:names$}{:GAP$}{curve:width$}{:GAP$}{extreme:>extremes$}", "", "")
    }
}
