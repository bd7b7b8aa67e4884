use std::path::Path;

use super::{EvidenceRow, NamedDrive, Published, README, documents, evidence, ledger, named};
use super::{page::tables, summary};
use crate::Repository;

const PAGE: &str = "\
| id | what | figure | bar | holds | command | commit |
|---|---|---:|---|---|---|---|
| drives.1 | wd-dc-960: the worst course that is predicted | 0.0712 | <= 0.08 | yes | `a` | b |
| drives.3 (short) | wd-dc-960: least of discards of 2.581 GiB, predicted, ours over real | 1.25 | \
1 +- 30 % | **no** | `a` | b |
| drives.3 | a drive that is not built in: x | 1 | = 1 | yes | `a` | b |
| drives.2 | predicted cells that are right, read p50, as a share | 0.5 | >= 0.5 | yes | `a` | b |
| drives.7 | wd-dc-960: write amplification of zones, furthest off | 0.0589 | <= 0.05 | \
**no** | `a` | b |
| drives.6 | wd-dc-960: least of discards of 2.581 GiB, predicted, ours over real | 1 | = 1 | \
yes | `a` | b |

## Notes

- drives.1, wd-dc-960: the worst course that is predicted: uniform (a, 894 GiB): 0.0092; \
zipf (b: c): 0.0712 after a factor of 1.1, ours 9, real 10 IOPS
- drives.3, wd-dc-960: least of discards of 2.581 GiB, predicted, ours over real: \
ours 25 ms, real 20 ms
- drives.2, predicted cells that are right, read p50, as a share: wd-dc-960 at 9950 writes/s, \
fitted: 86.8 of 84 us; wd-dc-960 at 29750 writes/s: 139 of 180 us, off; \
wd-dc-960 at 49550 writes/s: not kept up with of 190 us, off
- drives.7, wd-dc-960: write amplification of zones, furthest off: 16 GiB, 1 at a time: 1.03 for \
1.04 (1.05 without TRIM); 1 GiB, 1 at a time: 1.1634 for 1.2362
";

fn published(text: &str) -> Published {
    toml::from_str(text).unwrap()
}

fn pages(key: &str) -> std::collections::BTreeMap<String, Vec<EvidenceRow>> {
    [(key.to_owned(), evidence(PAGE))].into()
}

fn drive() -> NamedDrive {
    let mut drives = named(&evidence(PAGE));
    assert_eq!(drives.len(), 1);
    drives.remove(0)
}

#[test]
fn rows_of_evidence_come_with_their_notes() {
    let rows = evidence(PAGE);
    let notes: Vec<&str> = rows[..3].iter().map(|row| &*row.note).collect();
    assert_eq!(
        notes,
        [
            "uniform (a, 894 GiB): 0.0092; zipf (b: c): 0.0712 after a factor of 1.1, ours 9, real \
             10 IOPS",
            "ours 25 ms, real 20 ms",
            ""
        ]
    );
    assert_eq!(rows[..3].iter().map(|row| row.holds).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(rows[1].claim, "drives.3");
}

#[test]
fn a_figure_has_both_values_how_far_it_is_off_and_its_own_verdict() {
    let told: Vec<String> = drive()
        .figures
        .iter()
        .map(|it| {
            let off = it.off.unwrap();
            format!("{}|{}|{}|{off:.4}|{}|{}", it.name, it.ours, it.real, it.holds, it.remark)
        })
        .collect();
    assert_eq!(
        told,
        [
            "uniform (a, 894 GiB)|||0.0092|true|",
            "zipf (b: c)|9|10 IOPS|0.0712|true|after a factor of 1.1",
            "least of discards of 2.581 GiB|25 ms|20 ms|0.2231|false|",
            "write amplification, zones of 16 GiB, 1 at a time|1.03|1.04|0.0097|true|1.05 without \
             TRIM",
            "write amplification, zones of 1 GiB, 1 at a time|1.1634|1.2362|0.0607|false|",
        ],
        "and what another claim repeats is not there twice"
    );
}

#[test]
fn a_bound_that_ours_keeps_leaves_no_residual() {
    let rows = evidence(PAGE);
    let off = |row: EvidenceRow| row.figures()[0].off;
    let note = "ours 25 ms, real at least 20 ms".to_owned();
    let bound = EvidenceRow { holds: true, note, ..rows[1].clone() };
    assert_eq!(off(bound.clone()), Some(0.0));
    assert_eq!(off(EvidenceRow { holds: false, ..bound }), Some(1.25_f64.ln()));
}

#[test]
fn every_response_time_stands_in_the_line_of_its_rate() {
    let tables = tables(&drive(), "##");
    for line in [
        "| writes a second | standing | read p50: real | ours | right |",
        "| 9950 | fitted | 84 us | 86.8 us | yes |",
        "| 29750 | predicted | 180 us | 139 us | **no** |",
        "| 49550 | predicted | 190 us | not kept up with | **no** |",
    ] {
        assert!(tables.contains(line), "{line}\n{tables}");
    }
}

#[test]
fn the_summary_counts_what_was_predicted_and_quotes_the_discard() {
    let line = summary(&drive(), &evidence(PAGE));
    let end = "| 2 of 5 | 0.0712 | ours 25 ms, real 20 ms | - |";
    assert!(line.starts_with("| [`wd-dc-960`]") && line.ends_with(end), "{line}");
}

#[test]
fn a_figure_needs_its_row_of_evidence_or_a_reason() {
    let figure = |rest: &str| {
        let all = "drive = \"d\"\nwhat = \"w\"\npublished = \"2\"\nsource = \"[S1]\"\n";
        ledger(&published(&format!("[[figure]]\n{all}{rest}")), &pages("drives"), &[drive()])
    };
    let with = "standing = \"fitted\"\nvalue = 2.0\nclaim = \"drives.3\"\nrow = \"a drive\"";
    let page = figure(with).unwrap();
    assert!(page.contains("| d | w | 2 | [S1] | fitted | 1 | 0.6931 | `drives.3` |"), "{page}");
    let discard =
        "| least of discards of 2.581 GiB | predicted | 20 ms | 25 ms | **0.2231** | 1 +- 30 % |";
    assert!(page.contains(discard), "{page}");
    assert!(page.contains("2 of 5 predicted, 1 of 1 fitted, 1 of 2 compared"), "{page}");
    let wrong = [
        ("standing = \"fitted\"\nclaim = \"drives.3\"\nrow = \"b drive\"", "has no row `b drive`"),
        ("standing = \"guessed\"\nreason = \"x\"", "`guessed` is no standing"),
        ("standing = \"not tried\"", "w: no reason"),
    ];
    for (rest, expected) in wrong {
        let error = format!("{:#}", figure(rest).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn every_published_figure_of_the_repository_has_its_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let documents = documents(&Repository::at(root)).unwrap();
    let paths: Vec<&str> = documents.iter().map(|(path, _)| &**path).collect();
    for name in ["ledger.md", "micron-7450-max-800.md", "micron-7450-max-800.svg"] {
        assert!(paths.contains(&&*format!("docs/drives/{name}")), "{paths:?}");
    }
    assert!(paths.contains(&README));
}
