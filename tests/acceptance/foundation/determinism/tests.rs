use trimbench_results::{Outcome, RunRecord};

use super::{Compared, read};
use crate::acceptance::planted::{Planted, failing, record, session};

/// A record of four sessions of which `finished` are done.
fn partly(finished: usize, outcome: Outcome) -> RunRecord {
    let mut record = record(vec![session("drive", &[]); 4]);
    record.sessions.truncate(finished + 1);
    if let Some(last) = record.sessions.get_mut(finished) {
        last.finished = false;
    }
    record.outcome = outcome;
    record
}

/// What a run of four drives leaves when all is well.
fn planted() -> Planted {
    let planted = Planted::new();
    let whole = record(vec![session("drive", &[("stutter", 0.25)]); 4]);
    let mut other = whole.clone();
    other.sessions.iter_mut().for_each(|session| session.trace_hash = Some("ff".to_owned()));
    for (name, record) in [("first", &whole), ("second", &whole), ("other", &other)] {
        planted.capture(name, 0, "");
        planted.record(&format!("{name}/run.json"), record);
    }
    planted.capture("SIGINT", 130, "");
    planted.capture("SIGKILL", None, "");
    planted.record("SIGINT-before.json", &partly(1, Outcome::Interrupted));
    planted.record("SIGKILL-before.json", &partly(1, Outcome::Running));
    for name in ["SIGINT", "SIGKILL"] {
        planted.capture(&format!("{name}-resumed"), 0, "");
        planted.record(&format!("{name}/run.json"), &whole);
    }
    planted
}

#[test]
fn equal_bytes_and_kept_records_hold() {
    let findings = read(&planted().raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    let figures: Vec<String> = findings.iter().map(|it| it.figure.to_string()).collect();
    assert_eq!(figures, ["0", "4", "130", "0.25", "0", "0.25", "0"]);
    assert!(findings[3].note.contains("1 of 4 sessions"), "{}", findings[3].note);
}

#[test]
fn one_byte_that_differs_is_seen_wherever_it_is() {
    for file in ["second/run.json", "SIGINT/run.json", "SIGKILL/run.json"] {
        let planted = planted();
        let mut bytes = planted.raw().bytes(file).unwrap();
        bytes[100] ^= 1;
        planted.file(file, &bytes);
        let findings = read(&planted.raw()).unwrap();
        let failed = failing(&findings);
        assert_eq!(failed.len(), 1, "{file}: {failed:?}");
    }
}

#[test]
fn bytes_that_are_missing_differ() {
    assert_eq!(Compared::new(b"abcd", b"abXd").differing, 1);
    assert_eq!(Compared::new(b"abcd", b"ab").differing, 2);
    assert_eq!(Compared::new(b"", b"").differing, 0);
}

#[test]
fn another_seed_must_change_what_happens_and_not_only_the_seed() {
    let planted = planted();
    let mut same = planted.raw().record("first/run.json").unwrap();
    same.seed += 1;
    planted.record("other/run.json", &same);
    let findings = read(&planted.raw()).unwrap();
    assert_eq!(failing(&findings), ["sessions whose trace hash differs with another seed"]);
}

#[test]
fn a_record_that_lost_everything_or_was_never_interrupted_does_not_hold() {
    for finished in [0, 4] {
        let planted = planted();
        planted.record("SIGKILL-before.json", &partly(finished, Outcome::Running));
        assert_eq!(failing(&read(&planted.raw()).unwrap()).len(), 1, "{finished} finished");
    }
}

#[test]
fn a_record_that_cannot_be_read_or_says_the_wrong_thing_is_an_error() {
    let cut = planted();
    cut.file("SIGINT-before.json", b"{\"schema\": 1, \"prog");
    assert!(read(&cut.raw()).is_err());
    let silent = planted();
    silent.record("SIGINT-before.json", &partly(1, Outcome::Running));
    let error = read(&silent.raw()).unwrap_err().to_string();
    assert!(error.contains("Running"), "{error}");
    let failed = planted();
    failed.capture("later", 0, "");
    failed.record("SIGINT-before.json", &partly(1, Outcome::Failed { message: "x".to_owned() }));
    assert!(read(&failed.raw()).is_err());
}
