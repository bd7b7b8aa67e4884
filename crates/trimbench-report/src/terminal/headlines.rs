//! The main results, compared: one table for each method, figure and clock.

use trimbench_core::units::{index, rounded};
use trimbench_results::{Figure, RunRecord, Session};

use super::names::label;
use super::notes::Notes;
use crate::grid::{GAP, Grid, GridColumn};
use crate::number::{ShownFigure, significant};
use crate::style::Style;

/// Characters of the longest bar where there is room.
const BAR_MAX: usize = 24;
/// Shorter bars tell nothing; there are none then.
const BAR_MIN: usize = 4;
/// Eighths of a character cell, thinnest first.
const EIGHTHS: [char; 8] = [
    '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}', '\u{2588}',
];

/// Sessions whose headlines may stand in one table: one method, one figure, one clock. Virtual and
/// wall time are never sorted together.
pub(super) struct Group<'a> {
    sessions: Vec<(&'a Session, &'a Figure)>,
}

/// The groups, in the order of their first session; in each, `by_value`, the smallest value first.
pub(super) fn groups(record: &RunRecord, by_value: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for session in &record.sessions {
        let Some(figure) = session.headline() else { continue };
        match groups.iter_mut().find(|group| group.takes(session, figure)) {
            Some(group) => group.sessions.push((session, figure)),
            None => groups.push(Group { sessions: vec![(session, figure)] }),
        }
    }
    for group in groups.iter_mut().filter(|_| by_value) {
        group.sessions.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    }
    groups
}

impl Group<'_> {
    /// The sessions, in their order.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|(session, _)| *session)
    }

    /// The table, with bars where there is something to compare and room for it.
    pub(super) fn table(&self, record: &RunRecord, notes: &Notes, style: Style) -> Vec<String> {
        let (_, figure) = self.sessions[0];
        let level = common_level(self.sessions.iter().map(|(_, figure)| *figure));
        // A unit that all have stands in the header.
        let common = figure.shown().unit;
        let same = self.sessions.iter().all(|(_, figure)| figure.shown().unit == common);
        let unit = if same && !common.is_empty() { &common } else { "value" };
        let mut columns = vec![GridColumn::name("target"), GridColumn::number(&style.clean(unit))];
        columns.push(GridColumn::number(&interval_name(level)));
        columns.extend([GridColumn::text("finding"), GridColumn::text("note")]);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (session, figure) in &self.sessions {
            let name = label(record, session);
            let shown = figure.shown();
            let ids = figure.caveats.iter().chain(&session.caveats);
            rows.push(vec![
                style.cut_middle(&name, style.columns() / 3),
                if same { shown.number.clone() } else { shown.quantity() },
                interval(figure, &shown, level),
                style.clean(word(&verdict(figure))),
                notes.marks(ids),
            ]);
        }
        let mut lines = vec![style.heading(&self.title())];
        // What is shown as zero has no bar.
        let visible = |(_, figure): &(&Session, &Figure)| {
            if figure.shown().is_zero() { 0.0 } else { figure.value }
        };
        let values: Vec<f64> = self.sessions.iter().map(visible).collect();
        lines.extend(with_bars(columns, rows, &values, style));
        lines.extend(self.explained().iter().flat_map(|text| style.labelled("", 0, text)));
        lines
    }

    fn title(&self) -> String {
        let (session, figure) = self.sessions[0];
        let preset = &session.plan.preset;
        let common = self.sessions().all(|session| session.plan.preset == *preset);
        let preset = if common { format!(" ({preset})") } else { String::new() };
        let clock = super::clock(session);
        format!("{}{preset}: {}, {clock}", session.plan.method, figure.title)
    }

    /// The verdicts that say more than their first words, each once.
    fn explained(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for verdict in self.sessions.iter().map(|(_, figure)| verdict(figure)) {
            if word(&verdict) != verdict && !texts.contains(&verdict) {
                texts.push(verdict);
            }
        }
        texts
    }

    fn takes(&self, session: &Session, figure: &Figure) -> bool {
        let (first, own) = self.sessions[0];
        first.plan.method == session.plan.method
            && first.target.clock == session.target.clock
            && (own.id.as_str(), own.unit.as_str()) == (figure.id.as_str(), figure.unit.as_str())
    }
}

/// The record's word; without one, whether a signed effect may be zero.
pub(super) fn verdict(figure: &Figure) -> String {
    // A quantity that cannot be negative often has 0 as its lower end, and that says nothing. A
    // change per gigabyte can, whatever its interval.
    let signed = |low: f64| low < 0.0 || figure.unit.contains("/GB");
    let holds_zero = figure.interval.is_some_and(|interval| {
        interval.contains(0.0) && interval.low < interval.high && signed(interval.low)
    });
    match figure.words() {
        Some(words) => words,
        None if holds_zero => "holds 0".to_owned(),
        None => String::new(),
    }
}

/// The confidence level that all intervals share.
pub(super) fn common_level<'a>(figures: impl Iterator<Item = &'a Figure>) -> Option<f64> {
    let mut levels = figures.filter_map(|figure| figure.interval).map(|interval| interval.level);
    let first = levels.next()?;
    levels.all(|level| level.total_cmp(&first).is_eq()).then_some(first)
}

/// The header of intervals of this common level.
pub(super) fn interval_name(level: Option<f64>) -> String {
    level
        .map_or("interval".to_owned(), |level| format!("{} % interval", significant(level * 100.0)))
}

/// The ends; with its level where that is not in the header.
pub(super) fn interval(figure: &Figure, shown: &ShownFigure, common: Option<f64>) -> String {
    let (Some(interval), Some(ends)) = (figure.interval, shown.interval()) else {
        return "-".to_owned();
    };
    match common {
        Some(_) => ends,
        None => format!("{ends} ({} %)", significant(interval.level * 100.0)),
    }
}

/// What a verdict says before it explains itself: `noise` of `noise: not told apart`.
fn word(verdict: &str) -> &str {
    verdict.split_once(": ").map_or(verdict, |(word, _)| word)
}

/// The table; with a column of bars before the last if that leaves everything in one line.
fn with_bars(
    mut columns: Vec<GridColumn>,
    mut rows: Vec<Vec<String>>,
    values: &[f64],
    style: Style,
) -> Vec<String> {
    let grid = |columns: &[GridColumn], rows: &[Vec<String>]| {
        let mut grid = Grid::new(columns.to_vec());
        for row in rows {
            grid.row(row.iter().cloned());
        }
        grid
    };
    let room = style.columns().saturating_sub(grid(&columns, &rows).natural_width() + GAP);
    let largest = values.iter().copied().fold(0.0, f64::max);
    if rows.len() > 1 && largest > 0.0 && room >= BAR_MIN {
        let before = columns.len() - 1;
        columns.insert(before, GridColumn::text(""));
        for (row, value) in rows.iter_mut().zip(values) {
            row.insert(before, bar(value / largest, room.min(BAR_MAX), style.unicode));
        }
    }
    grid(&columns, &rows).render(style)
}

/// A bar of at most `length` characters; nothing for 0 and less, something for all above.
fn bar(share: f64, length: usize, unicode: bool) -> String {
    if share <= 0.0 {
        return String::new();
    }
    let eighths = index(rounded((share * (length * 8) as f64).max(1.0)));
    let (whole, part) = (eighths / 8, eighths % 8);
    if !unicode {
        return "#".repeat(whole.max(1));
    }
    let mut bar: String = std::iter::repeat_n(EIGHTHS[7], whole).collect();
    bar.extend(part.checked_sub(1).map(|thinner| EIGHTHS[thinner]));
    bar
}
