//! The verdict of `trim-integrity` where a user meets it: record, report and exit code. Counts and
//! places of blocks are tests of the method.

use trimbench_core::exit;

use super::program;

/// What the drives do, the exit code, and a figure with words of its verdict.
const DRIVES: [(&str, u8, &str, &str); 7] = [
    ("trim-reads=zeroes", exit::DONE, PROMISE, "kept: zeroes as promised"),
    ("trim-promise=nothing,trim-reads=old-data", exit::DONE, PROMISE, "no promise; reads old data"),
    (
        "trim-promise=nothing,trim-reads=unstable",
        exit::DONE,
        PROMISE,
        "no promise; reads something else at each read",
    ),
    (
        "trim-promise=zeroes,trim-reads=old-data",
        exit::LIMIT_FAILED,
        PROMISE,
        "broken: promises zeroes, reads old data",
    ),
    (
        "trim-promise=zeroes,trim-reads=unstable",
        exit::LIMIT_FAILED,
        PROMISE,
        "broken: promises zeroes, reads something else at each read",
    ),
    ("trim-eats-neighbour=4KiB", exit::LIMIT_FAILED, NEIGHBOURS, "data lost that was not trimmed"),
    ("trim-eats-before=4KiB", exit::LIMIT_FAILED, NEIGHBOURS, "data lost that was not trimmed"),
];
const PROMISE: &str = "promise-violations";
const NEIGHBOURS: &str = "neighbour-blocks-lost";

#[test]
fn verdicts_on_trimmed_data_are_in_record_report_and_exit_code() {
    for (drive, code, figure, verdict) in DRIVES {
        let target = format!("sim:generic-nvme-tlc,{drive}");
        let run = program().run_to_any_end("trim-integrity", &target, &["region=16MiB"]).unwrap();
        run.output.expect_status(code).unwrap();
        let words = run.figure(figure).unwrap().words().unwrap();
        assert!(words.contains(verdict), "{drive}: {words}");
        let report = run.output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(report.contains(verdict), "{drive}: {report}");
    }
}
