use trimbench_results::{Outcome, Verdict};

use super::*;
use crate::testing::{detail, record, session, three_drives};

/// Reads RFC 4180 back: rows of fields.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quoted, letter) {
            (true, '"') if letters.peek() == Some(&'"') => field.extend(letters.next()),
            (_, '"') => quoted = !quoted,
            (false, ',') => row.push(std::mem::take(&mut field)),
            (false, '\r') => assert_eq!(letters.peek(), Some(&'\n'), "a bare CR is quoted"),
            (false, '\n') => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.push(letter),
        }
    }
    assert!(!quoted && row.is_empty() && field.is_empty(), "the last line ends");
    rows
}

fn table(record: &RunRecord, name: &str) -> Vec<Vec<String>> {
    let (_, text) = csv(record).into_iter().find(|(file, _)| *file == name).unwrap();
    let rows = parse(&text);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "every row has every column");
    rows
}

#[test]
fn figures_have_a_row_each_with_interval_and_all_caveats() {
    let rows = table(&three_drives(), "figures.csv");
    assert_eq!(rows.len(), 1 + 3 * 3);
    let expected = [
        "0",
        "delete-stall",
        "sim:vendor2",
        "quick",
        "virtual",
        "true",
        "stutter",
        "stutter per GB deleted",
        "0.4123",
        "s/GB",
        "0.412 s/GB (0.400 to 0.430)",
        "0.4",
        "0.43",
        "0.95",
        "15",
        "true",
        "differs from placebo",
        "emulated",
        "",
    ];
    assert_eq!(rows[2], expected);
    assert_eq!(rows[3][8..14], ["96500000", "ns", "96.5 ms", "", "", ""]);
    assert_eq!(rows[3][17], "window-too-short;emulated");
    let mut detailed = session("vendor2", 0.1, [0.0, 0.2]);
    detail(&mut detailed);
    let rows = table(&record(vec![detailed], Outcome::Complete), "figures.csv");
    let delay = rows.iter().find(|row| row[6] == "largest-delay").unwrap();
    assert_eq!(delay[18], "measure=largest-delay;size=4GB");
}

#[test]
fn text_with_commas_and_quotes_comes_back_whole_and_line_breaks_are_shown() {
    for text in ["a, \"b\"\r\nc\nd", "comma,", "\"", "a\nb", "a\rb", " \r\n", " blanks "] {
        let mut odd = session("vendor2", 0.1, [0.0, 0.2]);
        odd.figures[0].verdict = Some(Verdict::Other(text.to_owned()));
        odd.steps[0].id = text.to_owned();
        let record = record(vec![odd], Outcome::Complete);
        assert_eq!(table(&record, "figures.csv")[1][16], visible(text));
        assert_eq!(table(&record, "steps.csv")[1][1], visible(text));
    }
}

#[test]
fn steps_have_a_row_for_each_number_with_its_unit() {
    let rows = table(&three_drives(), "steps.csv");
    assert_eq!(rows[0], ["session", "step", "kind", "role", "key", "value", "unit", "caveats"]);
    // Per session one number of the placebo and four of each deletion.
    assert_eq!(rows.len(), 1 + 3 * 9);
    assert_eq!(rows[2], ["0", "delete-1e9-0", "delete", "parameter", "deleted_at_s", "1", "s", ""]);
    assert_eq!(
        rows[4],
        ["0", "delete-1e9-0", "delete", "metric", "latency_ns_max", "300000000", "ns", ""]
    );
}

#[test]
fn the_unit_of_a_key_is_the_part_that_names_one() {
    let keys = [
        ("latency_ns_p99", "ns"),
        ("stutter_s", "s"),
        ("trimmed_bytes", "B"),
        ("waf_ratio", "1"),
        ("area_request_s", "request-s"),
        ("stutter_s_per_gb", "s/GB"),
        ("discard_bytes_per_s", "B/s"),
        ("extent_count", "1"),
        ("stall", ""),
        ("s", "s"),
    ];
    for (key, expected) in keys {
        assert_eq!(unit(key), expected, "{key}");
    }
}

#[test]
fn numbers_read_back_to_the_same_bits() {
    let mut odd = session("vendor2", 0.1 + 0.2, [0.1, 0.4]);
    odd.steps[0].metrics.insert("stutter_s".to_owned(), 1.0 / 3.0);
    let record = record(vec![odd], Outcome::Complete);
    assert_eq!(table(&record, "figures.csv")[2][8].parse(), Ok(0.1 + 0.2));
    assert_eq!(table(&record, "steps.csv")[1][5].parse(), Ok(1.0 / 3.0));
}

#[test]
fn missing_points_of_a_curve_are_empty() {
    let rows = table(&three_drives(), "series.csv");
    assert_eq!(rows[0], ["session", "step", "series", "x", "x_unit", "y", "y_unit"]);
    assert_eq!(rows.len(), 1 + 3 * 2 * 500);
    assert_eq!(rows[1], ["0", "delete-1e9-0", "response-ms-max", "0", "s", "0.1", "ms"]);
    assert_eq!(rows[500], ["0", "delete-1e9-0", "response-ms-max", "4.99", "s", "", "ms"]);
}

#[test]
fn an_empty_record_gives_headers_only() {
    let empty = record(Vec::new(), Outcome::Running);
    let tables = csv(&empty);
    assert_eq!(tables.len(), 4);
    for (name, text) in tables {
        assert_eq!(parse(&text).len(), 1, "{name}");
    }
}

#[test]
fn nothing_in_a_table_is_a_formula_and_numbers_stay_numbers() {
    let mut record = three_drives();
    let figure = &mut record.sessions[0].figures[0];
    figure.value = -1.5;
    for (text, cell) in [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\u{ff1d}1", "'\u{ff1d}1"),
        ("\tx", "\\tx"),
        ("\r=1", "\\r=1"),
        ("a\n=1", "a\\n=1"),
        ("\u{1b}[31m\u{202e}", "\\u{1b}[31m\\u{202e}"),
        ("plain", "plain"),
        ("a=b", "a=b"),
    ] {
        record.sessions[0].figures[0].title = text.to_owned();
        let row = &table(&record, "figures.csv")[1];
        assert_eq!(row[7], cell);
        assert_eq!(row[8], "-1.5");
    }
}

#[test]
fn verdicts_are_those_of_the_rules_and_not_those_of_the_record() {
    let record = three_drives();
    let lied = crate::testing::with_hostile_advice(&record);
    assert_eq!(csv(&lied), csv(&record));
}

#[test]
fn verdicts_come_in_the_order_of_the_drives() {
    let record = three_drives();
    let order = DriveOrder::by("delete-stall", &[Some(&record)]).unwrap();
    let drives = |name: &str, column: usize| {
        let (_, text) =
            csv_in_order(&record, 0, &order).into_iter().find(|it| it.0 == name).unwrap();
        let rows = parse(&text).into_iter().skip(1);
        let mut drives: Vec<String> =
            rows.map(|row| row[column].trim_start_matches("sim:").to_owned()).collect();
        drives.dedup();
        drives
    };
    let ordered = drives("verdicts.csv", 0);
    assert_eq!(ordered, drives("figures.csv", 2));
    let plain: Vec<&str> = record.advice.iter().map(|card| card.target.as_str()).collect();
    assert!(ordered.len() == 3 && ordered != plain, "{ordered:?}");
}
