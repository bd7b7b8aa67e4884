use trimbench_methods::{BY_NAME_ONLY, METHODS};
use trimbench_results::Session;

use super::read;
use crate::acceptance::planted::{Planted, failing, record, session};

/// What does not hold after a run of so many seconds with this exit code, whose sessions were
/// changed so.
fn failed(seconds: f64, status: i32, change: impl Fn(&mut Vec<Session>)) -> Vec<String> {
    let mut sessions = Vec::new();
    for drive in ["one", "two", "three", "four"] {
        for method in METHODS.iter().filter(|method| !BY_NAME_ONLY.contains(&method.id)) {
            let mut session = session(drive, &[("figure", 1.0)]);
            session.plan.method = method.id.to_owned();
            session.target.identity.insert("profile".to_owned(), drive.to_owned());
            session.figures[0].headline = true;
            sessions.push(session);
        }
    }
    change(&mut sessions);
    let planted = Planted::new();
    planted.timed_capture(("run", seconds), status, "");
    planted.record("run/run.json", &record(sessions));
    failing(&read(&planted.raw()).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_whole_run_holds() {
    assert_eq!(failed(29.0, 0, |_| ()), Vec::<String>::new());
}

#[test]
fn each_figure_can_miss_its_bar() {
    let missed = |found: Vec<String>, part: &str| {
        assert!(found.iter().any(|what| what.contains(part)), "{found:?}");
    };
    missed(failed(31.0, 0, |_| ()), "with nothing else");
    missed(failed(29.0, 4, |_| ()), "exit code");
    missed(failed(29.0, 0, |all| drop(all.pop())), "methods on drives");
    missed(failed(29.0, 0, |all| all[0].left_out = Some("no".to_owned())), "left out");
    // One drive twice is not two drives.
    missed(
        failed(29.0, 0, |all| {
            let last = all.len() - 1;
            all[last].target.identity = all[0].target.identity.clone();
        }),
        "methods on drives",
    );
}
