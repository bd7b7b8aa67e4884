//! `postmark` compared with Debian's program of that name: what both do with the same parameters in
//! the same directory, and what both print of it.

use tests::Need::Program;
use tests::postmark::PostmarkSet;
use tests::{requires, scratch};

use super::program;

/// Small enough that Debian's sums of bytes, in single precision, are exact. It refuses a least
/// size of 0 and goes on with the sizes that it had, so that 1 stands for 0.
const SETS: [PostmarkSet; 5] = [
    PostmarkSet(&[("subdirectories", "7")]),
    PostmarkSet(&[("bias-read", "-1"), ("number", "400")]),
    PostmarkSet(&[("size-low", "1B"), ("size-high", "9000B")]),
    PostmarkSet(&[("buffering", "false"), ("read-block", "1000B"), ("write-block", "3000B")]),
    PostmarkSet(&[("number", "200"), ("transactions", "2000"), ("size-high", "4000B")]),
];

/// The fields of the terse line in what PostMark printed.
fn terse_line(printed: &str) -> Vec<&str> {
    let lines = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_number = |field: &&str| field.parse::<f64>().is_ok();
    let mut terse = lines.filter(|fields| fields.len() == 13 && fields.iter().all(is_number));
    terse.next_back().expect("a terse line is printed")
}

#[test]
fn counts_and_bytes_are_those_of_debians_program() {
    let test = "postmark::counts_and_bytes_are_those_of_debians_program";
    if !requires(test, &[Program("postmark")]) {
        return;
    }
    let directory = scratch();
    for set in SETS {
        let theirs = set.run_debians(&program(), directory.path()).unwrap();
        let fields = terse_line(&theirs.stdout);
        let printed: Vec<f64> = fields.iter().map(|field| field.parse().unwrap()).collect();
        let run = set.run_ours(&program(), directory.path()).unwrap();
        let ours = |key: &str| run.session.steps[0].metrics[key];
        let (total, transactions) = (printed[0], printed[1]);
        let initially = ours("created_count") - ours("created_in_transactions_count");
        let alone = ours("deleted_alone_count");
        // Creation and deletion alone took their own times, which the line does not have: of these
        // the count must be a whole number of what was done in a second.
        let times = |count: f64, rate: f64| (count / rate).round() * rate;
        // The line has two decimals.
        let tolerance = 0.006 * total;
        for (what, theirs, ours) in [
            ("created", printed[3] * total, ours("created_count")),
            (
                "created in transactions",
                printed[5] * transactions,
                ours("created_in_transactions_count"),
            ),
            ("read", printed[6] * transactions, ours("read_count")),
            ("appended", printed[7] * transactions, ours("appended_count")),
            (
                "deleted in transactions",
                printed[10] * transactions,
                ours("deleted_in_transactions_count"),
            ),
            ("bytes read", printed[11] * total, ours("read_bytes")),
            ("bytes written", printed[12] * total, ours("written_bytes")),
            ("created before", times(initially, printed[4]), initially),
            ("deleted after", times(alone, printed[9]), alone),
        ] {
            let off = (theirs - ours).abs();
            assert!(off <= tolerance, "{set:?}, {what}: ours {ours}, Debian's {theirs}");
        }
    }
}

#[test]
fn the_old_terse_line_is_debians_field_by_field() {
    let test = "postmark::the_old_terse_line_is_debians_field_by_field";
    if !requires(test, &[Program("postmark")]) {
        return;
    }
    // In memory, where no phase takes a second.
    let (directory, folder) = (scratch(), scratch());
    let (program, set, place) = (program(), PostmarkSet(&[]), folder.path().join("run"));
    let theirs = set.run_debians(&program, directory.path()).unwrap();
    set.run_ours_into(&program, directory.path(), &place).unwrap();
    let mut report = program.command(&["report", "--compat", "1.51"]);
    let ours = program.call(report.arg(place)).unwrap();
    assert_eq!(terse_line(&ours.stdout), terse_line(&theirs.stdout));
}
