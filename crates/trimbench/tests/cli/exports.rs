//! `--export-markdown`, `--export-junit` and limits on verdicts.

use std::fs;

use tempfile::tempdir;

use super::{code, stderr, trimbench};

const RUN: [&str; 7] =
    ["run", "trim-integrity", "--target", "sim:like-rc100", "--set", "region=4MiB", "--output"];

#[test]
fn verdicts_are_in_every_format_and_decide_the_exit_code() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let of =
        |name: &'static str, more: &[&str]| trimbench(path, &[&RUN[..], &[name], more].concat());
    let exports = ["--export-markdown", "a.md", "--export-junit", "a.xml"];
    let limits = ["--limit", "verdict=unknown", "--limit", "verdict!=data-lost"];
    let output = of("a", &[exports, limits].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("limit verdict=unknown holds on like-rc100"));
    let text = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert!(text("a.md").contains("### like-rc100: not enough is known for an answer"));
    assert!(text("a.xml").contains("name=\"verdict!=data-lost\""));
    assert!(text("a/run.json").contains("\"action\": \"unknown\""));
    let report = ["report", "a", "--csv", "csv", "--export-markdown", "b.md"];
    assert_eq!(code(&trimbench(path, &report)), Some(0));
    assert!(text("csv/verdicts.csv").contains("like-rc100,unknown,answer,"));
    assert!(text("b.md").contains("### like-rc100: "));
    let fails = of("b", &["--limit", "verdict=mount-with-discard"]);
    assert_eq!(code(&fails), Some(1));
    assert!(stderr(&fails).contains("limit verdict=mount-with-discard FAILS on like-rc100"));
}

#[test]
fn what_is_no_verdict_and_where_nothing_can_be_written_is_refused_before_the_run() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("own.txt"), "mine").unwrap();
    let table: [(&[&str], i32, &str, &str); 4] = [
        (
            &["--limit", "verdict=mount-discard"],
            2,
            "no verdict is called `mount-discard`; did you mean `mount-with-discard`?",
            "the answers are mount-with-discard, weekly-fstrim,",
        ),
        (&["--limit", "verdict<=5ms"], 2, "a verdict is or is not", "verdict!=do-not-trim"),
        (&["--export-junit", "none/x.xml"], 3, "cannot write `none/x.xml`", ""),
        (&["--export-markdown", "own.txt"], 2, "`own.txt` already exists", "name another file"),
    ];
    for (arguments, status, error, hint) in table {
        let output = trimbench(path, &[&RUN[..], &["run"], arguments].concat());
        let said = stderr(&output);
        assert_eq!(code(&output), Some(status), "{said}");
        assert!(said.contains(error) && said.contains(hint), "{said}");
        assert!(!path.join("run").exists(), "nothing was begun");
    }
    assert_eq!(fs::read_to_string(path.join("own.txt")).unwrap(), "mine");
}
