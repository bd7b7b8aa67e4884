//! A named drive's page: its figures as tables and as pictures.

use std::fmt::Write as _;

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries};
use trimbench_ssd::{Origin, Profile};

use super::super::escape;
use super::{LedgerFigure, NamedDrive, standings};
use crate::figure::{FigureStanding, RealFigure, ResponseTime};
use crate::real_drives::{courses, discards, zones};

/// What the tables of an entry are called.
const TITLES: [(&str, &str); 3] = [
    (courses::ENTRY.name, "Courses of writes"),
    (discards::ENTRY.name, "Discards"),
    (zones::ENTRY.name, "Zones that are discarded and written whole"),
];
/// Rows of a table that is shown at once; a longer one is opened by the reader.
const ROWS_OPEN: usize = 8;

/// A drive's page, with these pictures.
pub(super) fn page(profile: &Profile, drive: &NamedDrive<'_>, pictures: &[String]) -> String {
    let Profile { name, summary, values, .. } = profile;
    let mut page = format!(
        "# {name}\n\n{summary}. Written by `cargo xtask docs` from [what was measured]\
         (../measured.md); [what the figures are](README.md).\n\n\
         Within their bar: {}. **Bold**: misses its bar.{}\n",
        standings(drive),
        predicted_discards(drive)
    );
    for id in pictures {
        let shown = if id == name {
            "How far each figure is off"
        } else {
            "Response times at each rate, real and ours"
        };
        write!(page, "\n![{shown}](../drives/{id}.svg)\n").expect("a string takes all");
    }
    page += &tables(drive, "##");
    page +=
        "\n## Values of the profile that were fitted\n\n| key | value | to what |\n|---|---|---|\n";
    for value in values.iter().filter(|value| value.origin == Origin::Fitted) {
        let (key, shown, source) = (&value.key, value.with_unit(), escape(&value.source));
        writeln!(page, "| `{key}` | {shown} | {source} |").expect("a string takes all");
    }
    page
}

/// The discards that are predicted, as the README has them.
fn predicted_discards(drive: &NamedDrive<'_>) -> String {
    let of = drive.predicted(discards::ENTRY.name);
    let told: Vec<String> = of.map(|it| format!("{}: {}", it.name, it.both_told())).collect();
    if told.is_empty() { String::new() } else { format!(" Predicted {}.", told.join("; ")) }
}

/// All figures of a drive: a table for each entry, under a heading of this level.
pub(super) fn tables(drive: &NamedDrive<'_>, level: &str) -> String {
    let mut text = String::new();
    for figures in drive.figures.chunk_by(|one, other| one.entry == other.entry) {
        let entry = figures[0].entry;
        let title = TITLES.iter().find(|(of, _)| *of == entry).map_or(entry, |(_, title)| title);
        let mut table = String::from(
            "| figure | standing | real | ours | residual | bar | remark |\n\
             |---|---|---|---|---:|---|---|\n",
        );
        table.extend(figures.iter().map(line));
        heading(&mut text, level, title, entry);
        text += &folded(&table, figures.len());
    }
    if let Some(first) = drive.responses.first() {
        heading(&mut text, level, "Response times at rates", first.entry);
        text += &responses_table(drive);
    }
    text
}

fn heading(text: &mut String, level: &str, title: &str, entry: &str) {
    write!(
        text,
        "\n{level} {title}\n\nMeasured by [`real_drives.{entry}`](../measured.md#real_drives).\n\n"
    )
    .expect("a string takes all");
}

/// A long table is opened by the reader.
fn folded(table: &str, rows: usize) -> String {
    if rows <= ROWS_OPEN {
        return table.to_owned();
    }
    format!("<details><summary>{rows} figures</summary>\n\n{table}\n</details>\n")
}

fn line(figure: &LedgerFigure<'_>) -> String {
    let LedgerFigure { bar, part, .. } = figure;
    let off = part.off.map_or_else(|| "-".to_owned(), |off| format!("{off:.4}"));
    let off = if part.holds { off } else { format!("**{off}**") };
    let (name, standing, remark) = (escape(&part.name), part.standing.name(), escape(&part.remark));
    let (real, ours) = (part.real_told(), part.ours_told());
    format!("| {name} | {standing} | {real} | {ours} | {off} | {bar} | {remark} |\n")
}

/// The response times of a drive.
fn response_times<'a>(
    drive: &NamedDrive<'a>,
) -> impl Iterator<Item = (&'a ResponseTime, &'a RealFigure)> {
    let parts = drive.responses.iter().map(|figure| figure.part);
    parts.filter_map(|part| Some((part.response.as_ref()?, part)))
}

/// What is asked of the response times, in the order of columns.
fn quantities<'a>(drive: &NamedDrive<'a>) -> Vec<&'a str> {
    let mut all: Vec<&str> = response_times(drive).map(|(at, _)| &*at.quantity).collect();
    all.dedup();
    all
}

/// A line for each rate, and in it each quantity: the real one, ours, and whether that is right.
fn responses_table(drive: &NamedDrive<'_>) -> String {
    let quantities = quantities(drive);
    let heads: Vec<String> =
        quantities.iter().map(|name| format!("{name}: real | ours | right")).collect();
    let mut table = format!("| writes a second | standing | {} |\n|---:|---|", heads.join(" | "));
    table += &"---:|---:|---|".repeat(quantities.len());
    table.push('\n');
    let mut rates: Vec<f64> = response_times(drive).map(|(at, _)| at.writes_per_s).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|one, other| one.total_cmp(other).is_eq());
    for rate in rates {
        let of =
            || response_times(drive).filter(|(at, _)| at.writes_per_s.total_cmp(&rate).is_eq());
        let standing = of().next().map_or("", |(_, part)| part.standing.name());
        write!(table, "| {rate} | {standing} |").expect("a string takes all");
        for quantity in &quantities {
            let cell = match of().find(|(at, _)| at.quantity == *quantity) {
                None => " - | - | - |".to_owned(),
                Some((_, part)) => {
                    let right = if part.holds { "yes" } else { "**no**" };
                    format!(" {} | {} | {right} |", part.real_told(), part.ours_told())
                }
            };
            table += &cell;
        }
        table.push('\n');
    }
    table
}

/// How far the figures of a drive are off, those that were fitted and the others. Response times
/// have a picture of their own. `None` where nothing was measured.
pub(super) fn residuals(drive: &NamedDrive<'_>) -> Option<Chart> {
    // What is longer is cut off.
    let short = |figure: &LedgerFigure<'_>| {
        let short = figure.part.name.replace("write amplification, zones of ", "WA: ");
        short.replace("write amplification, ", "WA: ").replace("-scattered", "")
    };
    let names = drive.figures.iter().map(short);
    let mut chart = Chart::new(
        drive.name,
        format!("{}: how far each figure is off", drive.name),
        Axis::of("", names.collect()),
        Axis::from_zero("|ln(ours / real)|", ""),
    );
    chart.horizontal = true;
    chart.describe(
        "Courses and zones: the mean over their tenths. WA: write amplification. Where the real \
         figure is a bound that ours keeps, 0.",
    );
    for standing in [FigureStanding::Fitted, FigureStanding::Predicted, FigureStanding::Compared] {
        let of = |it: &LedgerFigure<'_>| it.part.off.filter(|_| it.part.standing == standing);
        let bars: Vec<Option<f64>> = drive.figures.iter().map(of).collect();
        if bars.iter().any(Option::is_some) {
            let stack = Some("off".to_owned());
            chart.curve(ChartSeries { stack, ..ChartSeries::bars(standing.name(), bars) });
        }
    }
    (!chart.is_empty()).then_some(chart)
}

/// Response times over the rate: ours as lines, real ones as points of the same colour. `None`
/// where nothing was measured.
pub(super) fn responses(drive: &NamedDrive<'_>) -> Option<Chart> {
    let mut chart = Chart::new(
        format!("{}-response", drive.name),
        format!("{}: response times at each rate", drive.name),
        Axis::from_zero("writes a second", ""),
        Axis::log("response time", "ms"),
    );
    chart.describe("Lines: ours. Points: the real drive.");
    for quantity in quantities(drive) {
        let of = || response_times(drive).filter(|(at, _)| at.quantity == quantity);
        let x: Vec<f64> = of().map(|(at, _)| at.writes_per_s).collect();
        let curve = |name: String, kind, us: fn(&RealFigure) -> Option<f64>| {
            let y = of().map(|(_, part)| us(part).map(|us| us / 1e3)).collect();
            ChartSeries::new(name, kind, x.clone(), y)
        };
        let ours = curve(quantity.to_owned(), ChartKind::Line, |part| part.ours);
        let real =
            curve(format!("{quantity}, real"), ChartKind::Points, |part| Some(part.real.number()));
        chart.curve(ours);
        chart.curve(ChartSeries { like: Some(quantity.to_owned()), ..real });
    }
    (!chart.is_empty()).then_some(chart)
}
