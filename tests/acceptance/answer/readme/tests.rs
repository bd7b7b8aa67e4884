use trimbench_results::{Direction, Interval, Metric, Role, Session};

use super::{FILES, Left, README, commands, left, read, write_files};
use crate::acceptance::Form;
use crate::acceptance::planted::{Planted, failing, record, session};

const TEXT: &str = "# trimbench\n\n## Discard or fstrim? In five minutes\n\n```sh\n\
                    mount -o remount,discard /mnt/data  # as root\n\
                    cargo run --release -- run --target /mnt/data\n```\n\n\
                    It runs `delete-stall` and `postmark`, and asks `nobody`. Not `replay`.\n\n\
                    ## Start\n\n```sh\ncargo run --release -- run\n```\n";
const OUTPUT: &str =
    "/mnt/data  mount with `discard`  nothing\n  # mount -o remount,discard /mnt\n";

/// A session of `delete-stall` after which nobody waits, and one of `postmark`.
fn sessions() -> Vec<Session> {
    let mut stall = session("/mnt/data", &[("stutter", 0.0)]);
    stall.figures[0].headline = true;
    stall.plan.method = "delete-stall".to_owned();
    for (role, value, unit) in [
        (Role::StutterPerGb, 0.0, "s/GB"),
        (Role::TailAfterDeletion, 1.0, "ms"),
        (Role::TailAfterPlacebo, 1.0, "ms"),
        (Role::WaitAfterDeletion, 0.001, "s"),
    ] {
        let metric = Metric::member(unit, unit, unit, Direction::Lower).of_role(role);
        let interval = Interval::new(value, value + 0.001, 0.95);
        stall.figures.push(metric.measured(value).unwrap().with_interval(interval));
    }
    let mut files = session("/mnt/data", &[("total", 1.0)]);
    files.figures[0].headline = true;
    files.plan.method = "postmark".to_owned();
    // TRIM restores speed, so that the answer is firm.
    for (role, value) in [(Role::FragmentedSpeed, 0.3), (Role::RecoveredSpeed, 1.0)] {
        let id = format!("{role:?}");
        let metric = Metric::member(id.clone(), id, "", Direction::Higher).of_role(role);
        files.figures.push(metric.measured(value).unwrap());
    }
    vec![stall, files]
}

fn failed(seconds: f64, output: &str, left: &Left, sessions: Vec<Session>) -> Vec<String> {
    let planted = Planted::new();
    planted.timed_capture(("readme", seconds), 0, output);
    planted.file(README, TEXT.as_bytes());
    planted.file("left.json", &serde_json::to_vec(left).unwrap());
    planted.record("run.json", &record(sessions));
    failing(&read(&planted.raw_of(Form::Full)).unwrap()).into_iter().map(str::to_owned).collect()
}

const UNHARMED: Left = Left { harmed: 0, new: 0 };

#[test]
fn what_the_readme_promises_holds() {
    assert_eq!(failed(299.0, OUTPUT, &UNHARMED, sessions()), Vec::<String>::new());
}

#[test]
fn each_figure_can_miss_its_bar() {
    let missed = |found: Vec<String>, part: &str| {
        assert!(found.iter().any(|what| what.contains(part)), "{part}: {found:?}");
    };
    missed(failed(301.0, OUTPUT, &UNHARMED, sessions()), "to the answer");
    missed(failed(9.0, "  # mount\n", &UNHARMED, sessions()), "printed");
    missed(failed(9.0, "/mnt  mount with `discard`\n", &UNHARMED, sessions()), "lines to type");
    missed(failed(9.0, OUTPUT, &Left { harmed: 1, new: 0 }, sessions()), "harmed");
    missed(failed(9.0, OUTPUT, &Left { harmed: 0, new: 1 }, sessions()), "left behind");
    let mut fewer = sessions();
    fewer.pop();
    missed(failed(9.0, OUTPUT, &UNHARMED, fewer), "the README names");
    let mut more = sessions();
    more[1].plan.method = "replay".to_owned();
    missed(failed(9.0, OUTPUT, &UNHARMED, more), "does not name");
    let mut invalid = sessions();
    invalid[0].caveats.push("late-schedule".to_owned());
    missed(failed(9.0, OUTPUT, &UNHARMED, invalid), "cards with an answer");
}

#[test]
fn commands_are_those_of_the_section() {
    let found = commands(TEXT).unwrap();
    assert!(found.starts_with("mount -o remount,discard") && found.lines().count() == 2, "{found}");
    assert!(commands("## Start\n```sh\nrm\n```").is_err());
}

#[test]
fn a_file_that_changed_and_one_that_is_new_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let content = write_files(folder.path()).unwrap();
    assert_eq!(content.len() as u64, FILES);
    let found = |content| {
        let Left { harmed, new } = left(folder.path(), content).unwrap();
        (harmed, new)
    };
    assert_eq!(found(&content), (0, 0));
    std::fs::write(folder.path().join("file-3"), b"x").unwrap();
    std::fs::remove_file(folder.path().join("file-4")).unwrap();
    std::fs::write(folder.path().join("other"), b"x").unwrap();
    assert_eq!(found(&content), (2, 1));
}
