use trimbench_core::Caveat;

use super::*;
use crate::record::{Figure, RunRecord, Step};
use crate::testing::{between, figure, session};
use crate::verdict::Verdict;

mod cards;
mod harm;
mod properties;

fn advice(sessions: &[Session]) -> Advice {
    advise(&sessions.iter().collect::<Vec<_>>())
}

fn action(sessions: &[Session]) -> &'static str {
    advice(sessions).action.id()
}

/// What `delete-stall` finds: p99.9 after deletions and after placebos, ms, and the longest
/// response, s, with a stutter that is told from placebo.
fn stall(tail: f64, placebo: f64, worst: f64) -> Session {
    session(
        "delete-stall",
        vec![
            between("stutter", (0.001, 0.002, 0.003), "s/GB"),
            figure("largest-response-max", worst, "s"),
            figure("response-p99.9", tail, "ms"),
            figure("response-p99.9-placebo", placebo, "ms"),
        ],
    )
}

fn quiet() -> Session {
    stall(0.1, 0.1, 0.001)
}

fn loud() -> Session {
    stall(200.0, 0.1, 0.5)
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

/// `policy`: the one that it chose, and the longest response (ms) and write amplification under
/// some.
fn policy(chosen: &str, under: &[(&str, f64, f64)]) -> Session {
    let mut headline = figure("policy", 1.0, "ms");
    headline.verdict = Some(Verdict::PolicyToChoose {
        policy: chosen.to_owned(),
        slack: "10%".to_owned(),
        lost: "10%".to_owned(),
        front: chosen.to_owned(),
    });
    let mut figures = vec![headline];
    for (policy, worst, wear) in under {
        figures.push(figure(&format!("max-under-{policy}"), *worst, "ms"));
        figures.push(figure(&format!("amplification-under-{policy}"), *wear, ""));
    }
    let mut session = session("policy", figures);
    session.plan.options.insert("small-discards".to_owned(), "1MiB".to_owned());
    session
}

/// Under `ext4`, the same in small pieces, `fstrim-weekly` and `none`.
fn settings(ext4: (f64, f64), small: (f64, f64), weekly: f64, none: (f64, f64)) -> Session {
    policy(
        "ext4",
        &[
            ("ext4", ext4.0, ext4.1),
            ("ext4-small-discards", small.0, small.1),
            ("fstrim-weekly", 900.0, weekly),
            ("none", none.0, none.1),
        ],
    )
}

fn with(it: Session, figures: Vec<Figure>) -> Session {
    session(&it.plan.method, [it.figures, figures].concat())
}

fn caveat(mut session: Session, caveat: Caveat) -> Session {
    session.caveats.push(caveat.id().to_owned());
    session
}

/// Where all settings were simulated, by `policy`: what follows.
fn simulated() -> Vec<(&'static str, Vec<Session>)> {
    vec![
        // Simulated: what `discard` costs is less than what it saves.
        ("mount-with-discard", vec![settings((9.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0))]),
        ("weekly-fstrim", vec![settings((20.0, 1.1), (20.0, 1.1), 1.4, (1.0, 2.0))]),
        ("smaller-discard-max", vec![settings((20.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0))]),
        ("nothing-to-gain", vec![settings((1.0, 1.0), (1.0, 1.0), 1.0, (1.0, 1.0))]),
        // What others wait without any TRIM is not TRIM's.
        ("mount-with-discard", vec![settings((90.0, 1.1), (90.0, 1.1), 1.4, (90.0, 2.0))]),
        // A gain that another method saw is not undone by one load.
        ("mount-with-discard", vec![settings((1.0, 1.0), (1.0, 1.0), 1.0, (1.0, 1.0)), helps()]),
        // Nor is a wait that is felt.
        ("weekly-fstrim", vec![settings((9.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0)), loud()]),
        // Large deletions are noticed, a small piece keeps the limit, and small ones are no worse.
        (
            "smaller-discard-max",
            vec![
                settings((9.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0)),
                stall(60.0, 0.1, 0.07),
                sweep(16.0, [0.3, 30.0, 60.0], 0.07),
            ],
        ),
        (
            "mount-with-discard",
            vec![
                settings((9.0, 1.1), (90.0, 1.1), 1.4, (1.0, 2.0)),
                stall(60.0, 0.1, 0.07),
                sweep(16.0, [0.3, 30.0, 60.0], 0.07),
            ],
        ),
        // A proposal is none.
        (
            "mount-with-discard",
            vec![policy(
                "paced",
                &[
                    ("paced", 1.0, 1.0),
                    ("ext4", 9.0, 1.1),
                    ("fstrim-weekly", 9.0, 1.4),
                    ("none", 1.0, 2.0),
                ],
            )],
        ),
        // As records of version 1 name them.
        (
            "weekly-fstrim",
            vec![policy(
                "batched",
                &[("batched", 9.0, 1.2), ("online", 90.0, 1.2), ("none", 1.0, 2.0)],
            )],
        ),
    ]
}

#[test]
fn every_action_follows_from_the_figures_that_mean_it() {
    let slow = || stall(0.1, 0.1, 0.001);
    let table: Vec<(&str, Vec<Session>)> = vec![
        ("mount-with-discard", vec![quiet()]),
        ("mount-with-discard", vec![quiet(), helps(), integrity(0.0, 0.0, 0.0)]),
        ("mount-with-discard", vec![sweep(256.0, [0.1, 0.2, 0.3], 0.004)]),
        ("weekly-fstrim", vec![loud(), helps()]),
        ("weekly-fstrim", vec![loud()]),
        ("weekly-fstrim", vec![helps()]),
        ("weekly-fstrim", vec![sweep(0.0, [80.0, 82.0, 83.0], 5.0)]),
        // No simulation of small pieces: none are advised, whatever one of them takes.
        ("weekly-fstrim", vec![loud(), sweep(1.0, [0.01, 32.0, 512.0], 0.6)]),
        // A rate is for programs that pace their deletions, and no answer.
        ("weekly-fstrim", vec![with(loud(), vec![figure("highest-deletion-rate", 100.0, "MB/s")])]),
        ("trim-does-not-reach", vec![recovery((0.3, 0.3), None)]),
        ("trim-does-not-reach", vec![steady(1.0, Some((6.7, 6.7))), quiet()]),
        ("trim-does-not-reach", vec![integrity(0.0, 100.0, 7.0), quiet()]),
        ("trim-does-not-reach", vec![caveat(quiet(), Caveat::NoDiscard)]),
        ("do-not-trim", vec![integrity(1.0, 0.0, 0.0), slow(), helps()]),
        ("nothing-to-gain", vec![recovery((1.0, 1.0), Some((1.0, 1.0))), loud()]),
        ("nothing-to-gain", vec![recovery((1.0, 1.0), None), steady(1.0, None)]),
        ("unknown", vec![]),
        ("unknown", vec![integrity(0.0, 0.0, 0.0)]),
        ("unknown", vec![stall(12.0, 10.0, 0.02)]),
        ("unknown", vec![recovery((1.0, 1.0), None)]),
    ];
    let mut seen: Vec<&str> = Vec::new();
    for (index, (expected, sessions)) in table.iter().chain(&simulated()).enumerate() {
        let advice = advice(sessions);
        assert_eq!(advice.action.id(), *expected, "row {index}: {advice:#?}");
        assert!(!advice.action.title().is_empty());
        assert_eq!(advice.lines.is_empty(), *expected == "unknown", "row {index}");
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
    assert_eq!(seen.len(), 7, "every action is shown");
}

/// The card says one thing: no line of it does what another undoes.
#[test]
fn no_card_contradicts_itself() {
    let all = [
        Action::MountWithDiscard,
        Action::WeeklyFstrim,
        Action::SmallerDiscardMax { bytes: 1 << 20 },
        Action::TrimDoesNotReach,
        Action::DoNotTrim,
        Action::NothingToGain,
        Action::Unknown,
    ];
    for action in all {
        let text: Vec<String> =
            lines_to_type(&action, &Place::template()).into_iter().map(|it| it.text).collect();
        let has = |part: &str| text.iter().any(|line| line.contains(part));
        let online = has(",discard") || has("autotrim=on");
        let offline = has("nodiscard") || has("autotrim=off");
        let (starts, stops) = (has("enable --now"), has("disable --now"));
        assert!(!(online && offline || starts && stops), "{text:?}");
        let trims_online =
            matches!(action, Action::MountWithDiscard | Action::SmallerDiscardMax { .. });
        assert_eq!(online, trims_online, "{action:?}");
        assert_eq!(starts, action == Action::WeeklyFstrim, "{action:?}");
        let limits = matches!(action, Action::SmallerDiscardMax { .. } | Action::DoNotTrim);
        assert_eq!(has("discard_max_bytes"), limits, "{action:?}");
        // What stops trimming on the whole machine is for a drive that loses data only.
        assert_eq!(stops, action == Action::DoNotTrim, "{action:?}");
    }
}

#[test]
fn each_limit_decides_at_its_edge() {
    let wear = |without| helps_by((1.0, 1.0), (without, 1.0));
    let storm =
        |stall| vec![session("delete-storm", vec![figure("second-stall", stall, "s")]), helps()];
    let files = |low, high| {
        let id = "total-duration-diff-buffered";
        vec![session("postmark", vec![between(id, (low, low, high), "%")])]
    };
    let overdue =
        |low: f64| vec![with(quiet(), vec![between("overdue", (low, low, low + 1.0), "s/GB")])];
    let settle = |time: f64, pace: f64| {
        let figures = vec![figure("settle", time, "s"), figure("settle-slowest", pace, "")];
        vec![quiet(), session("settle", figures)]
    };
    let limit = LONG_TRIM_S * 1e3;
    let share = OVERDUE_SHARE * 86_400.0 / DELETED_GB_A_DAY;
    let table: Vec<(&str, Vec<Session>)> = vec![
        ("mount-with-discard", vec![stall(limit, 0.1, 0.02), helps()]),
        ("weekly-fstrim", vec![stall(limit + 1e-9, 0.1, 0.02)]),
        // The same after placebos: the load's own.
        ("mount-with-discard", vec![stall(20.0 * TAIL_ALIKE, 20.0, 0.02)]),
        ("unknown", vec![stall(20.0 * TAIL_ALIKE + 1e-9, 20.0, 0.02)]),
        ("unknown", vec![stall(20.0 * TAIL_LONGER, 20.0, 0.02)]),
        ("weekly-fstrim", vec![stall(20.0 * TAIL_LONGER + 1e-9, 20.0, 0.02)]),
        // One response, not a sum.
        ("mount-with-discard", vec![stall(1.0, 0.1, WAIT_S)]),
        ("weekly-fstrim", vec![stall(1.0, 0.1, WAIT_S + 1e-9)]),
        ("mount-with-discard", vec![stall(70.0, 70.0, WAIT_S + 1e-9)]),
        ("mount-with-discard", overdue(share)),
        ("weekly-fstrim", overdue(share + 1e-9)),
        ("mount-with-discard", settle(STORM_STALL_S, 0.4)),
        ("mount-with-discard", settle(9.0, 0.5)),
        ("weekly-fstrim", settle(STORM_STALL_S + 1e-9, 0.5 - 1e-9)),
        ("mount-with-discard", vec![sweep(16.0, [1.0, 20.0, 21.0], WAIT_S)]),
        ("weekly-fstrim", vec![sweep(16.0, [1.0, 20.0, 21.0], WAIT_S + 1e-9)]),
        // So long a wait is not TRIM's, where a TRIM is short.
        ("unknown", vec![sweep(16.0, [1.0, limit, 21.0], WAIT_S + 1e-9)]),
        ("weekly-fstrim", vec![sweep(16.0, [1.0, limit + 1e-9, 21.0], WAIT_S + 1e-9)]),
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
        // The loss: 1.4 weekly, so that `discard` may be waited for as long as 1.4 times the limit
        // and the share that is alike.
        ("mount-with-discard", vec![settings((limit * 1.47, 1.0), (99.0, 1.0), 1.4, (1.0, 2.0))]),
        ("weekly-fstrim", vec![settings((limit * 1.47 + 1e-6, 1.0), (99.0, 1.0), 1.4, (1.0, 2.0))]),
        (
            "smaller-discard-max",
            vec![settings((limit * 1.2, 1.0), (limit * 1.139, 1.0), 1.4, (1.0, 2.0))],
        ),
        (
            "mount-with-discard",
            vec![settings((limit * 1.2, 1.0), (limit * 1.141, 1.0), 1.4, (1.0, 2.0))],
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
        ("generic-nvme-tlc", Action::MountWithDiscard, "783 us"),
        ("generic-sata-tlc", Action::MountWithDiscard, "3.45 ms"),
        ("vendor2", Action::WeeklyFstrim, "one TRIM takes 82.5 ms"),
    ];
    for (name, action, number) in table {
        let of_drive = record.sessions.iter().filter(|session| session.target.name == name);
        let sessions: Vec<&Session> = of_drive.collect();
        assert_eq!(sessions.len(), 7);
        let advice = advise(&sessions);
        assert_eq!(advice.action, action, "{advice:#?}");
        assert!(advice.because[0].text.contains(number), "{advice:#?}");
        // The record is of before the p99.9 had a part in this.
        let lacks = advice.not_measured.iter().any(|it| it.contains("which the record of"));
        assert!(lacks, "{advice:#?}");
    }
}

fn helps_by(speed: (f64, f64), wear: (f64, f64)) -> Session {
    recovery(speed, Some(wear))
}

#[test]
fn noise_supports_nothing() {
    // A long response among many, where the sum of delays is not told from placebo, is anybody's.
    let noisy = |tail, worst| {
        let mut it = stall(tail, 0.1, worst);
        it.figures[0] = between("stutter", (-0.5, 0.0, 0.5), "s/GB");
        it.figures[0].role = Some(Role::StutterPerGb);
        it
    };
    assert_eq!(action(&[noisy(90.0, 0.5)]), "unknown");
    assert_eq!(action(&[noisy(90.0, 0.5), helps()]), "weekly-fstrim");
    // That each deletion delays others is told, though not whether larger ones do so longer.
    let mut each = noisy(90.0, 0.5);
    each.figures[0].verdict = Some(Verdict::StallsBySizeOrNot);
    assert_eq!(action(&[each]), action(&[stall(90.0, 0.1, 0.5)]));
    assert_ne!(action(&[stall(90.0, 0.1, 0.5)]), "unknown");
    // A loud figure beside a quiet one counts.
    assert_eq!(action(&[quiet(), loud()]), "weekly-fstrim");
    // What was deleted by nobody holds up nobody.
    assert_eq!(action(&[caveat(loud(), Caveat::PlaceboOnly)]), "unknown");
    assert_eq!(action(&[caveat(steady(3.0, None), Caveat::NoSteadyState)]), "unknown");
    // A profile that was fitted through another method says nothing of this one.
    let extrapolated = caveat(stall(0.8, 0.9, 1.0), Caveat::OutsideCalibration);
    assert_eq!(action(std::slice::from_ref(&extrapolated)), "unknown");
    let quiet = stall(-0.001, 0.0, 0.001);
    assert_eq!(action(&[extrapolated, quiet.clone()]), action(&[quiet]));
    // What is not used of the drive hides what TRIM brings.
    let part = caveat(recovery((1.0, 1.0), Some((1.0, 1.0))), Caveat::PartOfDrive);
    assert_eq!(action(&[part]), "unknown");
}

#[test]
fn sessions_that_were_not_done_say_nothing() {
    let mut cut = quiet();
    cut.finished = false;
    let mut out = quiet();
    out.left_out = Some("it does not fit".to_owned());
    assert_eq!(action(&[cut, out]), "unknown");
}

#[test]
fn ids_are_stable_and_in_what_is_handed_to_pages() {
    let action = Action::SmallerDiscardMax { bytes: 1 << 20 };
    let json = serde_json::to_value(&action).unwrap();
    assert_eq!(json, serde_json::json!({ "id": action.id(), "bytes": 1 << 20 }));
    let json = serde_json::to_value(Action::MountWithDiscard).unwrap();
    assert_eq!(json["id"], Action::MountWithDiscard.id());
}
