use std::collections::BTreeMap;

use xtask::Repository;

use super::page::tables;
use super::{AllResults, NamedDrive, Published, README, documents, ledger, named, summary};
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue, ResponseTime};
use crate::results::{Measured, Results};

const DRIVE: &str = "wd-dc-960";

fn part(
    name: &str,
    standing: FigureStanding,
    (ours, real, unit): (Option<f64>, RealValue, &str),
    holds: bool,
) -> RealFigure {
    RealFigure::new((DRIVE, name.to_owned()), standing, (ours, real, unit), holds)
}

/// Figures of `real_drives`, of which some lie beyond their bar.
fn results() -> AllResults {
    use FigureStanding::{Compared, Fitted, Predicted};
    use RealValue::{AtLeast, Exactly};
    let course = part("zipf (b: c)", Predicted, (Some(9.0), Exactly(10.0), "IOPS"), true);
    let course = RealFigure { off: Some(0.0712), remark: "after a | b".to_owned(), ..course };
    let least =
        part("least of discards of 2 GiB", Predicted, (Some(25.0), AtLeast(20.0), "ms"), true);
    let zones = part("zones of 1 GiB", Compared, (Some(1.0), Exactly(2.0), "IOPS"), false);
    let response = |standing, rate, ours, holds| RealFigure {
        response: Some(ResponseTime { writes_per_s: rate, quantity: "read p50".to_owned() }),
        ..part("read p50", standing, (ours, Exactly(84.0), "us"), holds)
    };
    let responses =
        vec![response(Fitted, 9950.0, Some(86.8), true), response(Predicted, 29750.0, None, false)];
    let figure = |what: &str, bar, parts| Figure::new(what, (1.0, "s"), bar).with_parts(parts);
    let measured = |figure: Figure| Measured {
        is_short: false,
        commit: String::new(),
        date: String::new(),
        machine: String::new(),
        sources: String::new(),
        seconds: 0,
        figures: vec![figure],
    };
    let of: Results = [
        ("courses", figure("the worst", Bar::AtMost(0.08), vec![course])),
        ("rates", figure("right", Bar::AtLeast(0.5), responses)),
        ("discards", figure("least", Bar::AtLeast(1.0), vec![least])),
        ("zones", figure("the worst", Bar::AtMost(0.1), vec![zones])),
    ]
    .into_iter()
    .map(|(entry, figure)| (entry.to_owned(), measured(figure)))
    .collect();
    [("real_drives", of)].into()
}

fn drive(all: &AllResults) -> NamedDrive<'_> {
    named(all).into_iter().find(|drive| drive.name == DRIVE).unwrap()
}

#[test]
fn tables_have_both_values_how_far_ours_is_off_and_its_verdict() {
    let all = results();
    let tables = tables(&drive(&all), "##");
    for line in [
        "| zipf (b: c) | predicted | 10 IOPS | 9 IOPS | 0.0712 | <= 0.08 | after a \\| b |",
        "| least of discards of 2 GiB | predicted | at least 20 ms | 25 ms | 0.0000 | >= 1 |  |",
        "| zones of 1 GiB | compared | 2 IOPS | 1 IOPS | **0.6931** | <= 0.1 |  |",
        "| writes a second | standing | read p50: real | ours | right |",
        "| 9950 | fitted | 84 us | 86.8 us | yes |",
        "| 29750 | predicted | 84 us | not kept up with | **no** |",
    ] {
        assert!(tables.lines().any(|it| it == line), "{line}\n{tables}");
    }
}

#[test]
fn the_summary_counts_what_was_predicted_and_quotes_the_discard() {
    let line = summary(&drive(&results()));
    let end = "| 2 of 3 | 0.0712 | ours 25 ms, real at least 20 ms | - |";
    assert!(line.starts_with("| [`wd-dc-960`]") && line.ends_with(end), "{line}");
    let line = summary(&drive(&BTreeMap::new()));
    assert!(line.ends_with(".md) | - | - | - | - |"), "{line}");
}

#[test]
fn a_figure_needs_a_figure_of_an_entry_or_a_reason() {
    let (all, none) = (results(), BTreeMap::new());
    let of = |rest: &str, all: &AllResults| {
        let fields = "drive = \"d\"\nwhat = \"w\"\npublished = \"2\"\nsource = \"[S1]\"\n";
        let text = format!("[[figure]]\n{fields}{rest}");
        let published: Published = toml::from_str(&text).unwrap();
        ledger(&published, all, &named(all))
    };
    let with = |entry: &str, figure: &str| {
        format!("standing = \"fitted\"\nvalue = 2.0\nentry = \"{entry}\"\nfigure = \"{figure}\"")
    };
    let right = with("real_drives.discards", "lea");
    let page = of(&right, &all).unwrap();
    let line = "| d | w | 2 | [S1] | fitted | 1 s | 0.6931 | `real_drives.discards` |  |";
    assert!(page.contains(line), "{page}");
    assert!(page.contains("2 of 3 predicted, 1 of 1 fitted, 0 of 1 compared"), "{page}");
    let page = of(&right, &none).unwrap();
    assert!(page.contains("| fitted | not measured |  | `real_drives.discards` |"), "{page}");
    assert!(page.contains("Within their bar: not measured."), "{page}");
    let wrong = [
        (with("real_drives.discards", "most"), "has no figure `most`"),
        (with("real_drives.drives", "lea"), "no entry `real_drives.drives`"),
        ("standing = \"guessed\"\nreason = \"x\"".to_owned(), "`guessed` is no standing"),
        ("standing = \"not tried\"".to_owned(), "w: no reason"),
    ];
    for (rest, expected) in wrong {
        let error = format!("{:#}", of(&rest, &all).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn every_published_figure_of_the_repository_has_its_place() {
    let documents = documents(&Repository::here().unwrap()).unwrap();
    let paths: Vec<&str> = documents.iter().map(|(path, _)| &**path).collect();
    for name in ["ledger.md", "micron-7450-max-800.md"] {
        assert!(paths.contains(&&*format!("docs/drives/{name}")), "{paths:?}");
    }
    assert!(paths.contains(&README));
}
