use super::*;
use crate::testing::{figure, record, session};
use trimbench_core::Caveat;

fn judged(target: &str, verdict: Verdict, lost: f64) -> Session {
    let mut judged =
        session("trim-integrity", vec![figure("neighbour-blocks-lost", lost, "blocks")]);
    judged.figures[0].headline = true;
    judged.figures[0].verdict = Some(verdict);
    judged.target.name = target.to_owned();
    judged
}

fn holds(limit: &str, sessions: &[Session]) -> Vec<bool> {
    let limit: VerdictLimit = limit.parse().unwrap();
    limit.judge(&record(sessions.to_vec())).iter().map(|outcome| outcome.holds).collect()
}

#[test]
fn an_answer_is_judged_on_every_drive() {
    let lost = Verdict::DataLost { case: "a".to_owned(), lba: 1 };
    let sessions = [judged("good", Verdict::Intact, 0.0), judged("bad", lost, 3.0)];
    assert_eq!(holds("verdict=do-not-trim", &sessions), [false, true]);
    // Of the first drive nothing is known that would answer.
    assert_eq!(holds("verdict!=do-not-trim", &sessions), [false, false]);
    assert_eq!(holds("verdict=unknown", &sessions), [true, false]);
    assert_eq!(holds("verdict != unknown", &sessions), [false, true]);
    assert_eq!(holds("verdict!=weekly-fstrim", &sessions), [false, true]);
}

#[test]
fn a_figures_verdict_is_judged_in_every_session() {
    let lost = Verdict::DataLost { case: "a".to_owned(), lba: 1 };
    let mut invalid = judged("invalid", Verdict::Intact, 0.0);
    invalid.figures[0].caveat(Caveat::WindowTooShort);
    let mut unfinished = judged("unfinished", Verdict::Intact, 0.0);
    unfinished.finished = false;
    let mut left_out = judged("left out", Verdict::Intact, 0.0);
    left_out.left_out = Some("no discard".to_owned());
    let mut second = judged("second", Verdict::Intact, 0.0);
    second.figures.push(figure("other", 1.0, "s").judged(lost.clone()));
    let sessions = [
        judged("good", Verdict::Intact, 0.0),
        judged("bad", lost, 3.0),
        invalid,
        unfinished,
        left_out,
        second,
    ];
    assert_eq!(holds("verdict=intact", &sessions), [true, false, false, false, true]);
    assert_eq!(holds("verdict!=data-lost", &sessions), [true, false, false, false, false]);
    assert_eq!(holds("verdict!=noise", &sessions), [true, true, false, false, true]);
}

#[test]
fn texts_that_name_no_verdict_are_refused_with_the_nearest() {
    let error = |text: &str| text.parse::<VerdictLimit>().unwrap_err().to_string();
    let unknown = "no verdict is called `mount-with-discards`; did you mean `mount-with-discard`?";
    assert_eq!(error("verdict=mount-with-discards"), unknown);
    assert!(error("verdict=").starts_with("no verdict is called ``"));
    assert!(error("verdict<=5ms").contains("a verdict is or is not"));
    assert!(error("verdict").contains("write `verdict=ID`"));
    for (text, is_meant) in
        [("verdict=a", true), ("verdict != a", true), ("verdict<1", true), ("verdicts=1", false)]
    {
        assert_eq!(VerdictLimit::is_meant(text), is_meant, "{text}");
    }
    let limit: VerdictLimit = " verdict != intact ".parse().unwrap();
    assert_eq!(limit.to_string(), "verdict!=intact");
}

/// No id means two things, and ids are those of the record.
#[test]
fn ids_are_unique_and_as_in_the_record() {
    let mut known: Vec<String> = VerdictLimit::known().collect();
    for id in ["steady-at", "no-slowdown-found", "weekly-fstrim"] {
        assert!(known.iter().any(|it| it == id), "{id}");
    }
    let steady = Verdict::SteadyAt { round: 1 };
    let json = serde_json::to_value(&steady).unwrap();
    assert_eq!(json["id"].as_str(), steady.id().as_deref());
    let actions = [
        Action::MountWithDiscard,
        Action::WeeklyFstrim,
        Action::SmallerDiscardMax { bytes: 1 },
        Action::EitherWillDo,
        Action::TrimDoesNotReach,
        Action::DoNotTrim,
        Action::NothingToGain,
        Action::Unknown,
    ];
    assert_eq!(actions.map(|action| action.id()), Action::IDS);
    let all = known.len();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), all);
}
