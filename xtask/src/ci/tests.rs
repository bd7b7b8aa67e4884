use std::time::Duration;

use anyhow::bail;

use super::{Steps, good};
use crate::steps::Deadline;

#[test]
fn a_failed_step_fails_the_run_and_the_next_one_still_runs() {
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut steps = Steps { deadline, done: Vec::new() };
    let mut ran = false;
    steps.step("fmt", || bail!("planted")).unwrap();
    steps
        .step("tidy", || {
            ran = true;
            good(true)
        })
        .unwrap();
    assert!(ran);
    assert!(!steps.report());
}

#[test]
fn a_run_of_good_steps_is_good() {
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut steps = Steps { deadline, done: Vec::new() };
    steps.step("fmt", || good(true)).unwrap();
    assert!(steps.report());
    steps.step("tidy", || good(false)).unwrap();
    assert!(!steps.report());
}

#[test]
fn nothing_begins_after_the_limit_and_the_run_fails() {
    let mut steps = Steps { deadline: Deadline::after(Duration::ZERO), done: Vec::new() };
    steps.step("test", || panic!("ran after the limit")).unwrap();
    assert!(!steps.report());
}
