//! Curves on one x axis, a line each, between their names and their extremes.

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

/// Curves with the widths that their names and extremes leave for them.
pub(super) struct Strips<'a> {
    strips: Vec<Strip<'a>>,
    /// What the extremes are: `longest`.
    heading: &'static str,
    pub(super) columns: Columns,
    name_width: usize,
    extreme_width: usize,
}

impl<'a> Strips<'a> {
    /// `None` if none of the curves has a point.
    pub(super) fn of(strips: Vec<Strip<'a>>, heading: &'static str, style: Style) -> Option<Self> {
        let length = |text: &String| text.chars().count();
        let name_width = strips.iter().map(|strip| length(&strip.name)).max().unwrap_or(0);
        let extremes = strips.iter().map(|strip| length(&strip.extreme));
        let extreme_width = extremes.fold(heading.len(), usize::max);
        let width = style.columns().saturating_sub(name_width + extreme_width + 2 * GAP).max(1);
        let columns = Columns::of(strips.iter().map(|strip| strip.series), width)?;
        Some(Self { strips, heading, columns, name_width, extreme_width })
    }

    /// The curves.
    pub(super) fn series(&self) -> Vec<&'a Series> {
        self.strips.iter().map(|strip| strip.series).collect()
    }

    /// The axis, then each curve as `drawn`. Neighbours with the same mark have it once, below the
    /// last of them.
    pub(super) fn render(&self, drawn: &[String], style: Style) -> Vec<String> {
        let unit = self.strips.first().map_or("", |strip| strip.series.x_unit.as_str());
        let mut lines = vec![self.line("", &self.columns.axis(&style.clean(unit)), self.heading)];
        for (index, (strip, curve)) in self.strips.iter().zip(drawn).enumerate() {
            lines.push(self.line(&strip.name, curve, &strip.extreme));
            let Some((x, label)) = &strip.mark else { continue };
            let next = self.strips.get(index + 1).and_then(|next| next.mark.as_ref());
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
