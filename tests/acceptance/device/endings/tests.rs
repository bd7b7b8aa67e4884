use trimbench_results::{Outcome, RunRecord, Step};

use super::{backing, broken, interrupted, interrupted_device, without_room};
use crate::acceptance::planted::{Planted, record, session};

const NAME: &str = "x-trim-sweep";

/// A record of a session with so many steps.
fn with_steps(count: usize, outcome: Outcome) -> RunRecord {
    let mut one = session("drive", &[]);
    one.steps = (0..count).map(|number| Step::new(format!("row-{number}"), "mapped")).collect();
    one.finished = outcome == Outcome::Complete;
    let mut record = record(vec![one]);
    record.outcome = outcome;
    record
}

fn failed_with(error: &str) -> Outcome {
    Outcome::Failed { message: format!("5 commands failed, the last with {error}") }
}

/// What a run leaves: its exit code, what it said, its record, and the same when it was resumed.
fn planted(
    (code, outcome): (Option<i32>, Outcome),
    said: &str,
    (resumed_code, resumed_said): (i32, &str),
) -> Planted {
    let planted = Planted::new();
    planted.capture(NAME, code, "");
    planted.file(&format!("{NAME}.stderr"), format!("kept in x\nerror: {said}\n").as_bytes());
    planted.capture(&format!("{NAME}-report"), 4, "delete-stall on drive: unfinished");
    planted.record(&format!("{NAME}-before.json"), &with_steps(3, outcome));
    planted.capture(&format!("{NAME}-resumed"), resumed_code, "");
    planted.file(&format!("{NAME}-resumed.stderr"), format!("error: {resumed_said}\n").as_bytes());
    planted.record(&format!("{NAME}-after.json"), &with_steps(5, Outcome::Complete));
    planted
}

fn broken_by(error: &str) -> Planted {
    planted((Some(3), failed_with(error)), error, (3, error))
}

#[test]
fn a_broken_target_is_named_before_and_after_and_keeps_its_steps() {
    broken(&broken_by("EIO").raw(), NAME, "EIO").unwrap();
    assert!(broken(&broken_by("EIO").raw(), NAME, "ENODEV").is_err(), "another error");
    let lost = broken_by("EIO");
    lost.record(&format!("{NAME}-before.json"), &with_steps(0, failed_with("EIO")));
    assert!(broken(&lost.raw(), NAME, "EIO").is_err(), "nothing was kept");
    let silent = broken_by("EIO");
    silent.record(&format!("{NAME}-before.json"), &with_steps(3, Outcome::Complete));
    assert!(broken(&silent.raw(), NAME, "EIO").is_err(), "the record says it went well");
    let done = planted((Some(3), failed_with("EIO")), "EIO", (0, "nothing"));
    assert!(broken(&done.raw(), NAME, "EIO").is_err(), "it went well on resumption");
}

#[test]
fn an_interrupted_run_keeps_its_steps_and_completes() {
    for (code, outcome) in [(Some(130), Outcome::Interrupted), (None, Outcome::Running)] {
        interrupted(&planted((code, outcome), "interrupted", (0, "")).raw(), NAME).unwrap();
    }
    let wrong = [
        planted((Some(101), Outcome::Interrupted), "", (0, "")),
        planted((Some(130), Outcome::Running), "", (0, "")),
        planted((None, Outcome::Interrupted), "", (0, "")),
        planted((Some(130), Outcome::Interrupted), "", (3, "")),
    ];
    for planted in wrong {
        assert!(interrupted(&planted.raw(), NAME).is_err());
    }
    let cut = planted((Some(130), Outcome::Interrupted), "", (0, ""));
    cut.file(&format!("{NAME}-before.json"), b"{\"schema\": 1,");
    assert!(interrupted(&cut.raw(), NAME).is_err(), "the record cannot be read");
    let partly = planted((Some(130), Outcome::Interrupted), "", (0, ""));
    partly.record(&format!("{NAME}-after.json"), &with_steps(5, Outcome::Running));
    assert!(interrupted(&partly.raw(), NAME).is_err(), "the resumed run is not complete");
}

#[test]
fn on_a_device_nothing_is_measured_twice_and_nothing_destroyed_unnamed() {
    let good = || {
        let planted = planted((Some(130), Outcome::Interrupted), "", (0, ""));
        planted.capture(&format!("{NAME}-unnamed"), 3, "");
        let said = b"error: `/dev/loop0` would be destroyed, and `--destroy` does not name it\n";
        planted.file(&format!("{NAME}-unnamed.stderr"), said);
        planted
    };
    interrupted_device(&good().raw(), NAME).unwrap();
    let again = good();
    let mut record = with_steps(5, Outcome::Complete);
    record.sessions[0].steps[1].measure("latency_s_p50", 1.0);
    again.record(&format!("{NAME}-after.json"), &record);
    let error = interrupted_device(&again.raw(), NAME).unwrap_err().to_string();
    assert!(error.contains("row-1"), "{error}");
    let unnamed = good();
    unnamed.file(&format!("{NAME}-unnamed.stderr"), b"error: no such run\n");
    assert!(interrupted_device(&unnamed.raw(), NAME).is_err());
}

#[test]
fn a_full_disk_is_said_and_is_no_end() {
    let full = |resumed| planted((Some(3), Outcome::Running), "ENOSPC", resumed);
    without_room(&full((0, "")).raw(), NAME).unwrap();
    assert!(without_room(&full((3, "ENOSPC")).raw(), NAME).is_err());
    let roomy = full((0, ""));
    roomy.record(&format!("{NAME}-before.json"), &with_steps(5, Outcome::Complete));
    assert!(without_room(&roomy.raw(), NAME).is_err(), "there was room enough");
    backing(&full((0, "")).raw(), NAME).unwrap();
    let unreadable = full((0, ""));
    unreadable.file(&format!("{NAME}-before.json"), b"");
    assert!(backing(&unreadable.raw(), NAME).is_err());
}
