use std::fmt::Write as _;

use super::*;
use crate::acceptance::planted::{Planted, failing};

const EDGE: [f64; 6] = [12.0, 11.0, 8.0, 8.0, 8.0, 8.0];

fn drives() -> impl Iterator<Item = &'static str> {
    DRIVES.into_iter().chain(NO_HOT).chain(ALL_ON)
}

/// What the benchmark prints of each drive: its speed over 20 of the peer, and its memory.
fn printed(form: Form, speeds: [f64; 6], memory: f64) -> Planted {
    let mut text = String::new();
    for (drive, speed) in drives().zip(speeds) {
        if form == Form::Short && drive != DRIVES[1] {
            continue;
        }
        for (part, side, median) in
            [(CONTRACT, "ours", speed), (CONTRACT, "ftl_limit.c", 20.0), ("memory", "ours", memory)]
        {
            writeln!(
                text,
                "{{\"case\":\"{drive}, {part}\",\"side\":\"{side}\",\"values\":[{median:?}],\
                 \"median\":{median:?},\"check\":\"WA 2.4800\"}}"
            )
            .unwrap();
        }
    }
    let planted = Planted::new();
    planted.capture("bench", 0, &text);
    planted
}

fn failed(speeds: [f64; 6], memory: f64) -> Vec<String> {
    let planted = printed(Form::Full, speeds, memory);
    let findings = beside(&planted.raw()).unwrap();
    assert_eq!(findings.len(), 12);
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_ratio_is_met_at_its_edge_and_missed_beyond() {
    assert_eq!(failed(EDGE, 10.0), Vec::<String>::new());
    for (index, drive) in drives().enumerate() {
        let mut speeds = EDGE;
        speeds[index] -= 0.1;
        let missed = format!("speed over that of the C model, {drive}, {CONTRACT}");
        assert_eq!(failed(speeds, 10.0), [missed]);
    }
    assert_eq!(failed(EDGE, 10.1).len(), 4);
}

#[test]
fn the_short_form_reads_one_drive_and_no_memory() {
    let planted = printed(Form::Short, EDGE, 99.0);
    let findings = beside(&planted.raw_of(Form::Short)).unwrap();
    assert_eq!((findings.len(), failing(&findings).len()), (2, 0));
    assert!(findings[0].what.contains(SHORT));
    assert!(beside(&planted.raw()).is_err(), "it is not the full form");
}

#[test]
fn a_claim_that_was_not_measured_again_is_an_error() {
    let planted = printed(Form::Full, EDGE, 9.0);
    assert!(read(&planted.raw()).is_err());
    for (form, count) in [(Form::Full, 4), (Form::Short, 3)] {
        assert_eq!(before(form).1.len(), count);
    }
}
