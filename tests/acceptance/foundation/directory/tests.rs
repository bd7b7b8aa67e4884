use super::read;
use crate::acceptance::planted::{Planted, deletion, failing, record, with_interval};

const PICTURE: &str =
    "here  ▁▁▁▁▁▁▁▁▁▁▇▇▇▇▇▇▇▇▇▇▆▆▆▅▁▁▁▁▁▁▁▁   1.20 s\n       ▲ 4GiB deleted at 1 s\n";

/// What is changed in raw output that is otherwise good.
struct Change {
    exit: i32,
    n: u64,
    share: f64,
    printed: &'static str,
    left: [&'static str; 3],
}

const GOOD: Change =
    Change { exit: 0, n: 2, share: 1.1, printed: PICTURE, left: ["a\na/b\n", "", ""] };

fn planted(change: &Change) -> Planted {
    let planted = Planted::new();
    planted.capture("killed", None, "");
    planted.capture("run", change.exit, change.printed);
    planted.capture("interrupted", 130, "");
    for (name, left) in ["killed", "run", "interrupted"].iter().zip(change.left) {
        planted.capture(&format!("left-{name}"), 0, left);
    }
    let steps = vec![deletion("delete-1", 1.0), deletion("delete-2", change.share)];
    let session = with_interval((-0.001, 0.003), change.n, steps);
    planted.record("run.json", &record(vec![session]));
    planted
}

fn failed(change: &Change) -> Vec<String> {
    let findings = read(&planted(change).raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_measured_directory_that_is_empty_again_holds() {
    assert_eq!(failed(&GOOD), Vec::<String>::new());
    let findings = read(&planted(&GOOD).raw()).unwrap();
    let note = &findings[1].note;
    assert_eq!(note, "0.0010 s/GB, 95 % interval -0.0010 to 0.0030: noise");
    let figures: Vec<String> = findings.iter().map(|it| it.figure.to_string()).collect();
    assert_eq!(figures, ["0", "2", "2", "1", "2", "130", "0", "0"]);
}

#[test]
fn each_fault_is_seen_by_itself() {
    for (change, what) in [
        (Change { exit: 4, ..GOOD }, "exit code"),
        (Change { n: 1, ..GOOD }, "deletions behind the stutter's interval"),
        (
            Change { share: 0.99, ..GOOD },
            "deletions whose discards reached the freed bytes within the window",
        ),
        (
            Change {
                printed: "██████████\n ▲ 4GiB deleted at 1 s\n", ..GOOD
            },
            "lines of the picture in the terminal",
        ),
        (Change { left: ["", "", ""], ..GOOD }, "entries that SIGKILL midway left"),
        (
            Change { left: ["a\n", "a\n", ""], ..GOOD },
            "entries left after SIGKILL, the next start and its end",
        ),
        (Change { left: ["a\n", "", "a\n"], ..GOOD }, "entries left after SIGINT midway"),
    ] {
        assert_eq!(failed(&change), [what]);
    }
}

#[test]
fn a_stutter_without_interval_or_verdict_and_a_picture_without_mark_are_errors() {
    let no_interval = planted(&GOOD);
    let mut other = no_interval.raw().record("run.json").unwrap();
    other.sessions[0].figures[0].interval = None;
    no_interval.record("run.json", &other);
    assert!(read(&no_interval.raw()).unwrap_err().to_string().contains("interval"));
    let unmarked = planted(&Change { printed: "nothing\n", ..GOOD });
    assert!(read(&unmarked.raw()).unwrap_err().to_string().contains("picture"));
}
