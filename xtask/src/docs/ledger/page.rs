//! A named drive's page: its figures as tables and as pictures.

use std::fmt::Write as _;

use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries};
use trimbench_ssd::{Origin, Profile};

use super::evidence::{LedgerFigure, ResponseCell};
use super::{NamedDrive, standings};
use crate::evidence::page::escape;

const STANDINGS: [&str; 3] = ["fitted", "predicted", "compared"];
/// What the tables of a claim are called.
const TITLES: [(&str, &str); 3] = [
    ("drives.1", "Courses of writes"),
    ("drives.3", "Discards"),
    ("drives.7", "Zones that are discarded and written whole"),
];
/// Rows of a table that is shown at once; a longer one is opened by the reader.
const ROWS_OPEN: usize = 8;

/// A drive's page.
pub(super) fn page(profile: &Profile, drive: &NamedDrive) -> String {
    let Profile { name, summary, values, .. } = profile;
    let mut page = format!(
        "# {name}\n\n{summary}. Written by `cargo xtask docs` from [the evidence]\
         (../evidence/drives.md); [what the figures are](README.md).\n\n\
         Within their bar: {}. **Bold**: misses its bar. {}\n\n\
         ![How far each figure is off](../drives/{name}.svg)\n",
        standings(drive),
        predicted_discards(drive)
    );
    if !drive.cells.is_empty() {
        let picture = format!("../drives/{}.svg", responses_id(name));
        write!(page, "\n![Response times at each rate, real and ours]({picture})\n")
            .expect("a string takes all");
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
fn predicted_discards(drive: &NamedDrive) -> String {
    let of = drive.figures.iter().filter(|it| it.claim == "drives.3" && it.standing == "predicted");
    let said =
        of.map(|LedgerFigure { name, ours, real, .. }| format!("{name}: ours {ours}, real {real}"));
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!("Predicted {}.", said.join("; ")) }
}

/// All figures of a drive: a table for each claim, under a heading of this level.
pub(super) fn tables(drive: &NamedDrive, level: &str) -> String {
    let mut text = String::new();
    for figures in drive.figures.chunk_by(|one, other| one.claim == other.claim) {
        let claim = &figures[0].claim;
        let title = TITLES.iter().find(|(of, _)| of == claim).map_or(&**claim, |(_, title)| title);
        let mut table = String::from(
            "| figure | standing | real | ours | residual | bar | remark |\n\
             |---|---|---|---|---:|---|---|\n",
        );
        for figure in figures {
            table += &line(figure);
        }
        heading(&mut text, level, title, claim);
        text += &folded(&table, figures.len());
    }
    if let Some(first) = drive.cells.first() {
        heading(&mut text, level, "Response times at rates", &first.figure.claim);
        text += &responses_table(&drive.cells);
    }
    text
}

fn heading(text: &mut String, level: &str, title: &str, claim: &str) {
    write!(text, "\n{level} {title}\n\nClaim [`{claim}`](../claims.md#drives).\n\n")
        .expect("a string takes all");
}

/// A long table is opened by the reader.
fn folded(table: &str, rows: usize) -> String {
    if rows <= ROWS_OPEN {
        return table.to_owned();
    }
    format!("<details><summary>{rows} figures</summary>\n\n{table}\n</details>\n")
}

fn line(figure: &LedgerFigure) -> String {
    let LedgerFigure { name, standing, real, ours, bar, .. } = figure;
    let off = figure.off.map_or_else(|| "-".to_owned(), |off| format!("{off:.4}"));
    let off = marked(off, figure.holds);
    let remark = escape(&figure.remark);
    format!("| {} | {standing} | {real} | {ours} | {off} | {bar} | {remark} |\n", escape(name))
}

fn marked(text: String, holds: bool) -> String {
    if holds { text } else { format!("**{text}**") }
}

/// What is asked of a quantity's cells, in the order of columns.
fn quantities(cells: &[ResponseCell]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for cell in cells {
        if !all.contains(&&*cell.quantity) {
            all.push(&cell.quantity);
        }
    }
    all
}

/// The cells of a rate, in order.
fn by_rate(cells: &[ResponseCell]) -> Vec<(&str, Vec<&ResponseCell>)> {
    let mut rates: Vec<(&str, Vec<&ResponseCell>)> = Vec::new();
    for cell in cells {
        match rates.iter_mut().find(|(rate, _)| *rate == cell.rate) {
            Some((_, of)) => of.push(cell),
            None => rates.push((&cell.rate, vec![cell])),
        }
    }
    rates
}

/// A line for each rate, and in it each quantity: the real one, ours, and whether that is right.
fn responses_table(cells: &[ResponseCell]) -> String {
    let quantities = quantities(cells);
    let heads: Vec<String> =
        quantities.iter().map(|name| format!("{name}: real | ours | right")).collect();
    let mut table = format!("| writes a second | standing | {} |\n|---:|---|", heads.join(" | "));
    table += &"---:|---:|---|".repeat(quantities.len());
    table.push('\n');
    for (rate, of) in by_rate(cells) {
        write!(table, "| {rate} | {} |", of[0].figure.standing).expect("a string takes all");
        for quantity in &quantities {
            let Some(cell) = of.iter().find(|cell| cell.quantity == *quantity) else {
                table += " - | - | - |";
                continue;
            };
            let LedgerFigure { real, ours, holds, .. } = &cell.figure;
            let right = if *holds { "yes" } else { "**no**" };
            write!(table, " {real} | {ours} | {right} |").expect("a string takes all");
        }
        table.push('\n');
    }
    table
}

/// How far the figures of a drive are off, those that were fitted and the others. Response times
/// have a picture of their own.
pub(super) fn residuals(drive: &NamedDrive) -> Chart {
    // What is longer is cut off.
    let short = |figure: &LedgerFigure| {
        let short = figure.name.replace("write amplification, zones of ", "WA: ");
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
    for standing in STANDINGS {
        let of = |figure: &LedgerFigure| figure.off.filter(|_| figure.standing == standing);
        let bars: Vec<Option<f64>> = drive.figures.iter().map(of).collect();
        if bars.iter().any(Option::is_some) {
            let stack = Some("off".to_owned());
            chart.curve(ChartSeries { stack, ..ChartSeries::bars(standing, bars) });
        }
    }
    chart
}

fn responses_id(name: &str) -> String {
    format!("{name}-response")
}

/// Response times over the rate: ours as lines, real ones as points of the same colour. `None`
/// where nothing says them.
pub(super) fn responses(drive: &NamedDrive) -> Option<Chart> {
    let number = |text: &str| text.split(' ').next()?.parse::<f64>().ok().map(|us| us / 1e3);
    let mut chart = Chart::new(
        responses_id(drive.name),
        format!("{}: response times at each rate", drive.name),
        Axis::from_zero("writes a second", ""),
        Axis::log("response time", "ms"),
    );
    chart.describe("Lines: ours. Points: the real drive.");
    for quantity in quantities(&drive.cells) {
        let of = || drive.cells.iter().filter(|cell| cell.quantity == quantity);
        let x: Vec<f64> = of().filter_map(|cell| cell.rate.parse().ok()).collect();
        let curve = |name: String, kind, text: fn(&LedgerFigure) -> &str| {
            let y = of().map(|cell| number(text(&cell.figure))).collect();
            ChartSeries::new(name, kind, x.clone(), y)
        };
        let ours = curve(quantity.to_owned(), ChartKind::Line, |figure| &figure.ours);
        let real = curve(format!("{quantity}, real"), ChartKind::Points, |figure| &figure.real);
        chart.curve(ours);
        chart.curve(ChartSeries { like: Some(quantity.to_owned()), ..real });
    }
    (!chart.is_empty()).then_some(chart)
}
