use std::path::Path;

use super::{EvidenceRow, Published, README, documents, evidence, ledger, named, summary};
use crate::Repository;

const PAGE: &str = "\
| id | what | figure | bar | holds | command | commit |
|---|---|---:|---|---|---|---|
| drives.1 | wd-dc-960: the worst course that is predicted | 0.0712 | <= 0.08 | yes | `a` | b |
| drives.3 (short) | wd-dc-960: least of discards of 2.581 GiB, predicted, ours over real | 1.25 | \
1 +- 30 % | **no** | `a` | b |
| drives.3 | a drive that is not built in: x | 1 | = 1 | yes | `a` | b |

## Notes

- drives.1, wd-dc-960: the worst course that is predicted: uniform (a, 894 GiB): 0.0092; \
zipf (b: c): 0.0712 after a factor of 1.1
- drives.3, wd-dc-960: least of discards of 2.581 GiB, predicted, ours over real: \
ours 25 ms, real 20 ms
";

fn published(text: &str) -> Published {
    toml::from_str(text).unwrap()
}

fn pages(key: &str) -> std::collections::BTreeMap<String, Vec<EvidenceRow>> {
    [(key.to_owned(), evidence(PAGE))].into()
}

#[test]
fn rows_of_evidence_come_with_their_notes() {
    let rows = evidence(PAGE);
    let notes: Vec<&str> = rows.iter().map(|row| &*row.note).collect();
    assert_eq!(
        notes,
        [
            "uniform (a, 894 GiB): 0.0092; zipf (b: c): 0.0712 after a factor of 1.1",
            "ours 25 ms, real 20 ms",
            ""
        ]
    );
    assert_eq!(rows.iter().map(|row| row.holds).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(rows[1].claim, "drives.3");
    let details = rows[0].details();
    let after = "after a factor of 1.1".to_owned();
    assert_eq!(details[0], ("uniform (a, 894 GiB)".to_owned(), 0.0092, String::new()));
    assert_eq!(details[1..], [("zipf (b: c)".to_owned(), 0.0712, after)]);
    assert_eq!([0.0092, 0.08, 0.081].map(|off| rows[0].holds_for(off)), [true, true, false]);
    assert_eq!(rows[1].details().len(), 1, "it is the worst of nothing");
    assert!(!rows[1].holds_for(0.0), "it has a verdict of its own");
    let residuals: Vec<_> = rows.iter().filter_map(EvidenceRow::residual).collect();
    assert_eq!(residuals, [0.0712, 1.25_f64.ln(), 1.0]);
    let bound = EvidenceRow {
        holds: true,
        note: "ours 25 ms, real at least 20 ms".into(),
        ..rows[1].clone()
    };
    assert_eq!(bound.residual(), Some(0.0));
    assert_eq!(EvidenceRow { holds: false, ..bound }.residual(), Some(1.25_f64.ln()));
}

#[test]
fn the_summary_counts_what_was_predicted_and_quotes_the_discard() {
    let drives = named(&evidence(PAGE));
    let [(drive, rows)] = &drives[..] else { panic!("{drives:?}") };
    let line = summary(drive, rows);
    let end = "| 2 of 3 | 0.0712 | ours 25 ms, real 20 ms | - |";
    assert!(line.starts_with("| [`wd-dc-960`]") && line.ends_with(end), "{line}");
}

#[test]
fn a_figure_needs_its_row_of_evidence_or_a_reason() {
    let figure = |rest: &str| {
        let all = "drive = \"d\"\nwhat = \"w\"\npublished = \"2\"\nsource = \"[S1]\"\n";
        ledger(&published(&format!("[[figure]]\n{all}{rest}")), &pages("drives"))
    };
    let with = "standing = \"fitted\"\nvalue = 2.0\nclaim = \"drives.3\"\nrow = \"a drive\"";
    let page = figure(with).unwrap();
    assert!(page.contains("| d | w | 2 | [S1] | fitted | 1 | 0.6931 | `drives.3` |"), "{page}");
    assert!(
        page.contains("| 25 ms | 0.2231 | `drives.3` | **misses its bar** (bar 1 +- 30 %)"),
        "{page}"
    );
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
