//! What holds for any sessions.

use proptest::prelude::*;

use super::*;

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
    let waits =
        prop_oneof![Just((0.1, 0.1, 0.001)), Just((12.0, 10.0, 0.05)), Just((200.0, 0.1, 0.5)),];
    let rate = prop_oneof![Just(0.0), Just(50.0)];
    let some = |strategy: BoxedStrategy<Session>| proptest::option::of(strategy);
    let parts = (
        some(
            (waits, rate)
                .prop_map(|((tail, placebo, worst), rate)| {
                    with(
                        stall(tail, placebo, worst),
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
                Just(sweep(256.0, 0.2, 0.004)),
                Just(sweep(1.0, 32.0, 0.6)),
                Just(sweep(0.0, 82.0, 5.0)),
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
                Just(settings((900.0, 1.2), (9.0, 1.2), 1.4, (1.0, 2.0))),
                Just(settings((9.0, 1.2), (900.0, 1.2), 1.4, (1.0, 2.0))),
                Just(settings((900.0, 1.2), (900.0, 1.2), 1.4, (1.0, 2.0))),
                Just(settings((1.0, 1.0), (1.0, 1.0), 1.0, (1.0, 1.0))),
            ]
            .boxed(),
        ),
    );
    parts.prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].into_iter().flatten().collect())
}

/// The same sessions with a step for each figure, on which that figure rests, and one on which the
/// figures rest that name none.
fn with_steps(mut sessions: Vec<Session>) -> Vec<Session> {
    for session in &mut sessions {
        session.steps.push(Step::new("all", "delete"));
        for (index, figure) in session.figures.iter_mut().enumerate() {
            let step = Step::new(format!("step-{index}"), "delete");
            if index % 3 != 0 {
                figure.rests_on([&step]);
            }
            session.steps.push(step);
        }
    }
    sessions
}

proptest! {
    /// What invalidates a step invalidates what rests on it, wherever it is planted: no
    /// recommendation names an invalid figure, and each is as without the invalid figures.
    #[test]
    fn no_recommendation_rests_on_an_invalid_step(
        sessions in any_sessions(),
        at in any::<prop::sample::Index>(),
        which in proptest::collection::vec(any::<prop::sample::Index>(), 1..4),
        how in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!sessions.is_empty());
        let mut spoiled = with_steps(sessions);
        let index = at.index(spoiled.len());
        let invalidating = [
            Caveat::DiscardsIncomplete,
            Caveat::NoDiscard,
            Caveat::WindowTooShort,
            Caveat::LateSchedule,
            Caveat::Paused,
            Caveat::CommandsMerged,
            Caveat::CacheSwallowed,
            Caveat::TargetGone,
            Caveat::BelowResolution,
        ];
        let caveat = invalidating[how.index(invalidating.len())];
        let session = &mut spoiled[index];
        for step in &which {
            let step = step.index(session.steps.len());
            session.steps[step].caveat(caveat);
        }
        // As a session that ends, and a record that is read.
        session.carry_caveats();
        let read = crate::testing::record(spoiled.clone());
        let read = RunRecord::from_json(&read.to_json()).unwrap().sessions;
        prop_assert_eq!(&read, &spoiled);
        let session = &spoiled[index];
        for step in session.steps.iter().filter(|step| !step.caveats.is_empty()) {
            for figure in &session.figures {
                let rests = figure.steps.is_empty() || figure.steps.contains(&step.id);
                prop_assert!(!rests || !session.believes(figure), "{}", figure.id);
            }
        }
        let card = advice(&spoiled);
        if card.action.is_recommendation() {
            for (session, id) in card.because.iter().flat_map(|reason| &reason.figures) {
                let session = &spoiled[*session];
                prop_assert!(session.believes(session.figure(id).unwrap()), "{card:#?}");
            }
        }
    }

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

    #[test]
    fn a_session_that_did_not_finish_speaks_only_against_trim(
        sessions in any_sessions(),
        more in any_sessions(),
    ) {
        let before = advice(&sessions).action;
        let mut all = sessions;
        let unfinished = |it| Session { finished: false, ..it };
        all.extend(more.into_iter().map(unfinished));
        let after = advice(&all).action;
        let against = matches!(after, Action::DoNotTrim | Action::Unknown);
        prop_assert!(after == before || against, "{} became {}", before.id(), after.id());
    }

    #[test]
    fn nothing_outweighs_lost_data(sessions in any_sessions(), finished in any::<bool>()) {
        let mut all = sessions;
        let mut lost = session("trim-integrity", Vec::new());
        lost.finished = finished;
        let harm = crate::HarmStep { neighbour_blocks_lost: Some(1), ..Default::default() };
        lost.steps.push(Step::of("whole", "trim", &harm));
        all.push(lost);
        prop_assert_eq!(advice(&all).action, Action::DoNotTrim);
    }
}
