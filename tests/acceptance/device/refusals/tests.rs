use super::{ROWS, Row, read};
use crate::acceptance::planted::{Planted, failing};

const LIBRARY: &str = "link_swapped    changed    it is another device than was looked at\n\
                       52 attempts\ntest result: ok. 1 passed";

fn row(name: &str, left_out: &str) -> Row {
    Row {
        name: name.to_owned(),
        left_out: left_out.to_owned(),
        before: vec![1, 2],
        after: vec![1, 2],
        lifted: left_out.is_empty().then(|| (vec![1, 2], vec![3, 2])),
    }
}

/// Rows that went well but for what `change` makes of the first of them, and its exit codes.
fn planted(count: usize, codes: (i32, i32), change: impl Fn(&mut Row)) -> Planted {
    let planted = Planted::new();
    let mut rows: Vec<Row> = (0..count).map(|number| row(&format!("row_{number}"), "")).collect();
    change(&mut rows[0]);
    for (number, row) in rows.iter().enumerate() {
        let (refused, lifted) = if number == 0 { codes } else { (3, 0) };
        planted.capture(&format!("{}-refused", row.name), refused, "");
        planted.file(&format!("{}-refused.stderr", row.name), b"error: `x` is mounted\n");
        planted.capture(&format!("{}-lifted", row.name), lifted, "");
    }
    rows.push(row("link_swapped", "something happens between looking and claiming"));
    let lines = rows.iter().map(|row| serde_json::to_string(row).unwrap() + "\n");
    planted.capture(ROWS, 0, &lines.collect::<String>());
    planted.capture("library", 0, LIBRARY);
    planted
}

fn failed(planted: &Planted) -> Vec<String> {
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn fifteen_refusals_that_change_nothing_hold() {
    assert_eq!(failed(&planted(15, (3, 0), |_| ())), Vec::<String>::new());
    assert_eq!(failed(&planted(14, (3, 0), |_| ())).len(), 1, "too few");
}

#[test]
fn another_exit_code_a_changed_byte_and_no_reason_are_found_and_named() {
    for (planted, part) in [
        (planted(15, (0, 0), |_| ()), "refused with exit code 3"),
        (planted(15, (3, 0), |row| row.after = vec![1, 9]), "checksum"),
        (planted(15, (3, 3), |_| ()), "obstacle is gone"),
        (
            planted(15, (3, 0), |row| row.lifted = Some((vec![1, 2], vec![1, 2]))),
            "obstacle is gone",
        ),
    ] {
        let findings = read(&planted.raw()).unwrap();
        let failed: Vec<_> = findings.iter().filter(|finding| !finding.holds()).collect();
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].what.contains(part), "{}", failed[0].what);
        assert_eq!(failed[0].note, "not: row_0");
    }
    let silent = planted(15, (3, 0), |_| ());
    silent.file("row_0-refused.stderr", b"");
    assert_eq!(failed(&silent), ["of these refused with exit code 3 and a reason"]);
}

#[test]
fn a_row_that_nobody_attempted_is_found() {
    let planted = planted(15, (3, 0), |_| ());
    planted.file("library.stdout", b"0 attempts\ntest result: ok. 0 passed");
    assert_eq!(
        failed(&planted),
        ["rows that are left to the library's test and were refused in it"]
    );
}
