//! The figures of one session: a line each, and percentiles and planes as tables.

use MetricAxis::{Chunk, Data, Over, Pace, Size, State, Trimmed, Trims, Way};
use trimbench_results::{Coordinates, Figure, MetricAxis, Quantile, Session};

use super::headlines::{common_level, interval, interval_name, verdict};
use super::notes::Notes;
use super::pivot::Pivot;
use super::{arms, joined, sides, surface, under};
use crate::grid::{GAP, Grid, GridColumn};
use crate::number::count;
use crate::style::Style;

#[cfg(test)]
mod tests;

/// Blanks before the rows below a subheading.
const INDENT: usize = 2;
/// Blanks before a remark that has no room beside its figure.
const REMARK_INDENT: usize = 4;
/// The header of the remarks.
const REMARK: &str = "remark";
/// The axes whose places stand above neighbours that share them; of each figure the first for which
/// it has words.
const ABOVE: [MetricAxis; 10] =
    [Over, MetricAxis::Quantile, Data, Way, Trims, Pace, Trimmed, Size, Chunk, State];

/// Makes the tables of figures of one kind.
type Tables = fn(&[&Figure], &Notes, Style) -> Vec<String>;

/// All figures of a session, the headline first.
pub(super) fn figures(session: &Session, notes: &Notes, style: Style) -> Vec<String> {
    let mut ordered: Vec<&Figure> = session.figures.iter().collect();
    ordered.sort_by_key(|figure| !figure.headline);
    let tables: [Tables; 6] =
        [sides::tables, arms::tables, table, percentiles, surface::table, under::tables];
    let mut figures: [Vec<&Figure>; 6] = Default::default();
    for figure in ordered {
        let table = match figure {
            _ if sides::holds(figure) => 0,
            _ if arms::holds(figure) => 1,
            _ if surface::holds(figure) => 4,
            _ if under::row(figure).is_some() => 5,
            _ if in_matrix(figure) => 3,
            _ => 2,
        };
        figures[table].push(figure);
    }
    let shown = figures.iter().zip(tables).filter(|(figures, _)| !figures.is_empty());
    let shown = shown.map(|(figures, table)| table(figures, notes, style));
    shown.collect::<Vec<_>>().join(&String::new())
}

/// A figure a line; neighbours at one place stand below that place.
fn table(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let level = common_level(figures.iter().copied());
    let remarks: Vec<String> = figures.iter().map(|figure| remark(figure, notes)).collect();
    // First without remarks, to see how many of them have room.
    let plain = fill(figures, &vec![None; figures.len()], level);
    let room = style.columns().saturating_sub(plain.natural_width() + GAP);
    let beside = |remark: &String| room >= REMARK.len() && remark.chars().count() <= room;
    let placed: Vec<Option<(bool, String)>> = remarks
        .iter()
        .map(|remark| (!remark.is_empty()).then(|| (beside(remark), remark.clone())))
        .collect();
    fill(figures, &placed, level).render(style)
}

/// The rows, each with its remark beside it (`true`) or below.
fn fill(figures: &[&Figure], remarks: &[Option<(bool, String)>], level: Option<f64>) -> Grid {
    let column = remarks.iter().flatten().any(|(beside, _)| *beside);
    let mut grid = Grid::new(columns(level, column));
    let mut open = None;
    for (index, (figure, remark)) in figures.iter().zip(remarks).enumerate() {
        let near = [index.checked_sub(1), Some(index + 1)];
        let mut near = near.into_iter().flatten().filter_map(|near| figures.get(near));
        let group = above(figure).filter(|group| near.any(|near| above(near) == Some(*group)));
        if let Some((_, words)) = group.filter(|group| open != Some(*group)) {
            grid.span(0, format!("{words}:"));
        }
        open = group;
        let title = match group {
            Some((axis, _)) => {
                format!("{:INDENT$}{}", "", figure.coordinates.without(&[axis]).phrase())
            }
            None => figure.title.clone(),
        };
        let shown = figure.shown();
        let mut cells = vec![title, shown.number.clone(), shown.unit.clone()];
        cells.push(interval(figure, &shown, level));
        cells.push(count(figure.n));
        match remark {
            Some((true, remark)) => {
                cells.push(remark.clone());
                grid.row(cells);
            }
            Some((false, remark)) => {
                grid.row(cells);
                grid.span(REMARK_INDENT, remark.clone());
            }
            None => grid.row(cells),
        }
    }
    grid
}

fn columns(level: Option<f64>, remarks: bool) -> Vec<GridColumn> {
    let mut columns =
        vec![GridColumn::text("figure"), GridColumn::number("value"), GridColumn::close("")];
    columns.extend([GridColumn::number(&interval_name(level)), GridColumn::number("n")]);
    columns.extend(remarks.then(|| GridColumn::text(REMARK)));
    columns
}

/// The verdict, and where to read what limits the figure.
fn remark(figure: &Figure, notes: &Notes) -> String {
    let marks = notes.marks(&figure.caveats);
    let note = if marks.is_empty() { marks } else { format!("note {marks}") };
    joined([verdict(figure), note])
}

/// What may stand above the figure and its neighbours: `1GiB deleted`.
fn above(figure: &Figure) -> Option<(MetricAxis, &str)> {
    let shown = |axis| Some((axis, figure.coordinates.words(axis)?));
    ABOVE.into_iter().filter_map(shown).find(|(_, words)| !words.is_empty())
}

/// The percentile that the figure is, if it is one.
fn quantile(figure: &Figure) -> Option<Quantile> {
    figure.coordinates.key(MetricAxis::Quantile)?.parse().ok()
}

/// Whether the figure stands in the matrix: a percentile of which nothing but the value is known.
fn in_matrix(figure: &Figure) -> bool {
    let plain = figure.interval.is_none() && figure.verdict.is_none() && !figure.headline;
    plain && quantile(figure).is_some()
}

/// Percentiles of one kind in a line, in ascending order.
fn percentiles(figures: &[&Figure], notes: &Notes, style: Style) -> Vec<String> {
    let mut matrix = Pivot::of(figures, |figure| {
        Some((figure.coordinates.without(&[MetricAxis::Quantile]), quantile(figure)?))
    });
    matrix.columns.sort_unstable();
    let titles: Vec<String> = matrix.rows.iter().map(Coordinates::phrase).collect();
    let common = common_words(&titles);
    let heading = match common.trim_end_matches([' ', ',']) {
        "" => "percentiles".to_owned(),
        common => format!("{common} {}", style.ellipsis()),
    };
    let marked = figures.iter().any(|figure| !figure.caveats.is_empty());
    let mut columns = vec![GridColumn::text(&heading)];
    let quantiles = matrix.columns.iter();
    columns.extend(quantiles.map(|quantile| GridColumn::number(&quantile.to_string())));
    columns.push(GridColumn::number("n"));
    columns.extend(marked.then(|| GridColumn::text("note")));
    let mut grid = Grid::new(columns);
    for (row, title) in matrix.rows.iter().zip(&titles) {
        let mut cells = vec![title[common.len()..].to_owned()];
        cells.extend(matrix.cells(row, &matrix.columns, |it| it.shown().quantity()));
        // The observations behind the line, from the least to the most where they differ.
        let n = || matrix.row(row).map(|figure| figure.n);
        let (least, most) = (n().min().unwrap_or(0), n().max().unwrap_or(0));
        let n = if least == most {
            count(least)
        } else {
            format!("{} to {}", count(least), count(most))
        };
        cells.extend([n, matrix.marks(row, notes)]);
        grid.row(cells);
    }
    grid.render(style)
}

/// The whole words with which all titles begin, with the blank behind them; nothing
/// for a single one.
fn common_words(titles: &[String]) -> String {
    let [first, rest @ ..] = titles else { return String::new() };
    let words = first.split_inclusive(' ').filter(|word| word.ends_with(' '));
    let mut common = String::new();
    for word in words {
        let longer = format!("{common}{word}");
        if rest.is_empty() || !rest.iter().all(|title| title.starts_with(&longer)) {
            break;
        }
        common = longer;
    }
    common
}
