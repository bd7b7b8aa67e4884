//! The tables of the report: headlines across sessions, figures of one session.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};
use trimbench_core::units::{index, rounded};
use trimbench_results::{Figure, RunRecord, Session};

use super::notes::Notes;
use crate::number::{Scale, significant};
use crate::style::Style;

/// Characters of the longest bar.
const BAR: usize = 8;
/// Columns of text from which on numbers are never broken.
const WHOLE_NUMBERS_FROM: usize = 72;
/// Names and intervals longer than this may be broken all the same.
const WHOLE_MAX: u16 = 24;
/// Eighths of a character cell, thinnest first.
const EIGHTHS: [char; 8] = [
    '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}', '\u{2588}',
];

/// Sessions whose headlines may stand in one table: one method, one figure, one clock. Virtual and
/// wall time are never sorted together.
pub(super) struct Group<'a> {
    sessions: Vec<(&'a Session, &'a Figure)>,
}

/// The groups, in the order of their first session.
pub(super) fn headline_groups(record: &RunRecord) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for session in &record.sessions {
        let Some(figure) = session.headline() else { continue };
        match groups.iter_mut().find(|group| group.takes(session, figure)) {
            Some(group) => group.sessions.push((session, figure)),
            None => groups.push(Group { sessions: vec![(session, figure)] }),
        }
    }
    for group in &mut groups {
        group.sessions.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    }
    groups
}

/// One group as a table, the smallest value first, with bars.
pub(super) fn headlines(group: &Group<'_>, notes: &Notes, style: Style) -> Vec<String> {
    let (session, figure) = group.sessions[0];
    let clock = super::clock(session);
    let title = format!("{}: {}, in {clock}", session.plan.method, figure.title);
    let values: Vec<f64> = group.sessions.iter().map(|(_, figure)| figure.value).collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let scale = Scale::for_values(&values, &figure.unit);
    let level = common_level(group.sessions.iter().map(|(_, figure)| *figure));
    let mut header =
        vec!["target".to_owned(), style.clean(&unit_name(&scale.unit)), interval_name(level)];
    header.extend(["verdict", "", "note"].map(str::to_owned));
    let mut table = table(&header, style);
    for (session, figure) in &group.sessions {
        let ids = figure.caveats.iter().chain(&session.caveats);
        table.add_row([
            style.clean(&session.target.name),
            scale.print(figure.value),
            interval(figure, &scale, level),
            style.clean(&verdict(figure)),
            bar(figure.value, largest, style.unicode),
            notes.marks(ids),
        ]);
    }
    lay_out(&mut table, &[1, 2], &[0, 4, 5], style);
    let mut lines = vec![style.heading(&title)];
    lines.extend(render(&table));
    lines
}

/// All figures of a session, the headline first.
pub(super) fn figures(session: &Session, notes: &Notes, style: Style) -> Vec<String> {
    let mut figures: Vec<&Figure> = session.figures.iter().collect();
    figures.sort_by_key(|figure| !figure.headline);
    let level = common_level(figures.iter().copied());
    let mut header = vec!["figure".to_owned(), "value".to_owned(), "unit".to_owned()];
    header.push(interval_name(level));
    header.extend(["n", "verdict", "note"].map(str::to_owned));
    let mut table = table(&header, style);
    for figure in figures {
        let ends = figure.interval.map_or([0.0; 2], |interval| [interval.low, interval.high]);
        let scale = Scale::for_values(&[figure.value, ends[0], ends[1]], &figure.unit);
        table.add_row([
            style.clean(&figure.title),
            scale.print(figure.value),
            style.clean(&scale.unit),
            interval(figure, &scale, level),
            figure.n.to_string(),
            style.clean(&verdict(figure)),
            notes.marks(&figure.caveats),
        ]);
    }
    lay_out(&mut table, &[1, 3, 4], &[2, 6], style);
    render(&table)
}

impl Group<'_> {
    fn takes(&self, session: &Session, figure: &Figure) -> bool {
        let (first, own) = self.sessions[0];
        first.plan.method == session.plan.method
            && first.target.clock == session.target.clock
            && (own.id.as_str(), own.unit.as_str()) == (figure.id.as_str(), figure.unit.as_str())
    }
}

fn unit_name(unit: &str) -> String {
    if unit.is_empty() { "value".to_owned() } else { unit.to_owned() }
}

/// The record's word; without one, at least whether zero is a possible value.
fn verdict(figure: &Figure) -> String {
    let holds_zero = figure.interval.is_some_and(|interval| interval.contains(0.0));
    match &figure.verdict {
        Some(verdict) => verdict.clone(),
        None if holds_zero => "interval holds 0".to_owned(),
        None => String::new(),
    }
}

/// The confidence level that all intervals share.
fn common_level<'a>(figures: impl Iterator<Item = &'a Figure>) -> Option<f64> {
    let mut levels = figures.filter_map(|figure| figure.interval).map(|interval| interval.level);
    let first = levels.next()?;
    levels.all(|level| level.total_cmp(&first).is_eq()).then_some(first)
}

fn interval_name(level: Option<f64>) -> String {
    level
        .map_or("interval".to_owned(), |level| format!("{} % interval", significant(level * 100.0)))
}

/// The ends; with its level where that is not in the header.
fn interval(figure: &Figure, scale: &Scale, common: Option<f64>) -> String {
    let Some(interval) = figure.interval else { return "-".to_owned() };
    let ends = format!("{} to {}", scale.print(interval.low), scale.print(interval.high));
    match common {
        Some(_) => ends,
        None => format!("{ends} ({} %)", significant(interval.level * 100.0)),
    }
}

/// A bar of at most [`BAR`] characters; nothing for 0 and less, something for all above.
fn bar(value: f64, largest: f64, unicode: bool) -> String {
    if value <= 0.0 || largest <= 0.0 {
        return String::new();
    }
    let eighths = (value / largest * (BAR * 8) as f64).round().max(1.0);
    let eighths = index(rounded(eighths));
    let (whole, part) = (eighths / 8, eighths % 8);
    if !unicode {
        return "#".repeat(whole.max(1));
    }
    let mut bar: String = std::iter::repeat_n(EIGHTHS[7], whole).collect();
    bar.extend(part.checked_sub(1).map(|thinner| EIGHTHS[thinner]));
    bar
}

fn table(header: &[String], style: Style) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(style.columns()).unwrap_or(u16::MAX))
        .set_header(header);
    let rule = if style.unicode { '\u{2500}' } else { '-' };
    table.set_style(TableComponent::HeaderLines, rule);
    table.set_style(TableComponent::MiddleHeaderIntersections, rule);
    table
}

/// Numbers to the right; where there is room, they and the columns of `whole` in one line.
fn lay_out(table: &mut Table, numbers: &[usize], whole: &[usize], style: Style) {
    let roomy = style.columns() >= WHOLE_NUMBERS_FROM;
    let widths = table.column_max_content_widths();
    let between = 2 * widths.len().saturating_sub(1);
    if widths.iter().map(|&width| usize::from(width)).sum::<usize>() + between <= style.columns() {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // Between two columns stand this blank and the table's own.
        column.set_padding((0, u16::from(index + 1 < widths.len())));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let keep = numbers.contains(&index) || whole.contains(&index);
        let fits = widths.get(index).is_some_and(|&width| width <= WHOLE_MAX);
        if roomy && keep && fits {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

fn render(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}
