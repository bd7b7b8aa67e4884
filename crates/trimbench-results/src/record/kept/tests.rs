use super::super::tests::record;
use super::*;

/// A record whose first session goes on.
fn running() -> RunRecord {
    let mut record = record();
    record.sessions[0].finished = false;
    record
}

fn line(session: usize, id: &str) -> Vec<u8> {
    let mut step = Step::new(id, "delete");
    step.measure("stutter_s", 0.1 + 0.2);
    KeptStep { session, step }.to_line()
}

fn ids(record: &RunRecord) -> Vec<&str> {
    record.sessions[0].steps.iter().map(|step| step.id.as_str()).collect()
}

#[test]
fn kept_steps_are_added_once_to_sessions_that_are_not_finished() {
    let mut record = running();
    let before = record.sessions[0].steps.len();
    let lines =
        [line(0, "kept-1"), line(0, "kept-2"), line(7, "stray"), line(0, "kept-1")].concat();
    assert_eq!(record.add_kept(&lines), None);
    assert_eq!(ids(&record)[before..], ["kept-1", "kept-2"]);
    let exact = (0.1_f64 + 0.2).to_bits();
    assert_eq!(record.sessions[0].steps[before].metrics["stutter_s"].to_bits(), exact);
    assert_eq!(record.add_kept(&lines), None);
    assert_eq!(ids(&record).len(), before + 2);
    record.sessions[0].finished = true;
    assert_eq!(record.add_kept(&line(0, "late")), None);
    assert_eq!(ids(&record).len(), before + 2);
}

#[test]
fn a_line_that_was_cut_off_was_never_kept() {
    let lines = [line(0, "kept-1"), line(0, "kept-2")].concat();
    let first = line(0, "kept-1").len();
    for length in first..lines.len() {
        let mut record = running();
        let before = record.sessions[0].steps.len();
        assert_eq!(record.add_kept(&lines[..length]), None, "{length} bytes");
        assert_eq!(ids(&record)[before..], ["kept-1"], "{length} bytes");
    }
    let mut record = running();
    assert_eq!(record.add_kept(&lines[..first - 1]), None);
    assert_eq!(record, running());
}

#[test]
fn lines_from_one_on_that_cannot_be_understood_are_left_out_and_counted() {
    let huge = b"{\"session\":0,\"step\":{\"id\":\"x\",\"kind\":\"y\",\"parameters\":{},\
        \"metrics\":{\"a\":1e999},\"histograms\":{},\"series\":{},\"caveats\":[]}}\n";
    for bad in [&b"\n"[..], b"{}\n", b"\0\0\0\n", b"[1]\n", huge] {
        let mut record = running();
        let before = record.sessions[0].steps.len();
        let lines = [&line(0, "kept-1")[..], bad, &line(0, "kept-2")].concat();
        assert_eq!(record.add_kept(&lines), Some(2), "{}", String::from_utf8_lossy(bad));
        assert_eq!(ids(&record)[before..], ["kept-1"]);
    }
}
