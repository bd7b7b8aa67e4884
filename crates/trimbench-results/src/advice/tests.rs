use proptest::prelude::*;
use trimbench_core::Caveat;

use super::*;
use crate::record::{Figure, RunRecord, Step};
use crate::testing::{between, figure, session};
use crate::verdict::Verdict;

fn advice(sessions: &[Session]) -> Advice {
    advise(&sessions.iter().collect::<Vec<_>>())
}

fn action(sessions: &[Session]) -> &'static str {
    advice(sessions).action.id()
}

/// `delete-stall` with a stutter of so many s/GB.
fn stall(low: f64, value: f64, high: f64) -> Session {
    session("delete-stall", vec![between("stutter", (low, value, high), "s/GB")])
}

/// `recovery` of a drive that fragments, with shares of fresh and write amplifications.
fn recovery((fragmented, trimmed): (f64, f64), wear: Option<(f64, f64)>) -> Session {
    let mut figures = vec![
        figure("trimmed-of-fresh", trimmed, ""),
        figure("fragmented-of-fresh", fragmented, ""),
    ];
    if let Some((without, with)) = wear {
        figures.push(figure("write-amplification-fragmented", without, ""));
        figures.push(figure("write-amplification-trimmed", with, ""));
    }
    session("recovery", figures)
}

/// TRIM helps.
fn helps() -> Session {
    recovery((0.3, 1.0), Some((3.7, 1.0)))
}

fn steady(gain: f64, wear: Option<(f64, f64)>) -> Session {
    let mut figures = vec![figure("gain-trimmed-25", gain, "")];
    if let Some((without, with)) = wear {
        figures.push(figure("write-amplification", without, ""));
        figures.push(figure("write-amplification-trimmed-25", with, ""));
    }
    session("steady-state", figures)
}

fn replay(gain: f64, wear: Option<(f64, f64)>) -> Session {
    let mut figures =
        vec![figure("gain-qd32-kept", gain, ""), figure("gain-max-qd32-kept", 9.0, "")];
    if let Some((without, with)) = wear {
        figures.push(figure("write-amplification-qd32-stripped", without, ""));
        figures.push(figure("write-amplification-qd32-kept", with, ""));
    }
    session("replay", figures)
}

/// `trim-sweep`: a chunk of so many MiB, and the mean latency of TRIMs of 1, 16 and 256 MiB.
fn sweep(chunk_mib: f64, latencies_ms: [f64; 3], loaded_max_s: f64) -> Session {
    let mebibyte = f64::from(1 << 20);
    let mut sweep = session(
        "trim-sweep",
        vec![
            figure("trim-p50", latencies_ms[1], "ms"),
            figure("chunk", chunk_mib * mebibyte, "B"),
            figure("loaded-max", loaded_max_s, "s"),
        ],
    );
    for (size, latency) in [1.0, 16.0, 256.0].into_iter().zip(latencies_ms) {
        let mut row = Step::new(format!("mapped-{size}"), "mapped");
        row.set("size_bytes", size * mebibyte);
        row.set("queue_depth", 1.0);
        row.measure("latency_s_mean", latency / 1e3);
        sweep.steps.push(row);
    }
    sweep
}

fn integrity(neighbours: f64, old_data: f64, violations: f64) -> Session {
    session(
        "trim-integrity",
        vec![
            figure("neighbour-blocks-lost", neighbours, "blocks"),
            figure("rewritten-blocks-lost", 0.0, "blocks"),
            figure("promise-violations", violations, "blocks"),
            figure("trimmed-old-data-share", old_data, "%"),
        ],
    )
}

/// `policy`: the one that it chose, and p99.9 (ms) and write amplification under some.
fn policy(chosen: &str, under: &[(&str, f64, f64)]) -> Session {
    let mut headline = figure("policy", 1.0, "ms");
    headline.verdict = Some(Verdict::PolicyToChoose {
        policy: chosen.to_owned(),
        slack: "10%".to_owned(),
        lost: "10%".to_owned(),
        front: chosen.to_owned(),
    });
    let mut figures = vec![headline];
    for (policy, tail, wear) in under {
        figures.push(figure(&format!("p99.9-under-{policy}"), *tail, "ms"));
        figures.push(figure(&format!("amplification-under-{policy}"), *wear, ""));
    }
    session("policy", figures)
}

fn with(it: Session, figures: Vec<Figure>) -> Session {
    session(&it.plan.method, [it.figures, figures].concat())
}

fn caveat(mut session: Session, caveat: Caveat) -> Session {
    session.caveats.push(caveat.id().to_owned());
    session
}

#[test]
fn every_action_follows_from_the_figures_that_mean_it() {
    let loud = || stall(0.8, 0.9, 1.0);
    let table: Vec<(&str, Vec<Session>)> = vec![
        ("mount-with-discard", vec![stall(-0.001, 0.0, 0.001)]),
        ("mount-with-discard", vec![stall(0.01, 0.011, 0.012), helps(), integrity(0.0, 0.0, 0.0)]),
        ("mount-with-discard", vec![sweep(256.0, [0.1, 0.2, 0.3], 0.004)]),
        ("weekly-fstrim", vec![loud(), helps()]),
        ("weekly-fstrim", vec![loud()]),
        ("weekly-fstrim", vec![helps()]),
        ("weekly-fstrim", vec![sweep(0.0, [80.0, 82.0, 83.0], 5.0)]),
        // A GB in pieces of 16 MiB takes 0.25 s: no piece is too long, and the stop stays.
        ("weekly-fstrim", vec![loud(), sweep(16.0, [0.3, 4.2, 67.0], 0.07)]),
        // A GB in pieces of 1 MiB takes 0.01 s, and in larger ones 2 s.
        ("smaller-discard-max", vec![loud(), sweep(1.0, [0.01, 32.0, 512.0], 0.6)]),
        (
            "paced-trim",
            vec![with(
                loud(),
                vec![
                    figure("highest-deletion-rate", 100.0, "MB/s"),
                    figure("highest-deletion-rate-chunk", 8.0, "MiB"),
                ],
            )],
        ),
        ("paced-trim", vec![policy("paced", &[("paced", 9.0, 1.2), ("ext4", 900.0, 1.2)])]),
        ("weekly-fstrim", vec![policy("batched", &[("batched", 9.0, 1.2), ("online", 90.0, 1.2)])]),
        (
            "weekly-fstrim",
            vec![policy("fstrim-weekly", &[("fstrim-weekly", 9.0, 1.2), ("ext4", 90.0, 1.2)])],
        ),
        ("mount-with-discard", vec![policy("online", &[("online", 9.0, 1.2)])]),
        ("mount-with-discard", vec![policy("ext4", &[("ext4", 9.0, 1.2)])]),
        ("nothing-to-gain", vec![policy("none", &[("none", 1.0, 1.0), ("ext4", 1.0, 1.0)])]),
        ("weekly-fstrim", vec![policy("none", &[("none", 1.0, 1.0)]), helps()]),
        ("weekly-fstrim", vec![policy("online", &[("online", 9.0, 1.2)]), loud()]),
        ("trim-does-not-reach", vec![recovery((0.3, 0.3), None)]),
        ("trim-does-not-reach", vec![steady(1.0, Some((6.7, 6.7))), stall(-0.001, 0.0, 0.001)]),
        ("trim-does-not-reach", vec![integrity(0.0, 100.0, 7.0), stall(-0.001, 0.0, 0.001)]),
        ("trim-does-not-reach", vec![caveat(stall(-0.001, 0.0, 0.001), Caveat::NoDiscard)]),
        ("do-not-trim", vec![integrity(1.0, 0.0, 0.0), stall(-0.001, 0.0, 0.001), helps()]),
        ("nothing-to-gain", vec![recovery((1.0, 1.0), Some((1.0, 1.0))), stall(-0.1, 0.0, 0.1)]),
        ("nothing-to-gain", vec![recovery((1.0, 1.0), None), steady(1.0, None)]),
        ("unknown", vec![]),
        ("unknown", vec![integrity(0.0, 0.0, 0.0)]),
        ("unknown", vec![stall(-0.1, 0.0, 0.1)]),
        ("unknown", vec![recovery((1.0, 1.0), None)]),
    ];
    let mut seen: Vec<&str> = Vec::new();
    for (index, (expected, sessions)) in table.iter().enumerate() {
        let advice = advice(sessions);
        assert_eq!(advice.action.id(), *expected, "row {index}: {advice:#?}");
        assert!(!advice.action.title().is_empty());
        for reason in &advice.because {
            for (session, id) in &reason.figures {
                assert!(sessions[*session].figure(id).is_some(), "row {index}: {id}");
            }
        }
        let open = !advice.would_change.is_empty() || !advice.not_measured.is_empty();
        assert!(open, "row {index}: nothing is beyond doubt");
        seen.push(expected);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 8, "every action is shown");
}

#[test]
fn each_limit_decides_at_its_edge() {
    let wear = |without| helps_by((1.0, 1.0), (without, 1.0));
    let storm =
        |stall| vec![session("delete-storm", vec![figure("second-stall", stall, "s")]), helps()];
    let quiet = || stall(-0.001, 0.0, 0.001);
    let files = |low, high| {
        let id = "total-duration-diff-buffered";
        vec![session("postmark", vec![between(id, (low, low, high), "%")])]
    };
    let chunk = |ms| vec![stall(0.8, 0.9, 1.0), sweep(1.0, [ms, 32.0, 512.0], 0.6)];
    let mebibyte_ms = STUTTER_S_PER_GB * f64::from(1 << 20) / 1e6;
    let table: Vec<(&str, Vec<Session>)> = vec![
        ("mount-with-discard", vec![stall(0.01, 0.015, STUTTER_S_PER_GB), helps()]),
        ("weekly-fstrim", vec![stall(0.01, 0.015, STUTTER_S_PER_GB + 1e-9), helps()]),
        ("unknown", vec![stall(0.01, 0.015, STUTTER_S_PER_GB + 1e-9)]),
        ("unknown", vec![stall(STUTTER_S_PER_GB, 0.03, 0.04)]),
        ("weekly-fstrim", vec![stall(STUTTER_S_PER_GB + 1e-9, 0.03, 0.04)]),
        ("mount-with-discard", vec![sweep(16.0, [1.0, 20.0, 21.0], WAIT_S)]),
        ("weekly-fstrim", vec![sweep(16.0, [1.0, 20.0, 21.0], WAIT_S + 1e-9)]),
        // So long a wait is not TRIM's, where a TRIM is short.
        ("unknown", vec![sweep(16.0, [1.0, LONG_TRIM_S * 1e3, 21.0], WAIT_S + 1e-9)]),
        ("weekly-fstrim", vec![sweep(16.0, [1.0, LONG_TRIM_S * 1e3 + 1e-9, 21.0], WAIT_S + 1e-9)]),
        ("mount-with-discard", files(1.0, SLOWDOWN_PERCENT)),
        ("unknown", files(1.0, SLOWDOWN_PERCENT + 1e-9)),
        ("weekly-fstrim", files(SLOWDOWN_PERCENT + 1e-9, 20.0)),
        ("mount-with-discard", [vec![quiet()], storm(STORM_STALL_S)].concat()),
        ("weekly-fstrim", [vec![quiet()], storm(STORM_STALL_S + 1e-9)].concat()),
        ("mount-with-discard", vec![quiet(), replay(1.0 - SHARE + 1e-9, None)]),
        ("weekly-fstrim", vec![quiet(), replay(1.0 - SHARE, None)]),
        // A gain alone says to trim, but not when.
        ("weekly-fstrim", vec![replay(1.0 + SHARE, None)]),
        ("unknown", vec![replay(1.0 + SHARE - 1e-9, None)]),
        ("weekly-fstrim", vec![steady(1.0 + STEADY_SHARE, None)]),
        ("unknown", vec![steady(1.0 + STEADY_SHARE - 1e-9, None)]),
        ("weekly-fstrim", vec![recovery((0.5, 0.5 + SHARE), None)]),
        ("trim-does-not-reach", vec![recovery((0.5, 0.5 + SHARE - 1e-9), None)]),
        ("unknown", vec![recovery((1.0 - SHARE, 1.0 - SHARE), None)]),
        ("trim-does-not-reach", vec![recovery((1.0 - SHARE - 1e-9, 0.98), None)]),
        ("weekly-fstrim", vec![wear(WEAR_RATIO)]),
        ("unknown", vec![wear(WEAR_RATIO - 1e-9)]),
        ("nothing-to-gain", vec![wear(NO_WEAR)]),
        ("unknown", vec![wear(NO_WEAR + 1e-9)]),
        ("smaller-discard-max", chunk(mebibyte_ms)),
        ("weekly-fstrim", chunk(mebibyte_ms * (1.0 + 1e-9))),
        (
            "mount-with-discard",
            vec![policy("paced", &[("paced", 1.0, 1.0), ("ext4", 10.0, WEAR_RATIO)])],
        ),
        (
            "paced-trim",
            vec![policy("paced", &[("paced", 1.0, 1.0), ("ext4", 10.0 + 1e-9, WEAR_RATIO)])],
        ),
        (
            "paced-trim",
            vec![policy("paced", &[("paced", 1.0, 1.0), ("ext4", 10.0, WEAR_RATIO + 1e-9)])],
        ),
    ];
    for (index, (expected, sessions)) in table.iter().enumerate() {
        let advice = advice(sessions);
        assert_eq!(advice.action.id(), *expected, "row {index}: {advice:#?}");
    }
}

/// The figures that rules read, of a default run (commit 92c0fbd, seed 1). A record of format 1.
#[test]
fn the_drives_of_a_default_run_get_different_answers() {
    let record = RunRecord::from_json(include_bytes!("golden/four-drives.json")).unwrap();
    let table = [
        (
            "like-optane-900p",
            Action::NothingToGain,
            "write amplification 1 without TRIM, 1 with it",
        ),
        ("generic-nvme-tlc", Action::MountWithDiscard, "0.000313 s/GB"),
        ("generic-sata-tlc", Action::MountWithDiscard, "0.0139 s/GB (0.0137 s/GB to 0.0142 s/GB)"),
        ("vendor2", Action::WeeklyFstrim, "0.896 s/GB (0.762 s/GB to 0.991 s/GB)"),
    ];
    for (name, action, number) in table {
        let of_drive = record.sessions.iter().filter(|session| session.target.name == name);
        let sessions: Vec<&Session> = of_drive.collect();
        assert_eq!(sessions.len(), 7);
        let advice = advise(&sessions);
        assert_eq!(advice.action, action, "{advice:#?}");
        assert!(advice.because[0].text.contains(number), "{advice:#?}");
    }
}

fn helps_by(speed: (f64, f64), wear: (f64, f64)) -> Session {
    recovery(speed, Some(wear))
}

#[test]
fn noise_supports_nothing() {
    // Wide noise around nothing is not nothing, and no interval is no certainty.
    assert_eq!(action(&[stall(-0.5, 0.0, 0.5), helps()]), "weekly-fstrim");
    let bare = session("delete-stall", vec![figure("stutter", 0.0, "s/GB")]);
    assert_eq!(action(&[bare, helps()]), "weekly-fstrim");
    // A loud figure beside a quiet one counts: of two runs the worse.
    assert_eq!(action(&[stall(-0.001, 0.0, 0.001), stall(0.8, 0.9, 1.0)]), "weekly-fstrim");
    // What was deleted by nobody holds up nobody.
    assert_eq!(action(&[caveat(stall(0.8, 0.9, 1.0), Caveat::PlaceboOnly)]), "unknown");
    assert_eq!(action(&[caveat(steady(3.0, None), Caveat::NoSteadyState)]), "unknown");
    // What is not used of the drive hides what TRIM brings.
    let part = caveat(recovery((1.0, 1.0), Some((1.0, 1.0))), Caveat::PartOfDrive);
    assert_eq!(action(&[part]), "unknown");
}

#[test]
fn sessions_that_were_not_done_say_nothing() {
    let mut cut = stall(-0.001, 0.0, 0.001);
    cut.finished = false;
    let mut out = stall(-0.001, 0.0, 0.001);
    out.left_out = Some("it does not fit".to_owned());
    assert_eq!(action(&[cut, out]), "unknown");
}

#[test]
fn an_answer_says_what_would_change_it_and_what_was_not_asked() {
    let advice = advice(&[stall(0.8, 0.9, 1.0), helps()]);
    assert_eq!(
        advice.would_change,
        [
            "a stutter below 0.02 s/GB, and no wait beside TRIMs of more than 0.1 s: then mount \
             with `discard`",
            "a workload that never deletes more than 111 MB at once, which stays below 0.1 s: \
             then mount with `discard`",
        ]
    );
    assert_eq!(
        advice.not_measured,
        [
            "whether TRIM harms what lies beside it (`trim-integrity`)",
            "at which pace it would not be noticed (`delete-stall --set p999-limit=10ms`, \
             `policy`)",
        ]
    );
    assert_eq!(
        advice.because[0].text,
        "a deletion holds up others for 0.9 s/GB (0.8 s/GB to 1 s/GB): above the 0.02 s/GB that \
         are noticed"
    );
    assert_eq!(advice.because[0].figures, [(0, "stutter".to_owned())]);
}

#[test]
fn an_invalid_figure_that_says_otherwise_leaves_no_answer() {
    let mut late = stall(0.8, 0.9, 1.0);
    late.figures[0].caveat(Caveat::WindowTooShort);
    let sweep = || sweep(256.0, [0.1, 0.2, 0.3], 0.004);
    let advice = advice(&[late, sweep()]);
    assert_eq!(advice.action, Action::Unknown);
    assert_eq!(
        advice.because[0].text,
        "what is valid says \"mount with `discard`\"; with the invalid figures it would be \
         \"trim once a week with `fstrim`, at a quiet time, and mount without `discard`\""
    );
    assert!(advice.would_change[0].contains("`delete-stall` is invalid"), "{advice:#?}");
    // One that says the same changes nothing.
    let mut early = stall(-0.001, 0.0, 0.001);
    early.figures[0].caveat(Caveat::WindowTooShort);
    assert_eq!(action(&[early, sweep()]), "mount-with-discard");
}

#[test]
fn numbers_in_sentences_have_three_digits_and_a_unit_that_suits_them() {
    let table = [
        (0.0139, "s/GB", "0.0139 s/GB"),
        (0.000_783, "s", "783 us"),
        (5.2257, "s", "5.23 s"),
        (11_081.0, "ms", "11.1 s"),
        (82.451, "ms", "82.5 ms"),
        (1.5, "s", "1.5 s"),
        (0.0, "s", "0 s"),
        (-0.0, "", "0"),
        (120.0, "MB/s", "120 MB/s"),
        (12_345.6, "", "12346"),
        (-0.05, "s/GB", "-0.05 s/GB"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(shown(value, unit), expected);
    }
}

/// Sessions of any drive, with figures on both sides of every limit.
fn any_sessions() -> impl Strategy<Value = Vec<Session>> {
    let share = || prop_oneof![Just(0.3), Just(0.97), Just(1.0)];
    let wear = || {
        prop_oneof![
            Just(None),
            Just(Some((1.0, 1.0))),
            Just(Some((4.0, 4.0))),
            Just(Some((4.0, 1.2)))
        ]
    };
    let gain = || prop_oneof![Just(0.9), Just(1.0), Just(1.5)];
    let stutter =
        prop_oneof![Just((-0.001, 0.0, 0.001)), Just((-0.1, 0.0, 0.1)), Just((0.5, 0.6, 0.7)),];
    let rate = prop_oneof![Just(0.0), Just(50.0)];
    let some = |strategy: BoxedStrategy<Session>| proptest::option::of(strategy);
    let parts = (
        some(
            (stutter, rate)
                .prop_map(|((low, value, high), rate)| {
                    with(
                        stall(low, value, high),
                        vec![figure("highest-deletion-rate", rate, "MB/s")],
                    )
                })
                .boxed(),
        ),
        some(
            ((share(), share()), wear()).prop_map(|(shares, wear)| recovery(shares, wear)).boxed(),
        ),
        some((gain(), wear()).prop_map(|(gain, wear)| steady(gain, wear)).boxed()),
        some((gain(), wear()).prop_map(|(gain, wear)| replay(gain, wear)).boxed()),
        some(
            prop_oneof![
                Just(sweep(256.0, [0.1, 0.2, 0.3], 0.004)),
                Just(sweep(1.0, [0.01, 32.0, 512.0], 0.6)),
                Just(sweep(0.0, [80.0, 82.0, 83.0], 5.0)),
            ]
            .boxed(),
        ),
        some(
            prop_oneof![
                Just(integrity(0.0, 0.0, 0.0)),
                Just(integrity(0.0, 100.0, 3.0)),
                Just(integrity(2.0, 0.0, 0.0)),
            ]
            .boxed(),
        ),
        some(
            prop_oneof![
                Just(policy("paced", &[("paced", 9.0, 1.2), ("online", 900.0, 1.2)])),
                Just(policy("online", &[("online", 9.0, 1.2)])),
                Just(policy("none", &[("none", 1.0, 1.0)])),
            ]
            .boxed(),
        ),
    );
    parts.prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn an_invalid_figure_turns_no_answer_into_a_recommendation(
        sessions in any_sessions(),
        at in any::<prop::sample::Index>(),
        which in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        prop_assume!(!sessions.is_empty());
        let before = advice(&sessions).action;
        let mut spoiled = sessions.clone();
        let session = at.get(&sessions);
        let index = sessions.iter().position(|it| it.plan == session.plan).unwrap();
        if whole {
            spoiled[index].caveats.push(Caveat::LateSchedule.id().to_owned());
        } else {
            let figure = which.index(spoiled[index].figures.len());
            spoiled[index].figures[figure].caveat(Caveat::LateSchedule);
        }
        let after = advice(&spoiled).action;
        prop_assert!(
            !after.is_recommendation() || after == before,
            "{} became {}", before.id(), after.id()
        );
    }

    #[test]
    fn an_invalid_session_more_supports_nothing(
        sessions in any_sessions(),
        more in any_sessions(),
    ) {
        let before = advice(&sessions).action;
        let mut all = sessions;
        all.extend(more.into_iter().map(|it| caveat(it, Caveat::LateSchedule)));
        let after = advice(&all).action;
        let kept = after == before || after == Action::Unknown;
        prop_assert!(kept, "{} became {}", before.id(), after.id());
    }
}

#[test]
fn ids_are_stable_and_in_what_is_handed_to_pages() {
    let action = Action::SmallerDiscardMax { bytes: 1 << 20 };
    let json = serde_json::to_value(&action).unwrap();
    assert_eq!(json, serde_json::json!({ "id": action.id(), "bytes": 1 << 20 }));
    let json = serde_json::to_value(Action::MountWithDiscard).unwrap();
    assert_eq!(json["id"], Action::MountWithDiscard.id());
}
