use super::super::tests::record;
use super::*;

/// A record whose first session goes on.
fn running() -> RunRecord {
    let mut record = record();
    record.run_id = Some("0123456789abcdef0123456789abcdef".to_owned());
    record.sessions[0].finished = false;
    record
}

/// A line of a step of the first session, behind so many that it has.
fn line(record: &RunRecord, after: usize, id: &str) -> Vec<u8> {
    let mut step = Step::new(id, "delete");
    step.metrics.insert("stutter_s".to_owned(), 0.1 + 0.2);
    let origin = StepOrigin::of(record, 0).unwrap();
    KeptStep::new(origin, record.sessions[0].steps.len() + after, step).to_line()
}

fn added(record: &RunRecord, lines: &[u8]) -> (Vec<String>, Vec<(usize, LineFlaw)>) {
    let (before, mut record) = (record.sessions[0].steps.len(), record.clone());
    let rejected = record.add_kept(lines);
    let steps = record.sessions[0].steps[before..].iter().map(|step| step.id.clone()).collect();
    (steps, rejected.into_iter().map(|it| (it.line, it.reason)).collect())
}

#[test]
fn kept_steps_are_added_once_to_sessions_that_are_not_finished() {
    let mut record = running();
    let before = record.sessions[0].steps.len();
    let lines = [0, 1].map(|after| line(&record, after, &format!("kept-{after}"))).concat();
    assert_eq!(record.add_kept(&lines), []);
    let ids = |record: &RunRecord| -> Vec<String> {
        record.sessions[0].steps[before..].iter().map(|step| step.id.clone()).collect()
    };
    assert_eq!(ids(&record), ["kept-0", "kept-1"]);
    let exact = (0.1_f64 + 0.2).to_bits();
    assert_eq!(record.sessions[0].steps[before].metrics["stutter_s"].to_bits(), exact);
    assert_eq!(
        record.add_kept(&lines),
        [],
        "the record was written, and the lines are still there"
    );
    assert_eq!(ids(&record).len(), 2);
    record.sessions[0].finished = true;
    assert_eq!(record.add_kept(&lines), []);
    let (steps, flaws) = added(&record, &line(&record, 0, "late"));
    assert_eq!((steps.len(), &flaws[..]), (0, &[(1, LineFlaw::OutOfOrder)][..]));
}

#[test]
fn a_line_that_was_cut_off_was_never_kept() {
    let record = running();
    let first = line(&record, 0, "kept-0");
    let lines = [&first[..], &line(&record, 1, "kept-1")].concat();
    for length in first.len()..lines.len() {
        let (steps, flaws) = added(&record, &lines[..length]);
        assert_eq!((&steps[..], flaws.len()), (&["kept-0".to_owned()][..], 0), "{length} bytes");
    }
    for length in 0..first.len() {
        assert_eq!(added(&record, &lines[..length]), (Vec::new(), Vec::new()), "{length} bytes");
    }
    // What is no beginning of one was not written by the run.
    for foreign in ["theirs", "{\"session\":0,", "\0\0\0"] {
        let (steps, flaws) = added(&record, &[&first[..], foreign.as_bytes()].concat());
        assert_eq!((steps.len(), &flaws[..]), (1, &[(2, LineFlaw::Damaged)][..]), "{foreign}");
    }
}

#[test]
fn a_damaged_line_is_rejected_and_those_around_it_count() {
    let record = running();
    let huge = b"{\"session\":0,\"step\":{\"id\":\"x\",\"kind\":\"y\",\"parameters\":{},\
        \"metrics\":{\"a\":1e999},\"histograms\":{},\"series\":{},\"caveats\":[]}}\n";
    for bad in [&b"\n"[..], b"{}\n", b"\0\0\0\n", b"[1]\n", huge] {
        let lines = [&line(&record, 0, "a")[..], bad, &line(&record, 1, "b")].concat();
        let (steps, flaws) = added(&record, &lines);
        assert_eq!(steps, ["a", "b"], "{}", String::from_utf8_lossy(bad));
        assert_eq!(flaws, [(2, LineFlaw::Damaged)]);
    }
}

#[test]
fn no_byte_of_a_line_can_change_without_notice() {
    let record = running();
    let good = line(&record, 0, "kept");
    let length = good.len() - 1;
    for at in 0..length {
        for change in [1, 4, 0x20, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= change;
            let (steps, flaws) = added(&record, &bad);
            assert_eq!((steps.len(), flaws.len()), (0, 1), "byte {at}, {change}");
        }
    }
    let text = String::from_utf8(good[..length].to_vec()).unwrap();
    for bad in [
        text.replace("{\"id\"", "{ \"id\""),
        text.replace("\"caveats\":[]", "\"caveats\":[],\"more\":1"),
        text.replace("\"sequence\"", "\"sequence\":0,\"sequence\""),
        format!("{text} "),
    ] {
        assert_ne!(bad, text);
        assert_eq!(added(&record, format!("{bad}\n").as_bytes()).0.len(), 0, "{bad}");
    }
}

#[test]
fn a_line_counts_only_in_its_own_run_plan_and_target() {
    type Change = fn(&mut RunRecord);
    let own = running();
    let rows: [(LineFlaw, Change); 10] = [
        (LineFlaw::OtherRun, |it| it.run_id = Some("another".to_owned())),
        (LineFlaw::OtherRun, |it| it.run_id = None),
        (LineFlaw::OtherPlan, |it| it.seed ^= 1),
        (LineFlaw::OtherPlan, |it| it.program.commit.push('0')),
        (LineFlaw::OtherPlan, |it| it.sessions[0].method_version += 1),
        (LineFlaw::OtherPlan, |it| it.sessions[0].plan.method.push('x')),
        (LineFlaw::OtherPlan, |it| {
            it.sessions[0].plan.options.insert("window".to_owned(), "9s".to_owned());
        }),
        (LineFlaw::OtherTarget, |it| {
            it.sessions[0].target.identity.insert("serial".to_owned(), "B".to_owned());
        }),
        (LineFlaw::OtherTarget, |it| it.sessions[0].target.kind = "image".to_owned()),
        (LineFlaw::OtherPlan, |it| it.sessions.clear()),
    ];
    for (flaw, change) in rows {
        let mut other = own.clone();
        change(&mut other);
        let rejected = other.add_kept(&line(&own, 0, "kept"));
        assert_eq!(rejected, [RejectedLine { line: 1, reason: flaw }], "{flaw:?}");
    }
}

#[test]
fn lines_in_another_order_and_a_second_step_of_one_id_are_rejected() {
    let record = running();
    let [a, b, c] = [(0, "a"), (1, "b"), (2, "c")].map(|(after, id)| line(&record, after, id));
    let (steps, flaws) = added(&record, &[&b[..], &a].concat());
    assert_eq!((&steps[..], &flaws[..]), (&["b".to_owned()][..], &[(2, LineFlaw::OutOfOrder)][..]));
    let (steps, flaws) = added(&record, &[&a[..], &c, &b].concat());
    assert_eq!(steps, ["a", "c"]);
    assert_eq!(flaws, [(3, LineFlaw::OutOfOrder)]);
    let mut step = Step::new("a", "delete");
    step.metrics.insert("stutter_s".to_owned(), 9.0);
    let origin = StepOrigin::of(&record, 0).unwrap();
    let other = KeptStep::new(origin, record.sessions[0].steps.len() + 1, step).to_line();
    let (steps, flaws) = added(&record, &[a, other].concat());
    assert_eq!((steps.len(), &flaws[..]), (1, &[(2, LineFlaw::Contradicted)][..]));
}
