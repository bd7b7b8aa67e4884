use super::*;
use trimbench_results::chart::{Axis, Chart};

#[test]
fn names_are_plain_and_each_is_there_once() {
    let ids = ["delete-stall-p99.9", "../../etc/passwd", "..", "a/b", "A-b", "é", "", "a\0b"];
    let axis = || Axis::linear("", "");
    let chart = |id: &&str| Chart::new(*id, "", axis(), axis());
    let charts = ids.iter().map(chart).collect();
    let context = PageContext { verdicts: Vec::new(), charts, order: None };
    let figures = vec!["<svg/>".to_owned(); ids.len()];
    let files = figure_files(&context, &figures);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "delete-stall-p99-9.svg",
        "etc-passwd.svg",
        "chart.svg",
        "a-b.svg",
        "a-b-2.svg",
        "chart-2.svg",
        "chart-3.svg",
        "a-b-3.svg",
    ];
    assert_eq!(names, expected);
    assert!(files.iter().all(|(_, text)| text == "<svg data-generator=\"trimbench\"/>"));
    let long = file_stem(&"x".repeat(1000));
    assert_eq!(long.len(), NAME_MAX);
}

#[test]
fn a_header_line_ends_with_its_line() {
    assert_eq!(header_line("a,b\r\n1,2\r\n"), "a,b\r\n");
    assert_eq!(header_line(""), "");
}
