use trimbench_results::Step;

use super::{KEPT, PLACES, read};
use crate::acceptance::drives::SHORT;
use crate::acceptance::drives::trim::Discards;
use crate::acceptance::planted::{Planted, failing, record, session};

/// What does not hold where the pages say `said`, and a discard took 1.8 ms.
fn failed(said: [&str; 2]) -> Vec<String> {
    let planted = Planted::new();
    for ((_, kept), said) in PLACES.iter().zip(said) {
        planted.file(kept, format!("# Title\n\n| drive | {said} |\n").as_bytes());
    }
    let row = Discards::read(&format!("{SHORT},predict,2.581,1,1,2,4")).unwrap();
    planted.file(KEPT, row.line().as_bytes());
    planted.capture(&row.name(), 0, "");
    let mut ours = session("drive", &[]);
    let mut step = Step::new("one-go-1".to_owned(), "one-go");
    step.measure("full_s", 0.0018);
    ours.steps = vec![step];
    planted.record(&format!("{}/run.json", row.name()), &record(vec![ours]));
    let findings = read(&planted.raw()).unwrap();
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_page_that_says_another_time_than_the_run_fails() {
    let right = "ours 1.8 ms, real 2 ms";
    assert!(failed([right, right]).is_empty());
    let lines = |path| format!("lines of {path} with the predicted discard as it was run");
    assert_eq!(failed(["ours 1.9 ms, real 2 ms", right]), [lines(PLACES[0].0)]);
    assert_eq!(failed([right, "-"]), [lines(PLACES[1].0)]);
}
