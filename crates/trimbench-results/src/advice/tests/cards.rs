//! What stands on a card beside its answer.

use super::*;
use crate::step::DeletionDiscardsStep;

#[test]
fn an_answer_says_what_would_change_it_and_what_was_not_asked() {
    let advice = advice(&[loud(), helps()]);
    assert_eq!(
        advice.would_change,
        [
            "a p99.9 after deletions of at most 8 ms, and no single wait of more than 66.7 ms \
             (`delete-stall`): then mount with `discard`, if TRIM brings something",
            "somebody who waits while `fstrim` runs: set another `OnCalendar` (`systemctl edit \
             fstrim.timer`)",
        ]
    );
    assert_eq!(
        advice.not_measured,
        [
            "whether TRIM harms what lies beside it (`trim-integrity`)",
            "at which rate programs that pace their deletions would not be noticed \
             (`delete-stall --set p999-limit=10ms`)",
        ]
    );
    assert_eq!(
        advice.because[0].text,
        "after a deletion, 99.9 % of the accesses took at most 200 ms, after a placebo 100 us: \
         above the limit of 10 ms"
    );
    let behind = ["response-p99.9", "response-p99.9-placebo"].map(|id| (0, id.to_owned()));
    assert_eq!(advice.because[0].figures, behind);
}

/// 0.1 s is about one response: 0.25 s/GB in waits of 7 ms each are not felt.
#[test]
fn a_sum_of_short_waits_is_no_long_one() {
    let mut many = stall(7.0, 0.1, 0.0337);
    many.figures[0] = between("stutter", (0.249, 0.25, 0.251), "s/GB");
    many.figures[0].role = Some(Role::StutterPerGb);
    let card = advice(&[many]);
    assert_eq!(card.action, Action::EitherWillDo);
    let all = [card.would_change, card.because.into_iter().map(|it| it.text).collect()].concat();
    assert!(!all.iter().any(|text| text.contains("at once")), "{all:?}");
}

#[test]
fn what_a_record_lacks_is_named_and_supports_nothing() {
    let old = session("delete-stall", vec![between("stutter", (0.8, 0.9, 1.0), "s/GB")]);
    let card = advice(&[old]);
    assert_eq!(card.action, Action::Unknown);
    assert!(card.not_measured.iter().any(|it| it.contains("after placebos")), "{card:#?}");
    let settings = &[("ext4", 1.0, 1.0), ("fstrim-weekly", 1.0, 1.0), ("none", 1.0, 1.0)];
    let mut old = policy("ext4", settings);
    old.figures.retain(|figure| !figure.id.starts_with("max-"));
    let card = advice(&[old]);
    assert_eq!(card.action, Action::Unknown);
    let lacks = card.not_measured.iter().any(|it| it.contains("longest response under each"));
    assert!(lacks, "{card:#?}");
    let card = advice(&[policy("ext4", &settings[..2])]);
    assert_eq!(card.action, Action::Unknown);
    assert!(card.not_measured.iter().any(|it| it.contains("`none`")), "{card:#?}");
}

#[test]
fn what_a_model_was_not_fitted_to_supports_nothing() {
    let outside = |mut it: Session| {
        it.caveats.push("outside-calibration".to_owned());
        it
    };
    let files = || {
        let id = "total-duration-diff-buffered";
        session("postmark", vec![between(id, (300.0, 310.0, 320.0), "%")])
    };
    assert_eq!(action(&[outside(quiet()), outside(helps())]), "unknown");
    let card = advice(&[outside(quiet()), outside(helps()), files()]);
    assert_eq!(card.action, Action::WeeklyFstrim);
    assert_eq!(card.because.len(), 1, "{card:#?}");
    assert_eq!(card.outside, ["delete-stall", "recovery"]);
    let open = card.open_questions();
    let said: Vec<_> = open.iter().filter(|it| it.contains("outside its calibration")).collect();
    assert!(said.len() == 1 && said[0].contains("`delete-stall`, `recovery`"), "{card:#?}");
    // Nor does it cast doubt on what was fitted.
    let mut late = outside(quiet());
    late.figures[0].caveat(Caveat::WindowTooShort);
    assert_eq!(advice(&[late, files()]).action, Action::WeeklyFstrim);
    // Of one figure only.
    let mut part = loud();
    for figure in &mut part.figures[1..] {
        figure.caveats.push("outside-calibration".to_owned());
    }
    assert_eq!(action(&[part, files()]), "weekly-fstrim");
}

#[test]
fn a_proposal_is_a_remark_and_never_the_answer() {
    let under = [
        ("skip-by-latency", 1.0, 1.0),
        ("ext4", 30.0, 1.1),
        ("fstrim-weekly", 9.0, 1.4),
        ("none", 1.0, 2.0),
    ];
    let card = advice(&[policy("skip-by-latency", &under)]);
    assert_eq!(card.action, Action::WeeklyFstrim);
    assert!(card.remarks[0].contains("`skip-by-latency` would do better"), "{card:#?}");
    assert!(card.remarks[0].contains("no system has it"));
    let said = card.because.iter().map(|it| &it.text).chain(&card.would_change);
    assert!(!said.clone().any(|text| text.contains("skip-by-latency")), "{card:#?}");
    assert!(advice(&[policy("ext4", &under)]).remarks.is_empty());
}

#[test]
fn methods_that_measure_one_cost_agree_or_it_is_said_why_not() {
    let felt = |low, value, high| {
        session("delete-stall", vec![between("stutter", (low, value, high), "s/GB")])
    };
    let rest = |value| session("idle-trim", vec![figure("idle-trim", value, "s/GB")]);
    let of = |sessions: &[Session]| advice(sessions).agreement;
    assert!(of(&[felt(0.24, 0.25, 0.26)]).is_empty());
    let agree = of(&[felt(0.24, 0.25, 0.26), rest(0.248)]);
    assert!(agree[0].agrees && agree[0].text.contains("agree on what a GB costs"), "{agree:?}");
    assert_eq!(agree[0].figures, [(0, "stutter".to_owned()), (1, "idle-trim".to_owned())]);
    // A twentieth beyond both: 0.26 + 0.0125 against 0.2868 - 0.01434.
    assert!(of(&[felt(0.24, 0.25, 0.26), rest(0.2868)])[0].agrees);
    let more = of(&[felt(0.24, 0.25, 0.26), rest(0.2870)]);
    assert!(!more[0].agrees && more[0].text.contains("less than the TRIM takes"), "{more:?}");
    let less = of(&[felt(0.24, 0.25, 0.26), rest(0.1)]);
    assert!(!less[0].agrees && less[0].text.contains("longer than the TRIM takes"), "{less:?}");
    assert!(of(&[felt(0.0001, 0.0002, 0.0003), rest(0.0015)])[0].agrees, "both are nothing");
    let sweep = session("trim-sweep", vec![between("cost-per-gb-mapped", (0.5, 0.5, 0.5), "s/GB")]);
    assert!(!of(&[sweep, rest(0.1)])[0].agrees);
}

#[test]
fn a_filesystem_on_a_drive_is_of_its_card() {
    let on = |name: &str, kind: &str| {
        let mut it = quiet();
        name.clone_into(&mut it.target.name);
        kind.clone_into(&mut it.target.kind);
        it
    };
    let set = |mut it: Session, what: &str| {
        it.target.identity.insert("set-by-the-user".to_owned(), what.to_owned());
        it
    };
    let (drive, files) = (on("vendor2", "emulated"), on("ext4 on vendor2", "filesystem"));
    assert_eq!(drive_of(&drive), drive_of(&files));
    assert_ne!(drive_of(&drive), drive_of(&set(files.clone(), "trim.command=1ms")));
    assert_eq!(
        drive_of(&set(drive, "trim.command=1ms")),
        drive_of(&set(files, "trim.command=1ms"))
    );
    assert_eq!(drive_of(&on("/srv/put on hold", "directory")), "/srv/put on hold");
    let mut pool = on("zfs on vendor2", "filesystem");
    pool.target.identity.insert("drives".to_owned(), "12".to_owned());
    assert_eq!(drive_of(&pool), "zfs on vendor2");
}

#[test]
fn an_invalid_figure_that_says_otherwise_leaves_no_answer() {
    let late = caveat(loud(), Caveat::LateSchedule);
    let sweep = || sweep(256.0, 0.2, 0.004);
    let advice = advice(&[late, sweep()]);
    assert_eq!(advice.action, Action::Unknown);
    assert_eq!(
        advice.because[0].text,
        "what is valid says \"either will do: mount with `discard`, or trim once a week with \
         `fstrim`\"; with the invalid figures it would be \"trim once a week with `fstrim`, at a \
         quiet time, and mount without `discard`\""
    );
    assert!(advice.would_change[0].contains("`delete-stall` is invalid"), "{advice:#?}");
    // One that says the same changes nothing.
    let early = caveat(quiet(), Caveat::LateSchedule);
    assert_eq!(action(&[early, sweep()]), "either-will-do");
}

#[test]
fn a_filesystem_that_is_mounted_without_discard_has_no_answer_and_says_why() {
    let on = |options: &str| {
        let mut it = quiet();
        it.target.kind = "directory".to_owned();
        it.target.identity.insert("mount-options".to_owned(), options.to_owned());
        let mut step = Step::new("delete-0", "delete");
        step.caveat(Caveat::NoDiscard);
        it.steps.push(step);
        advice(&[it])
    };
    let card = on("rw,relatime,errors=continue");
    assert_eq!(card.action, Action::Unknown, "{card:#?}");
    assert_eq!(card.deciding, "mounted without `discard`: nothing was trimmed");
    assert!(card.would_change[0].contains("mounted with `discard`") && card.lines.is_empty());
    for options in ["rw,discard", "rw,discard=async,ssd"] {
        assert_ne!(on(options).deciding, card.deciding, "{options}");
    }
}

#[test]
fn discards_that_came_after_the_window_accuse_no_layer() {
    let with = |total: u64| {
        let discarded_bytes_total = Some(Bytes(total));
        let discards = DeletionDiscardsStep { discarded_bytes_total, ..Default::default() };
        let mut step = Step::of("delete-0", "delete", &discards);
        step.caveat(Caveat::NoDiscard);
        let mut it = quiet();
        it.steps = vec![step];
        advice(&[it]).action
    };
    assert_eq!(with(0), Action::TrimDoesNotReach);
    assert_ne!(with(1_000_000_000), Action::TrimDoesNotReach);
}
