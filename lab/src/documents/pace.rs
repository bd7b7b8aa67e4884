//! The curve of `docs/trimpace.md`: the 99th percentile of reads against the time of a trim, as a
//! picture and as a table, from what was measured last.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use trimbench_results::chart::{Axis, Chart, ChartKind, ChartSeries};
use xtask::Repository;

use super::parts::between;
use super::pictures;
use crate::figure::PacePoint;
use crate::pace::{CURVE, SUBJECT};
use crate::results;

/// The page, what stands before the curve there, and what follows.
const PAGE: &str = "docs/trimpace.md";
const START: &str = "<!-- curve: written by `cargo xtask docs` -->\n";
const END: &str = "<!-- end of curve -->";
/// The pictures, one a filesystem.
const PICTURES: &str = "docs/images/trimpace";

/// The page and its pictures; nothing where there is no such page, or no measurement in full.
pub(super) fn documents(repository: &Repository) -> Result<Vec<(String, String)>> {
    let page = fs::read_to_string(repository.root().join(PAGE)).ok();
    // The short form has no point of trimpace.
    let measured = results::read(repository, &SUBJECT)?.remove(CURVE.name);
    let measured = measured.filter(|measured| !measured.is_short);
    let (Some(page), Some(measured)) = (page, measured) else { return Ok(Vec::new()) };
    let points: Vec<PacePoint> = measured.figures.into_iter().filter_map(|it| it.point).collect();
    let (before, after) =
        between(&page, START, END).with_context(|| format!("{PAGE}: no curve"))?;
    let mut documents = Vec::new();
    let mut text =
        "*Late*: later than 5 ms. The setting of `talos` is the length of a range and the delay \
                    after it, of `mean` the length of a range, of `pieces` the longest discard. In \
                    the pictures, down and to the left is better.\n\n"
            .to_owned();
    let of_filesystems: Vec<&[PacePoint]> =
        points.chunk_by(|a, b| a.filesystem == b.filesystem).collect();
    let charts: Vec<Chart> = of_filesystems.iter().map(|points| chart(points)).collect();
    for chart in &charts {
        writeln!(text, "![{}](images/trimpace/{}.svg)\n", chart.title, chart.id)?;
    }
    text += &table(&of_filesystems);
    documents.push((PAGE.to_owned(), format!("{before}{START}{text}\n{after}")));
    documents.extend(pictures(PICTURES, charts)?);
    Ok(documents)
}

/// The points of one filesystem.
fn chart(points: &[PacePoint]) -> Chart {
    let filesystem = points.first().map_or("", |point| &point.filesystem);
    let mut chart = Chart::new(
        filesystem,
        format!("{filesystem}: what reads meet beside a trim, and how long it takes"),
        Axis::log("time of the trim", "s"),
        Axis::log("99th percentile of reads", "ms"),
    );
    for of_law in points.chunk_by(|a, b| a.law == b.law) {
        let name = of_law.first().map_or("", |point| &point.law);
        let x = of_law.iter().map(|point| point.time_s).collect();
        let y = of_law.iter().map(|point| Some(point.p99_ms)).collect();
        chart.curve(ChartSeries::new(name, ChartKind::Points, x, y));
    }
    chart
}

/// A row for each law and setting, with columns for each filesystem.
fn table(of_filesystems: &[&[PacePoint]]) -> String {
    let (mut text, mut rule) = ("| |".to_owned(), "|---|".to_owned());
    for points in of_filesystems {
        let filesystem = points.first().map_or("", |point| &point.filesystem);
        for column in ["time", "p99", "late"] {
            write!(text, " {filesystem}: {column} |").expect("a string takes everything");
            rule += "---:|";
        }
    }
    text = format!("{text}\n{rule}\n");
    for (row, point) in of_filesystems.first().into_iter().flat_map(|it| it.iter().enumerate()) {
        let name = format!("`{}` {}", point.law, point.setting);
        write!(text, "| {} |", name.trim_end()).expect("a string takes everything");
        for points in of_filesystems {
            let cells = points.get(row).map_or_else(
                || " | | |".to_owned(),
                |PacePoint { time_s, p99_ms, late_percent, .. }| {
                    format!(" {time_s:.1} s | {p99_ms:.1} ms | {late_percent:.2} % |")
                },
            );
            text += &cells;
        }
        text.push('\n');
    }
    text
}
