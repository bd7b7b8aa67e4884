use trimbench_methods::{BY_NAME_ONLY, METHODS};

use super::{README, read};
use crate::acceptance::planted::{Planted, failing};

/// An output as it should be: four verdicts, what to type, the table, notes.
fn output() -> Vec<String> {
    let mut lines: Vec<String> = ["one", "two", "three", "four"]
        .iter()
        .map(|drive| format!("{drive:6}  mount with `discard`  waits 1 ms"))
        .collect();
    lines.extend(
        ["mount with `discard`:  # mount -o remount,discard /MOUNTPOINT", ""].map(Into::into),
    );
    lines.push("method  one  two  three  four".to_owned());
    let methods = METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id));
    lines.extend(methods.map(|method| format!("{}  1 ms  2 ms  3 ms  4 ms", method.id)));
    lines.push("details: `trimbench report run`".to_owned());
    lines
}

/// What does not hold of this output, where the README shows that of `output`.
fn failed(lines: &[String]) -> Vec<String> {
    let planted = Planted::new();
    planted.capture("run", 0, &(lines.join("\n") + "\n"));
    planted.file("run.stderr", b"kept in run\nreport in run/report.html\n");
    let shown = output().join("\n");
    planted.file(README, format!("text\n```text\n{shown}\n```\nmore\n").as_bytes());
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn an_output_as_agreed_holds() {
    assert_eq!(failed(&output()), Vec::<String>::new());
}

#[test]
fn each_figure_can_miss_its_bar() {
    let missed = |change: &dyn Fn(&mut Vec<String>), part: &str| {
        let mut lines = output();
        change(&mut lines);
        let found = failed(&lines);
        assert!(found.iter().any(|what| what.contains(part)), "{part}: {found:?}");
    };
    missed(&|lines| lines[1] = "two     no answer  nothing is valid".to_owned(), "verdicts");
    missed(&|lines| lines.insert(0, "complete".to_owned()), "verdicts");
    missed(&|lines| (0..7).for_each(|_| lines.insert(6, String::new())), "methods in the table");
    missed(&|lines| lines.extend((0..60).map(|line| line.to_string())), "whole output");
    missed(&|lines| lines.push("word ".repeat(17)), "widest line");
    missed(&|lines| lines.push("commit 2e5bedc42338".to_owned()), "hashes");
    missed(&|lines| lines.push(lines[4].clone()), "said twice");
    missed(&|lines| lines[8].push('9'), "README's table that are not printed");
}

#[test]
fn a_readme_without_the_table_is_an_error() {
    let planted = Planted::new();
    planted.capture("run", 0, &output().join("\n"));
    planted.file("run.stderr", b"");
    planted.file(README, b"```text\n/mnt/data  mount with `discard`\n```\n");
    assert!(read(&planted.raw()).is_err());
}
