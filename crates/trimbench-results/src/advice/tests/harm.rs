//! Lost data counts, whatever became of the session that found it.

use super::*;
use crate::harm::Harm;
use crate::testing::harm_step;

/// A session that ended after two steps, in the second of which so many blocks were hit.
fn cut(harm: Harm, blocks: u64) -> Session {
    let mut cut = session("trim-integrity", Vec::new());
    cut.finished = false;
    let step = |(id, blocks)| Step::of(id, "trim", &harm_step(harm, blocks));
    cut.steps.extend([("whole", 0), ("aligned", blocks)].map(step));
    cut
}

#[test]
fn data_lost_in_a_step_counts_although_its_session_did_not_finish() {
    for harm in Harm::ALL.into_iter().filter(|harm| harm.is_by_trim()) {
        let card = advice(&[helps(), quiet(), cut(harm, 218_694)]);
        assert_eq!(card.action, Action::DoNotTrim, "{harm:?}");
        let reason = &card.because[0];
        assert_eq!(
            reason.text,
            format!(
                "218,694 {}, first in the step `aligned` of `trim-integrity`, which did not finish",
                harm.words()
            )
        );
        assert_eq!(reason.steps, [(2, "aligned".to_owned())]);
        assert!(card.deciding.starts_with("218,694 "), "{}", card.deciding);
        let asks = card.not_measured.iter().any(|it| it.contains("harms what lies beside"));
        assert!(!asks, "{card:#?}");
    }
}

#[test]
fn a_session_that_did_not_finish_speaks_against_trim_only() {
    let without = advice(&[helps(), quiet()]);
    let card = advice(&[helps(), quiet(), cut(Harm::NeighboursLost, 0)]);
    assert_eq!(card, without);
    assert_eq!(card.action, Action::MountWithDiscard);
    let mut cut = integrity(7.0, 0.0, 0.0);
    cut.finished = false;
    // As a record of a version without these steps has it.
    assert_eq!(action(&[helps(), cut]), "do-not-trim");
}

#[test]
fn an_invalid_figure_beside_lost_data_hides_them_from_nobody() {
    let mut late = cut(Harm::NeighboursLost, 3);
    late.finished = true;
    late.figures = integrity(3.0, 0.0, 0.0).figures;
    late.caveats.push(Caveat::LateSchedule.id().to_owned());
    assert_eq!(action(&[helps(), late]), "do-not-trim");
}

#[test]
fn data_lost_while_others_used_the_target_accuse_nobody() {
    for harm in Harm::ALL {
        let mut shared = cut(harm, 218_694);
        shared.caveats.push(Caveat::TargetChanged.id().to_owned());
        let card = advice(&[helps(), quiet(), shared]);
        assert_eq!(card.action, Action::Unknown, "{harm:?}");
        let text = &card.because[0].text;
        assert!(text.ends_with("did not finish, while others used the target"), "{text}");
        let mut marked = cut(harm, 3);
        marked.steps[0].caveats.push(Caveat::TargetChanged.id().to_owned());
        assert_eq!(action(&[helps(), quiet(), marked]), "unknown", "{harm:?}");
    }
}

#[test]
fn a_broken_promise_or_lost_writes_leave_no_recommendation() {
    for harm in [Harm::PromiseBroken, Harm::WritesLost] {
        for finished in [false, true] {
            let mut found = cut(harm, 5);
            found.finished = finished;
            let card = advice(&[helps(), quiet(), found]);
            assert_eq!(card.action, Action::Unknown, "{harm:?}");
            assert!(card.because[0].text.starts_with("5 "), "{card:#?}");
            assert!(card.lines.is_empty() && card.deciding.contains(harm.words()), "{card:#?}");
            // Leaving TRIM off needs no drive that keeps a promise.
            let useless = recovery((1.0, 1.0), Some((1.0, 1.0)));
            assert_eq!(action(&[useless, cut(harm, 5)]), "nothing-to-gain");
        }
    }
}

#[test]
fn the_session_that_found_most_is_the_evidence() {
    let card = advice(&[cut(Harm::NeighboursLost, 3), cut(Harm::NeighboursLost, 9)]);
    assert_eq!(card.because[0].steps, [(1, "aligned".to_owned())]);
    assert!(card.because[0].text.starts_with("9 blocks beside TRIMs"), "{card:#?}");
}
