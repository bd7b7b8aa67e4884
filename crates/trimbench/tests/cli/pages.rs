//! The report as a page: beside a run, of several runs, and of what is left of broken ones.

use std::fs;

use tempfile::tempdir;

use super::{code, program, small, stderr, stdout, trimbench};

#[test]
fn a_run_leaves_its_page_beside_its_record_unless_told_not_to() {
    let folder = tempdir().unwrap();
    let arguments = small(&["--target", "sim:like-rc100", "--output", "with"]);
    let output = program(folder.path(), &arguments).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("report in with/report.html"), "{}", stderr(&output));
    let page = fs::read_to_string(folder.path().join("with/report.html")).unwrap();
    for part in ["id=\"verdict\"", "data-target=\"like-rc100\"", "chart-delete-stall-response"] {
        assert!(page.contains(part), "no {part}");
    }
    let arguments = small(&["--target", "sim:like-rc100", "--output", "without"]);
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(!folder.path().join("without/report.html").exists());
}

#[test]
fn one_page_of_several_runs_shows_what_can_be_read_and_names_what_cannot() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    for (run, seed) in [("before", "1"), ("after", "2")] {
        let more = ["--target", "sim:like-rc100", "--seed", seed, "--output", run];
        let output = trimbench(path, &small(&more));
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    fs::create_dir(path.join("broken")).unwrap();
    fs::write(path.join("broken/run.json"), "no record").unwrap();
    let whole = ["report", "before", "after", "--html", "page.html", "--csv", "tables"];
    let output = trimbench(path, &whole);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.contains("id=\"baseline\"") && page.contains("like-rc100, after"));
    assert!(path.join("tables/record-1/figures.csv").is_file());
    let output = trimbench(path, &["report", "before", "broken", "--html", "part.html"]);
    assert_eq!(code(&output), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint:"), "{}", stderr(&output));
    let page = fs::read_to_string(path.join("part.html")).unwrap();
    assert!(page.contains("id=\"messages\"") && page.contains("not JSON"), "the flaw is not named");
    assert!(page.contains("data-target=\"like-rc100\""), "the rest is not shown");
}

#[test]
fn drives_stand_in_the_order_that_was_asked_for_or_the_order_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let more =
        ["--target", "sim:like-rc100", "--target", "sim:like-optane-900p", "--output", "run"];
    let output = trimbench(path, &small(&more));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    // The wait for its TRIMs sets the first apart, whatever they are sorted by otherwise.
    let first = |by: &str| {
        let wishes = ["report", "run", "--order-by", by, "--csv", "tables"];
        let output = trimbench(path, &wishes);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let table = fs::read_to_string(path.join("tables/figures.csv")).unwrap();
        let line = table.lines().nth(1).unwrap();
        if line.contains("sim:like-rc100") { "like-rc100" } else { "like-optane-900p" }
    };
    assert_eq!(first("delete-stall"), "like-optane-900p");
    let output = trimbench(path, &["report", "run", "--order-by", "delete-stall.stutter"]);
    assert!(stdout(&output).contains("drives by delete-stall: "), "{}", stdout(&output));
    for (by, said) in [
        ("delete-stal", "did you mean `delete-stall`?"),
        ("delete-stall.stuter", "did you mean `stutter`?"),
        ("steady-state", "methods with results: delete-stall"),
    ] {
        let output = trimbench(path, &["report", "run", "--order-by", by]);
        assert_eq!(code(&output), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "nothing is half printed");
    }
}

#[test]
fn figures_context_and_records_are_files_and_lines_for_programs() {
    let folder = tempdir().unwrap();
    let path = folder.path();
    let output = trimbench(path, &small(&["--target", "sim:like-rc100", "--output", "run"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let wishes = ["report", "run", "--figures", "figures", "--context", "context.json"];
    let output = trimbench(path, &[&wishes[..], &["--output-format", "ndjson"]].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let figure = fs::read_to_string(path.join("figures/delete-stall-response.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.contains("worst response time"));
    let context = fs::read_to_string(path.join("context.json")).unwrap();
    let context: serde_json::Value = serde_json::from_str(&context).unwrap();
    let charts = context["charts"].as_array().unwrap().len();
    assert_eq!(fs::read_dir(path.join("figures")).unwrap().count(), charts);
    // What is ours is replaced, what is not only if that is asked for.
    let output_again = trimbench(path, &wishes);
    assert_eq!(code(&output_again), Some(0), "{}", stderr(&output_again));
    fs::write(path.join("context.json"), "theirs").unwrap();
    let refused = trimbench(path, &wishes);
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("hint: name another file, or add `--overwrite`"));
    let output_again = trimbench(path, &[&wishes[..], &["--overwrite"]].concat());
    assert_eq!(code(&output_again), Some(0), "{}", stderr(&output_again));
    assert!(fs::read_to_string(path.join("context.json")).unwrap().contains("charts"));
    let record = ["report", "run", "--html", "run/run.json", "--overwrite"];
    let refused = trimbench(path, &record);
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("is the record of a run"), "{}", stderr(&refused));
    let lines = stdout(&output);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["figure"]["id"], "stutter");
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_that_names_it() {
    let folder = tempdir().unwrap();
    let output =
        trimbench(folder.path(), &small(&["--target", "sim:like-rc100", "--output", "run"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let output = trimbench(folder.path(), &["report", "run", "--html", "nowhere/page.html"]);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write `nowhere/page.html`"), "{}", stderr(&output));
}
