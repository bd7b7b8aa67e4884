//! Methods and drives in one table: a cell is the figure that the method is for, or the short
//! verdict that says more. It stands the way that takes fewer lines.

use trimbench_results::{Figure, Role, RunRecord, Session, Verdict};

use super::super::headlines::verdict as words;
use super::super::notes::Notes;
use super::Judged;
use crate::grid::{Grid, GridColumn};
use crate::style::Style;

/// Behind a figure that a note limits.
pub(super) const MARK: &str = "*";
/// What was not run.
const ABSENT: &str = "-";

/// The sessions of one method, and on the same kind of filesystem where it was run on several.
struct Row<'a> {
    label: String,
    /// By drive: its sessions.
    cells: Vec<Vec<&'a Session>>,
}

impl<'a> Row<'a> {
    fn figures(&self) -> impl Iterator<Item = (&'a Session, &'a Figure)> {
        let sessions = self.cells.iter().flatten().copied();
        sessions.filter_map(|session| Some((session, session.headline()?)))
    }
}

/// The table, with what its figures are.
pub(super) fn matrix(
    record: &RunRecord,
    drives: &[Judged<'_>],
    notes: &Notes,
    style: Style,
) -> Vec<String> {
    let rows = rows(record, drives);
    let names: Vec<String> = drives.iter().map(|it| it.drive.name.clone()).collect();
    let texts: Vec<Vec<String>> = rows.iter().map(|row| texts(row, notes, style)).collect();
    if let [name] = names.as_slice() {
        return of_one(name, &rows, &texts, style);
    }
    let methods: Vec<String> = rows.iter().map(|row| row.label.clone()).collect();
    let names: Vec<String> =
        names.iter().map(|name| style.cut_middle(name, style.columns() / 3)).collect();
    let upright = tables(("method", &methods), &names, &texts, style);
    let column = |index: usize| texts.iter().map(|row| row[index].clone()).collect();
    let turned: Vec<Vec<String>> = (0..names.len()).map(column).collect();
    let across = tables(("drive", &names), &methods, &turned, style);
    let mut lines = if across.len() < upright.len() { across } else { upright };
    lines.push(String::new());
    lines.extend(style.labelled("", 0, &legend(&rows)));
    lines
}

/// A row for each method, with what its figure is and what was found.
fn of_one(name: &str, rows: &[Row<'_>], texts: &[Vec<String>], style: Style) -> Vec<String> {
    let name = style.cut_middle(name, style.columns() / 3);
    let mut grid = Grid::new(vec![
        GridColumn::name("method"),
        GridColumn::name(&name),
        GridColumn::text("what it is, and what was found"),
    ]);
    for (row, cells) in rows.iter().zip(texts) {
        let found = row.figures().next().map(|(session, figure)| match words(figure) {
            words if session.believes(figure) && !words.is_empty() => {
                format!("{}: {words}", title(figure))
            }
            _ => title(figure),
        });
        let cells = [row.label.clone(), cells.join(" / "), found.unwrap_or_default()];
        grid.row(cells);
    }
    grid.render(style)
}

/// The rows in the order of the plan.
fn rows<'a>(record: &'a RunRecord, drives: &[Judged<'a>]) -> Vec<Row<'a>> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for session in record.sessions.iter().filter(|session| session.left_out.is_none()) {
        let key = (session.plan.method.as_str(), filesystem(session));
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let row = |key: &(&str, &str)| {
        let of_drive = |judged: &Judged<'a>| {
            let sessions = judged.drive.sessions.iter().copied();
            sessions.filter(|it| (it.plan.method.as_str(), filesystem(it)) == *key).collect()
        };
        let alone = keys.iter().filter(|other| other.0 == key.0).count() == 1;
        let label = if alone || key.1.is_empty() {
            key.0.to_owned()
        } else {
            format!("{}, {}", key.0, key.1)
        };
        Row { label, cells: drives.iter().map(of_drive).collect() }
    };
    keys.iter().map(row).collect()
}

/// The filesystem that was made on the drive; nothing on a drive itself.
fn filesystem(session: &Session) -> &str {
    match session.target.kind.as_str() {
        "filesystem" => session.target.identity.get("filesystem").map_or("", String::as_str),
        _ => "",
    }
}

/// The cells of a row.
fn texts(row: &Row<'_>, notes: &Notes, style: Style) -> Vec<String> {
    let cell = |sessions: &Vec<&Session>| {
        let texts = sessions.iter().map(|session| cell(session, notes, style));
        let texts = texts.collect::<Vec<_>>().join(" / ");
        if texts.is_empty() { ABSENT.to_owned() } else { texts }
    };
    row.cells.iter().map(cell).collect()
}

/// What a session came to, in a word or a number.
fn cell(session: &Session, notes: &Notes, style: Style) -> String {
    let Some(figure) = session.headline() else {
        return if session.finished { "no figure" } else { "unfinished" }.to_owned();
    };
    if !session.believes(figure) {
        return "INVALID".to_owned();
    }
    let at_most = if style.unicode { "\u{2264}" } else { "<=" };
    let text = match &figure.verdict {
        Some(Verdict::NoSlowdownFound { at_most: limit }) => format!("{at_most} {limit}"),
        Some(verdict) if verdict.is_noise() => "noise".to_owned(),
        Some(
            Verdict::WholeTrims { full, .. }
            | Verdict::WholeTrimsAlike { full, .. }
            | Verdict::SpanTrims { full, .. }
            | Verdict::SpanTrimsAlike { full, .. },
        ) => full.clone(),
        // That nothing was lost has more to it than a zero.
        Some(verdict) if figure.role == Some(Role::NeighboursLost) && figure.value == 0.0 => {
            first_words(&verdict.to_string())
        }
        _ => figure.shown().quantity(),
    };
    let mut ids = figure.caveats.iter().chain(&session.caveats);
    let mark = if ids.any(|id| !notes.is_of_all(id)) { MARK } else { "" };
    format!("{} {mark}", text.trim_end()).trim_end().to_owned()
}

/// What words say before they explain themselves.
fn first_words(words: &str) -> String {
    words.split_once(": ").map_or(words, |(first, _)| first).to_owned()
}

/// What the figure is, as the table shows it.
fn title(figure: &Figure) -> String {
    match &figure.verdict {
        Some(
            Verdict::WholeTrims { span, .. }
            | Verdict::WholeTrimsAlike { span, .. }
            | Verdict::SpanTrims { span, .. }
            | Verdict::SpanTrimsAlike { span, .. },
        ) => format!("one TRIM of {span}, full, at rest"),
        _ => figure.title.clone(),
    }
}

/// What each row shows.
fn legend(rows: &[Row<'_>]) -> String {
    let of_row = |row: &Row<'_>| {
        let (_, figure) = row.figures().next()?;
        Some(format!("{}: {}", row.label, title(figure)))
    };
    rows.iter().filter_map(of_row).collect::<Vec<_>>().join("; ")
}

/// The table in as many parts as the width asks for.
fn tables(
    (corner, rows): (&str, &[String]),
    columns: &[String],
    cells: &[Vec<String>],
    style: Style,
) -> Vec<String> {
    let grid = |from: usize, to: usize| {
        let heads = columns[from..to].iter().map(|head| GridColumn::number_below(head));
        let head = std::iter::once(GridColumn::name(corner)).chain(heads);
        let mut grid = Grid::new(head.collect());
        for (name, row) in rows.iter().zip(cells) {
            grid.row(std::iter::once(name.clone()).chain(row[from..to].iter().cloned()));
        }
        grid
    };
    let (mut lines, mut from) = (Vec::new(), 0);
    while from < columns.len() {
        let fits = |to: &usize| grid(from, *to).least_width() <= style.columns();
        let to = (from + 1..=columns.len()).take_while(fits).last().unwrap_or(from + 1);
        if from > 0 {
            lines.push(String::new());
        }
        lines.extend(grid(from, to).render(style));
        from = to;
    }
    lines
}
