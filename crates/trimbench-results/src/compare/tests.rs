use trimbench_core::Caveat;

use super::*;
use crate::testing::{between, figure, record, session};

/// Two records with one session each, and one figure each in it.
fn two(before: Figure, after: Figure) -> (RunRecord, RunRecord) {
    (record(vec![session("m", vec![before])]), record(vec![session("m", vec![after])]))
}

/// The change of one figure between real targets.
fn change_of(before: Figure, after: Figure) -> MetricChange {
    let (mut before, mut after) = two(before, after);
    for record in [&mut before, &mut after] {
        record.sessions[0].target.clock = "wall".to_owned();
    }
    compare(&before, &after).pairs.remove(0).changes.remove(0)
}

/// Changes a record.
type Spoil = fn(&mut RunRecord);

fn headline(figure: Figure) -> Figure {
    Figure { headline: true, ..figure }
}

#[test]
fn a_change_is_told_apart_by_intervals_only() {
    let ms = |low, value, high| between("trim-p50", (low, value, high), "ms");
    let iops = |low, value, high| between("steady-iops", (low, value, high), "IOPS");
    let table = [
        (ms(0.9, 1.0, 1.1), ms(1.9, 2.0, 2.1), Effect::Worse, Some(100.0), Some(2.0)),
        (ms(0.9, 1.0, 1.1), ms(0.4, 0.5, 0.6), Effect::Better, Some(-50.0), Some(0.5)),
        (iops(90.0, 100.0, 110.0), iops(40.0, 50.0, 60.0), Effect::Worse, Some(50.0), Some(0.5)),
        (
            iops(90.0, 100.0, 110.0),
            iops(190.0, 200.0, 210.0),
            Effect::Better,
            Some(-100.0),
            Some(2.0),
        ),
        // Intervals that touch are not apart.
        (ms(0.9, 1.0, 1.1), ms(1.1, 2.0, 2.1), Effect::NotToldApart, Some(100.0), Some(2.0)),
        (ms(0.9, 1.0, 1.1), ms(1.1 + 1e-9, 2.0, 2.1), Effect::Worse, Some(100.0), Some(2.0)),
        (ms(0.9, 1.0, 1.1), ms(0.9, 1.0, 1.2), Effect::Same, Some(0.0), Some(1.0)),
        (
            figure("trim-p50", 1.0, "ms"),
            ms(1.9, 2.0, 2.1),
            Effect::NotToldApart,
            Some(100.0),
            Some(2.0),
        ),
        (ms(-0.1, 0.0, 0.1), ms(0.9, 1.0, 1.1), Effect::Worse, None, None),
        (ms(-1.1, -1.0, -0.9), ms(0.9, 1.0, 1.1), Effect::Worse, Some(200.0), None),
        (
            between("delay-exponent", (0.9, 1.0, 1.1), ""),
            between("delay-exponent", (1.9, 2.0, 2.1), ""),
            Effect::Changed,
            None,
            Some(2.0),
        ),
    ];
    for (index, (before, after, effect, worse, ratio)) in table.into_iter().enumerate() {
        let change = change_of(before.clone(), after.clone());
        assert_eq!(change.effect, effect, "row {index}: {change:?}");
        assert_eq!(change.worse_percent, worse, "row {index}");
        assert_eq!(change.ratio, ratio, "row {index}");
        assert_eq!(change.difference, Some(after.value - before.value), "row {index}");
    }
}

#[test]
fn without_intervals_only_an_emulated_drive_with_one_seed_tells_apart() {
    let (one, other) = (figure("trim-p50", 1.0, "ms"), figure("trim-p50", 1.01, "ms"));
    let (before, mut after) = two(one.clone(), other.clone());
    let effect = |after: &RunRecord| compare(&before, after).pairs[0].changes[0].clone();
    assert_eq!(effect(&after).effect, Effect::Worse);
    after.seed = 2;
    assert_eq!(effect(&after).effect, Effect::NotToldApart);
    assert_eq!(effect(&after).remark.as_deref(), Some("no interval"));
    assert_eq!(change_of(one, other).effect, Effect::NotToldApart);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let table: [(Spoil, &str); 8] = [
        (|it| it.sessions[0].method_version = 2, "method version: 1 before, 2 after"),
        (|it| it.program.model_version = 2, "model version: 1 before, 2 after"),
        (|it| it.sessions[0].target.clock = "wall".to_owned(), "clock: virtual before, wall after"),
        (
            |it| it.sessions[0].plan.preset = "standard".to_owned(),
            "preset: quick before, standard after",
        ),
        (
            |it| it.sessions[0].plan.options.extend([("rate".to_owned(), "5".to_owned())]),
            "`rate`: none before, 5 after",
        ),
        (|it| it.sessions[0].finished = false, "not finished after"),
        (|it| it.sessions[0].left_out = Some("unfit".to_owned()), "left out after: unfit"),
        (|_| (), ""),
    ];
    for (spoil, expected) in table {
        let (before, mut after) = two(figure("a", 1.0, "ms"), figure("a", 2.0, "ms"));
        spoil(&mut after);
        let pair = compare(&before, &after).pairs.remove(0);
        assert_eq!(pair.obstacles.join("; "), expected);
        assert_eq!(pair.changes.len(), usize::from(expected.is_empty()));
    }
    let mut invalid = figure("a", 2.0, "ms");
    invalid.caveat(Caveat::CommandsMerged);
    for (after, remark) in [
        (figure("a", 2.0, "s"), "unit: ms before, s after"),
        (invalid, "invalid after"),
        (figure("b", 2.0, "ms"), "not there after"),
    ] {
        let (before, after) = two(figure("a", 1.0, "ms"), after);
        let change = compare(&before, &after).pairs.remove(0).changes.remove(0);
        assert_eq!(change.effect, Effect::NotComparable);
        assert_eq!(change.remark.as_deref(), Some(remark));
        assert_eq!((change.difference, change.worse_percent), (None, None));
    }
}

#[test]
fn what_fits_neither_time_is_no_obstacle() {
    let mut out = session("m", Vec::new());
    out.left_out = Some("unfit".to_owned());
    let pair = compare(&record(vec![out.clone()]), &record(vec![out])).pairs.remove(0);
    assert_eq!((pair.obstacles, pair.changes), (Vec::new(), Vec::new()));
}

#[test]
fn what_may_be_the_cause_is_said() {
    let (before, mut after) = two(figure("a", 1.0, "ms"), figure("a", 2.0, "ms"));
    after.seed = 7;
    after.sessions[0].plan.target = "sim:x,capacity=1GiB".to_owned();
    after.sessions[0].target.identity.insert("firmware".to_owned(), "2".to_owned());
    for (key, text) in [
        ("cpu-governor", "powersave"),
        // Readings, which are others each time.
        ("temperature-celsius-2", "41"),
        ("pressure-io-percent-avg10", "1.30"),
        ("drive-log/nvme-smart/power-on-hours", "70"),
    ] {
        after.sessions[0].environment_before.insert(key.to_owned(), text.to_owned());
    }
    assert_eq!(
        compare(&before, &after).pairs[0].differences,
        [
            "target: sim:x before, sim:x,capacity=1GiB after",
            "seed: 1 before, 7 after",
            "`firmware`: none before, 2 after",
            "`cpu-governor`: none before, powersave after",
        ]
    );
}

#[test]
fn sessions_find_the_partner_that_is_most_like_them() {
    let with = |rate: &str, target: &str| {
        let mut it = session("m", vec![figure("a", 1.0, "ms")]);
        it.plan.options.insert("rate".to_owned(), rate.to_owned());
        it.plan.target = target.to_owned();
        it.target.name = target.trim_start_matches("sim:").split(',').next().unwrap().to_owned();
        it
    };
    let before = record(vec![
        with("1", "sim:a"),
        with("2", "sim:a"),
        with("1", "sim:b"),
        with("1", "sim:c"),
        session("other", vec![]),
    ]);
    let after = record(vec![
        with("2", "sim:a"),
        with("3", "sim:a"),
        with("1", "sim:b,capacity=1GiB"),
        with("1", "sim:d"),
    ]);
    let found = compare(&before, &after);
    let pairs: Vec<(usize, usize)> = found.pairs.iter().map(|it| (it.before, it.after)).collect();
    assert_eq!(pairs, [(0, 1), (1, 0), (2, 2)]);
    assert_eq!((found.only_before, found.only_after), (vec![3, 4], vec![3]));
}

#[test]
fn the_worst_comes_first() {
    let before = vec![
        headline(figure("trim-p50", 1.0, "ms")),
        figure("trim-p90", 1.0, "ms"),
        figure("trim-max", 0.0, "s"),
        figure("steady-iops", 100.0, "IOPS"),
        figure("gone", 1.0, "ms"),
        figure("chunk", 1.0, "B"),
    ];
    let after = vec![
        headline(figure("trim-p50", 1.1, "ms")),
        figure("trim-p90", 1.5, "ms"),
        figure("trim-max", 0.1, "s"),
        figure("steady-iops", 200.0, "IOPS"),
        figure("chunk", 1.0, "B"),
    ];
    let found = compare(&record(vec![session("m", before)]), &record(vec![session("m", after)]));
    let order: Vec<&str> = found.worst_first().iter().map(|(_, it)| it.id.as_str()).collect();
    assert_eq!(order, ["trim-max", "trim-p90", "trim-p50", "gone", "chunk", "steady-iops"]);
    assert_eq!(found.pairs[0].changes[0].id, "trim-p50", "the headline is first in its pair");
}

#[test]
fn a_limit_fails_by_a_regression_beyond_it_and_by_what_is_missing() {
    let base = vec![
        headline(figure("stutter", 1.0, "s/GB")),
        figure("response-p99", 1.0, "ms"),
        figure("weighted-p99", 1.0, "ms"),
        figure("nothing", 0.0, "ms"),
    ];
    let before = record(vec![session("m", base.clone())]);
    let fails = |limit: &str, change: Spoil| {
        let mut after = record(vec![session("m", base.clone())]);
        change(&mut after);
        let comparison = compare(&before, &after);
        let outcomes = judge(&comparison, &before, &[limit.parse().unwrap()]).unwrap();
        assert!(!outcomes.is_empty());
        outcomes.iter().any(|outcome| outcome.failure.is_some())
    };
    let worse: Spoil = |it| it.sessions[0].figures[0].value = 1.25;
    assert!(!fails("25", worse) && fails("24.9", worse));
    assert!(!fails("stutter=25%", worse) && fails("stutter = 24.9", worse));
    assert!(!fails("p99=0", worse));
    let tail: Spoil = |it| it.sessions[0].figures[2].value = 1.25;
    assert!(fails("p99=1", tail) && !fails("1", tail));
    assert!(fails("nothing=1000", |it| it.sessions[0].figures[3].value = 1e-9));
    // Better and the same hold.
    assert!(!fails("0", |it| it.sessions[0].figures[0].value = 0.5) && !fails("0", |_| ()));
    // Not told apart holds; not measured does not.
    assert!(!fails("0", |it| {
        it.seed = 2;
        it.sessions[0].figures[0].value = 1.25;
    }));
    assert!(fails("0", |it| it.sessions.clear()));
    assert!(fails("0", |it| it.sessions[0].finished = false));
    assert!(fails("0", |it| it.sessions[0].method_version = 2));
    assert!(fails("0", |it| drop(it.sessions[0].figures.remove(0))));
    assert!(fails("0", |it| it.sessions[0].figures[0].caveat(Caveat::NoDiscard)));
}

#[test]
fn a_limit_that_is_none_is_refused() {
    for text in ["", "x", "-1", "=5", "a=", "a=b", "nan", "inf", "5ms"] {
        let error = text.parse::<ChangeLimit>().unwrap_err().to_string();
        assert!(error.contains("is no limit on a change"), "{text}: {error}");
    }
    let before = record(vec![session("m", vec![figure("stutter", 1.0, "s/GB")])]);
    let comparison = compare(&before, &before);
    let error = judge(&comparison, &before, &["stuter=5".parse().unwrap()]).unwrap_err();
    assert_eq!(error.to_string(), "no figure is called `stuter`; did you mean `stutter`?");
    let error = judge(&comparison, &before, &["5".parse().unwrap()]).unwrap_err();
    assert_eq!(error.to_string(), "the run before has no headline to judge by");
    assert_eq!("5".parse::<ChangeLimit>().unwrap().to_string(), "every headline at most 5 % worse");
}
