use super::{BENCHES, Bar, BenchOptions, Case, Side, append, lines, run, table};
use crate::Repository;

fn side(values: &[f64]) -> Side {
    Side { values: values.to_vec(), command: "x 1".to_owned(), check: "WA 2.5".to_owned() }
}

fn case(ours: Option<Side>, peer: Option<Side>) -> Case {
    Case { name: "4 GiB".to_owned(), unit: "Mwrites/s", ours, peer, ..Case::default() }
}

#[test]
fn the_median_is_the_middle_value() {
    for (values, median) in [
        (vec![], None),
        (vec![3.0], Some(3.0)),
        (vec![9.0, 1.0], Some(5.0)),
        (vec![9.0, 1.0, 2.0], Some(2.0)),
    ] {
        assert_eq!(side(&values).median(), median, "{values:?}");
    }
}

#[test]
fn a_ratio_needs_both_sides() {
    assert_eq!(case(Some(side(&[2.0])), Some(side(&[8.0]))).ratio(), Some(0.25));
    assert_eq!(case(None, Some(side(&[8.0]))).ratio(), None);
    assert_eq!(case(Some(side(&[2.0])), Some(side(&[]))).ratio(), None);
}

#[test]
fn each_measured_side_is_a_row_and_a_line() {
    let cases = [case(Some(side(&[2.0])), Some(side(&[8.0]))), case(None, Some(side(&[4.0])))];
    let table = table(&BENCHES[0], &cases);
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains(" 0.250"), "{table}");
    let lines = lines(&BENCHES[0], &cases, "abc").unwrap();
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(lines.lines().count(), 3);
    assert_eq!((&first["median"], &first["ratio"]), (&2.0.into(), &0.25.into()));
    assert_eq!((&first["commit"], &first["command"]), (&"abc".into(), &"x 1".into()));
}

#[test]
fn a_ratio_is_judged_by_its_bar_and_by_nothing_without() {
    let mut judged = case(Some(side(&[2.0])), Some(side(&[2.0])));
    assert_eq!(judged.holds(), None);
    for (bar, holds) in
        [(Bar::AtMost(1.0), true), (Bar::AtLeast(1.0), true), (Bar::AtLeast(1.1), false)]
    {
        judged.bar = Some(bar);
        assert_eq!(judged.holds(), Some(holds), "{bar}");
    }
    judged.interval = Some([0.5, 1.5]);
    let table = table(&BENCHES[0], &[judged]);
    assert!(table.contains("WA 2.5 95 % [0.500, 1.500], bar >= 1.1 MISSED"), "{table}");
}

#[test]
fn the_history_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target/bench.ndjson");
    append(&path, "{}\n").unwrap();
    append(&path, "{}\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n{}\n");
}

#[test]
fn an_unknown_benchmark_is_named_with_those_there_are() {
    let options = BenchOptions { name: Some("sdd".to_owned()), ..BenchOptions::default() };
    let error = run(&Repository::here().unwrap(), &options).unwrap_err().to_string();
    assert!(error.contains("`sdd`") && error.contains("ssd"), "{error}");
}

#[test]
fn an_unknown_case_is_an_error_and_measures_nothing() {
    let repository = Repository::here().unwrap();
    let options = BenchOptions {
        name: Some("ssd".to_owned()),
        small: true,
        case: Some("OP 9 %".to_owned()),
        ..BenchOptions::default()
    };
    match run(&repository, &options) {
        Err(error) => assert!(error.to_string().contains("no case `OP 9 %`"), "{error}"),
        // Without the yardstick or a compiler no case is looked at.
        Ok(good) => assert!(good),
    }
}
