use trimbench_core::{Bytes, Caveat};

use super::*;
use crate::record::{Figure, RunRecord, Step};
use crate::testing::{between, figure, record, session};
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

/// `trim-sweep`: a chunk of so many MiB, and the median latency of a TRIM.
fn sweep(chunk_mib: f64, latency_ms: f64, loaded_max_s: f64) -> Session {
    session(
        "trim-sweep",
        vec![
            figure("trim-p50", latency_ms, "ms"),
            figure("chunk", chunk_mib * f64::from(1 << 20), "B"),
            figure("loaded-max", loaded_max_s, "s"),
        ],
    )
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

/// The same with what a GB costs in TRIMs, s, and each TRIM whatever its size, ms.
fn costs((each_gb, each_trim): (f64, f64)) -> Session {
    let figures = vec![
        figure("cost-per-gb-mapped", each_gb, "s/GB"),
        figure("command-cost", each_trim, "ms"),
    ];
    with(sweep(16.0, 30.0, 0.04), figures)
}

/// The same with so much time lost after a TRIM, in its last session.
fn losing(mut sessions: Vec<Session>, lost_s: f64) -> Vec<Session> {
    let last = sessions.pop().expect("it settles");
    sessions.push(with(last, vec![figure("settle-lost", lost_s, "s")]));
    sessions
}

/// Where all settings were simulated, by `policy`: what follows.
fn simulated() -> Vec<(&'static str, Vec<Session>)> {
    let quick = || settings((7.0, 1.1), (7.0, 1.1), 1.4, (1.0, 2.0));
    vec![
        // Simulated: `discard` is not noticed, and saves wear.
        ("mount-with-discard", vec![quick()]),
        ("weekly-fstrim", vec![settings((20.0, 1.1), (20.0, 1.1), 1.4, (1.0, 2.0))]),
        ("smaller-discard-max", vec![settings((20.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0))]),
        ("nothing-to-gain", vec![settings((1.0, 1.0), (1.0, 1.0), 1.0, (1.0, 1.0))]),
        // Close to the limit.
        ("either-will-do", vec![settings((9.0, 1.1), (9.0, 1.1), 1.4, (1.0, 2.0))]),
        ("either-will-do", vec![settings((12.0, 1.1), (12.0, 1.1), 1.4, (1.0, 2.0))]),
        // What others wait without any TRIM is not TRIM's.
        ("mount-with-discard", vec![settings((90.0, 1.1), (90.0, 1.1), 1.4, (90.0, 2.0))]),
        // A gain that another method saw is not undone by one load.
        ("mount-with-discard", vec![settings((1.0, 1.0), (1.0, 1.0), 1.0, (1.0, 1.0)), helps()]),
        // Nor is a wait that was measured.
        ("weekly-fstrim", vec![quick(), loud()]),
        // Large deletions are noticed, a small piece keeps the limit, and small ones are no worse.
        ("smaller-discard-max", vec![quick(), stall(60.0, 0.1, 0.04), sweep(16.0, 30.0, 0.04)]),
        // What each piece costs of its own makes all of them together dearer, or does not.
        ("smaller-discard-max", vec![quick(), stall(60.0, 0.1, 0.04), costs((0.227, 0.23))]),
        ("weekly-fstrim", vec![quick(), stall(60.0, 0.1, 0.04), costs((0.227, 0.25))]),
        (
            "weekly-fstrim",
            vec![
                settings((7.0, 1.1), (90.0, 1.1), 1.4, (1.0, 2.0)),
                stall(60.0, 0.1, 0.04),
                sweep(16.0, 30.0, 0.04),
            ],
        ),
        // Small pieces that are noticed themselves cure nothing, however little they lose.
        (
            "weekly-fstrim",
            vec![
                settings((20.0, 1.1), (13.0, 1.1), 1.4, (1.0, 2.0)),
                stall(60.0, 0.1, 0.04),
                sweep(16.0, 30.0, 0.04),
            ],
        ),
        // A proposal is none.
        (
            "mount-with-discard",
            vec![policy(
                "paced",
                &[
                    ("paced", 1.0, 1.0),
                    ("ext4", 7.0, 1.1),
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
    let table: Vec<(&str, Vec<Session>)> = vec![
        ("either-will-do", vec![quiet()]),
        ("mount-with-discard", vec![quiet(), helps(), integrity(0.0, 0.0, 0.0)]),
        ("either-will-do", vec![sweep(256.0, 0.2, 0.004)]),
        ("weekly-fstrim", vec![loud(), helps()]),
        ("weekly-fstrim", vec![loud()]),
        ("weekly-fstrim", vec![helps()]),
        ("weekly-fstrim", vec![sweep(0.0, 82.0, 5.0)]),
        // No simulation of small pieces: none are advised, whatever one of them takes.
        ("weekly-fstrim", vec![loud(), sweep(1.0, 32.0, 0.6)]),
        // A rate is for programs that pace their deletions, and no answer.
        ("weekly-fstrim", vec![with(loud(), vec![figure("highest-deletion-rate", 100.0, "MB/s")])]),
        ("trim-does-not-reach", vec![recovery((0.3, 0.3), None)]),
        ("trim-does-not-reach", vec![steady(1.0, Some((6.7, 6.7))), quiet()]),
        ("trim-does-not-reach", vec![integrity(0.0, 100.0, 7.0), quiet()]),
        ("trim-does-not-reach", vec![caveat(quiet(), Caveat::NoDiscard)]),
        ("do-not-trim", vec![integrity(1.0, 0.0, 0.0), quiet(), helps()]),
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
        let nothing_to_type = matches!(*expected, "unknown" | "either-will-do");
        assert_eq!(advice.lines.is_empty(), nothing_to_type, "row {index}");
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
    assert_eq!(seen.len(), Action::IDS.len(), "every action is shown");
}

/// Deletions of these sizes.
fn of_sizes(mut session: Session, sizes: &str) -> Session {
    let key = if session.plan.method == "delete-stall" { "sizes" } else { "file-sizes" };
    session.plan.options.insert(key.to_owned(), sizes.to_owned());
    session
}

/// What was measured outranks what was simulated with deletions that are no larger.
#[test]
fn a_measurement_outranks_a_simulation_of_smaller_deletions() {
    let of = |measured: Session, simulated: Session, size: &str| {
        let measured = of_sizes(measured, "64MiB,1GiB");
        advice(&[measured, of_sizes(simulated, size), helps()])
    };
    let noticed = || settings((50.0, 1.1), (50.0, 1.1), 1.4, (1.0, 2.0));
    let not_noticed = || settings((7.0, 1.1), (7.0, 1.1), 1.4, (1.0, 2.0));
    // As `ext4:sim:like-rc100` was seen: 33 ms with 1 GiB, 4 ms with files of up to 16 MiB.
    assert_eq!(of(stall(33.0, 0.1, 0.04), not_noticed(), "16MiB").action, Action::WeeklyFstrim);
    assert_eq!(of(quiet(), noticed(), "16MiB").action, Action::MountWithDiscard);
    let card = of(quiet(), noticed(), "4GiB");
    assert_eq!(card.action, Action::WeeklyFstrim, "{card:#?}");
    for card in [of(loud(), not_noticed(), "1GiB"), of(quiet(), noticed(), "1GiB")] {
        assert_eq!(card.action, Action::Unknown);
        assert!(card.because[0].text.contains("contradict each other"), "{card:#?}");
    }
}

/// A deletion that slows others for more than a second in all is noticed.
#[test]
fn a_deletion_is_judged_by_the_size_that_is_asked_about() {
    let slope = |low: f64, high: f64| {
        let mut it = of_sizes(quiet(), "64MiB,1GiB");
        it.figures[0] = between("stutter", (low, f64::midpoint(low, high), high), "s/GB");
        it.figures[0].role = Some(Role::StutterPerGb);
        it
    };
    assert_eq!(action(&[slope(1.3, 1.4)]), "weekly-fstrim");
    assert_eq!(action(&[slope(0.95, 1.05)]), "either-will-do", "close to a second");
    assert_eq!(action(&[slope(0.1, 0.11), helps()]), "mount-with-discard");
    assert_eq!(action(&[slope(-1.0, 3.0)]), "unknown", "not resolved");
    let about = |gibibytes| {
        let mut asked = record(vec![slope(0.1, 0.11), helps()]);
        assert!(ask_about(&mut asked, Bytes::gib(gibibytes)));
        advise(&asked.sessions.iter().collect::<Vec<_>>())
    };
    let question = |card: &Advice| card.facts[1].question.clone();
    let card = about(1);
    assert_eq!(card.action, Action::MountWithDiscard);
    assert_eq!(question(&card), "the cost of deletions of up to 1GiB is noticeable");
    let card = about(16);
    assert_eq!(card.action, Action::WeeklyFstrim, "{card:#?}");
    assert_eq!(card.deciding, "a deletion of 16GiB delays others by 1.80 s in all");
    assert!(
        card.because[0].text.ends_with(", extrapolated from deletions of up to 1GiB"),
        "{card:#?}"
    );
    assert_eq!(question(&card), "the cost of deletions of up to 16GiB is noticeable");
    assert!(!ask_about(&mut record(vec![helps()]), Bytes::gib(1)), "it deletes nothing");
}

/// Short waits at deletions of 1 GiB say nothing of larger ones, and long ones nothing of smaller.
#[test]
fn what_was_measured_with_other_deletions_does_not_decide() {
    let about = |session: Session, mebibytes| {
        let mut asked = record(vec![of_sizes(session, "64MiB,1GiB"), helps()]);
        ask_about(&mut asked, Bytes::mib(mebibytes));
        advise(&asked.sessions.iter().collect::<Vec<_>>())
    };
    let known = |card: &Advice| card.facts[1].known;
    assert_eq!(known(&about(quiet(), 1_024)), Known::No);
    assert_eq!(known(&about(quiet(), 16)), Known::No);
    let card = about(quiet(), 2_048);
    assert_eq!(known(&card), Known::Unknown, "{card:#?}");
    let said = "no larger deletion was measured, and one of 2GiB is asked about";
    assert!(card.because.iter().any(|it| it.text.ends_with(said)), "{card:#?}");
    assert_eq!(known(&about(loud(), 1_024)), Known::Yes);
    assert_eq!(known(&about(loud(), 2_048)), Known::Yes);
    let card = about(loud(), 16);
    assert_eq!(known(&card), Known::Unknown, "{card:#?}");
}

/// The table of the documentation is the one that decides.
#[test]
fn the_table_that_is_printed_is_the_one_that_decides() {
    let page = include_str!("../../../../docs/reference/verdicts.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| reaches |")).skip(2);
    let rows: Vec<Vec<&str>> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty() && rows.len() <= 27);
    let fits = |cell: &str, known: Known| {
        cell == "-" || cell.split([',', ' ']).any(|word| word == known.word())
    };
    let is = |decision| match decision {
        Decision::FindTheLayer => "trim-does-not-reach",
        Decision::Discard => "mount-with-discard",
        Decision::Weekly => "weekly-fstrim",
        Decision::Either => "either-will-do",
        Decision::Nothing => "nothing-to-gain",
        Decision::NoAnswer => "unknown",
    };
    let three = [Known::Yes, Known::No, Known::Unknown];
    for reaches in three {
        for (cost, brings) in Known::ALL.iter().flat_map(|a| three.map(|b| (*a, b))) {
            let row = rows
                .iter()
                .find(|row| fits(row[0], reaches) && fits(row[1], cost) && fits(row[2], brings));
            let row = row.unwrap_or_else(|| panic!("no row of {reaches:?} {cost:?} {brings:?}"));
            let answer = is(decide(reaches, cost, brings));
            let said = row[3].split('`').nth(1);
            assert_eq!(said, Some(answer), "{reaches:?} {cost:?} {brings:?}");
        }
    }
}

#[test]
fn the_table_has_an_answer_for_all_that_can_be_known() {
    use Known::{Close, No, Unknown, Yes};
    let reached = [Yes, No, Unknown];
    for (reaches, cost, brings) in
        reached.iter().flat_map(|a| Known::ALL.map(|b| reached.map(|c| (*a, b, c)))).flatten()
    {
        let decision = decide(reaches, cost, brings);
        let firm = matches!(decision, Decision::Discard | Decision::Weekly);
        assert!(!firm || cost != Close, "{reaches:?} {cost:?} {brings:?}");
        assert_eq!(decision == Decision::FindTheLayer, reaches == No);
        assert!(decision != Decision::Discard || (cost, brings) == (No, Yes));
        assert!(decision != Decision::Weekly || cost == Yes || brings == Yes);
    }
    assert_eq!(decide(Unknown, No, Unknown), Decision::NoAnswer, "nothing may have been trimmed");
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
        Action::EitherWillDo,
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
    let storm =
        |stall| vec![session("delete-storm", vec![figure("second-stall", stall, "s")]), helps()];
    let files = |low, high| {
        let id = "total-duration-diff-buffered";
        vec![session("postmark", vec![between(id, (low, low, high), "%")])]
    };
    let overdue = |low: f64, high: f64| {
        let of = between("overdue", (low, low, high), "s/GB");
        vec![of_sizes(with(quiet(), vec![of]), "1GB")]
    };
    let settle = |time: f64, pace: f64| {
        let figures = vec![figure("settle", time, "s"), figure("settle-slowest", pace, "")];
        vec![quiet(), session("settle", figures)]
    };
    let limit = LONG_TRIM_S * 1e3;
    let (least, most) = (WAIT_S / CLOSE_SINGLE, WAIT_S * CLOSE_SINGLE);
    let (more, less) = (1.0 + 1e-9, 1.0 - 1e-9);
    let (slow, close, fine) = ("weekly-fstrim", "either-will-do", "mount-with-discard");
    let table: Vec<(&str, Vec<Session>)> = vec![
        (fine, vec![stall(limit / CLOSE, 0.1, 0.02), helps()]),
        (close, vec![stall(limit / CLOSE * more, 0.1, 0.02), helps()]),
        (close, vec![stall(limit * CLOSE, 0.1, 0.02), helps()]),
        (slow, vec![stall(limit * CLOSE * more, 0.1, 0.02)]),
        // As long after placebos: what TRIM adds is not resolved.
        ("unknown", vec![stall(20.0, 20.0, 0.02)]),
        ("unknown", vec![stall(798.0, 751.0, 0.02)]),
        ("unknown", vec![stall(20.0 * TAIL_LONGER, 20.0, 0.02)]),
        (slow, vec![stall(20.0 * TAIL_LONGER * more, 20.0, 0.02)]),
        // One response, not a sum.
        (fine, vec![stall(1.0, 0.1, least), helps()]),
        (close, vec![stall(1.0, 0.1, least * more)]),
        (close, vec![stall(1.0, 0.1, most)]),
        (slow, vec![stall(1.0, 0.1, most * more)]),
        ("unknown", vec![stall(7.0, 200.0, most * more)]),
        (fine, [overdue(0.1, IN_ALL_S * less / CLOSE), vec![helps()]].concat()),
        (close, overdue(IN_ALL_S / CLOSE, IN_ALL_S * CLOSE)),
        (slow, overdue(IN_ALL_S * more, IN_ALL_S * CLOSE * more)),
        (close, settle(STORM_STALL_S / CLOSE_SINGLE, 0.4)),
        (close, settle(STORM_STALL_S * CLOSE_SINGLE, 0.4)),
        (close, settle(9.0, 0.5)),
        (slow, settle(STORM_STALL_S * CLOSE_SINGLE * more, 0.5 * less)),
        // Slower at times for long, and not much is lost by it.
        (slow, losing(settle(9.0, 0.2), STORM_STALL_S * CLOSE_SINGLE / 2.0 * more)),
        (close, losing(settle(9.0, 0.2), STORM_STALL_S * CLOSE_SINGLE / 2.0)),
        (close, vec![sweep(16.0, 20.0, most)]),
        (slow, vec![sweep(16.0, 20.0, most * more)]),
        // So long a wait is not TRIM's, where a TRIM is short.
        ("unknown", vec![sweep(16.0, limit, most * more)]),
        (slow, vec![sweep(16.0, limit * more, most * more)]),
        (close, files(1.0, SLOWDOWN_PERCENT)),
        (close, files(SLOWDOWN_PERCENT / CLOSE, SLOWDOWN_PERCENT * CLOSE)),
        ("unknown", files(1.0, SLOWDOWN_PERCENT * more)),
        (slow, files(SLOWDOWN_PERCENT * more, 20.0)),
        (close, [vec![quiet()], storm(STORM_STALL_S)].concat()),
        (slow, [vec![quiet()], storm(STORM_STALL_S * CLOSE_SINGLE * more)].concat()),
        (close, vec![quiet(), replay(1.0 - SHARE + 1e-9, None)]),
        (slow, vec![quiet(), replay(1.0 - SHARE, None)]),
        // Simulated: the wait, and the loss where the wait is noticed.
        (fine, vec![settings((limit / CLOSE, 1.0), (99.0, 1.0), 1.4, (1.0, 2.0))]),
        (close, vec![settings((limit * 1.47, 1.0), (99.0, 1.0), 1.4, (1.0, 2.0))]),
        (slow, vec![settings((limit * 1.47 + 1e-6, 1.0), (99.0, 1.0), 1.4, (1.0, 2.0))]),
        (
            "smaller-discard-max",
            vec![settings((limit * 1.4, 1.0), (limit * 1.119, 1.0), 1.4, (1.0, 2.0))],
        ),
        (close, vec![settings((limit * 1.4, 1.0), (limit * 1.121, 1.0), 1.4, (1.0, 2.0))]),
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

#[test]
fn each_gain_decides_at_its_edge() {
    let wear = |without| helps_by((1.0, 1.0), (without, 1.0));
    let slow = "weekly-fstrim";
    let table: Vec<(&str, Vec<Session>)> = vec![
        // A gain alone says to trim, but not when.
        (slow, vec![replay(1.0 + SHARE, None)]),
        ("unknown", vec![replay(1.0 + SHARE - 1e-9, None)]),
        (slow, vec![steady(1.0 + STEADY_SHARE, None)]),
        ("unknown", vec![steady(1.0 + STEADY_SHARE - 1e-9, None)]),
        (slow, vec![recovery((0.5, 0.5 + SHARE), None)]),
        ("trim-does-not-reach", vec![recovery((0.5, 0.5 + SHARE - 1e-9), None)]),
        ("unknown", vec![recovery((1.0 - SHARE, 1.0 - SHARE), None)]),
        ("trim-does-not-reach", vec![recovery((1.0 - SHARE - 1e-9, 0.98), None)]),
        (slow, vec![wear(WEAR_RATIO)]),
        ("unknown", vec![wear(WEAR_RATIO - 1e-9)]),
        ("nothing-to-gain", vec![wear(NO_WEAR)]),
        ("unknown", vec![wear(NO_WEAR + 1e-9)]),
    ];
    for (index, (expected, sessions)) in table.iter().enumerate() {
        let advice = advice(sessions);
        assert_eq!(advice.action.id(), *expected, "row {index}: {advice:#?}");
    }
}

fn helps_by(speed: (f64, f64), wear: (f64, f64)) -> Session {
    recovery(speed, Some(wear))
}

#[test]
fn noise_supports_nothing() {
    // A long response among many, where no delay is resolved, is anybody's.
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
