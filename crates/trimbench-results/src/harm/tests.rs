use super::*;
use crate::testing::session;

#[test]
fn each_harm_has_a_key_of_its_own_and_counts_what_steps_have_under_it() {
    for harm in Harm::ALL {
        let alike = Harm::ALL.iter().filter(|other| other.key() == harm.key()).count();
        assert_eq!(alike, 1, "{harm:?}");
        let mut session = session("any", Vec::new());
        for blocks in [3.0, 0.0, 4.0] {
            let mut step = Step::new("step", "trim");
            step.measure(harm.key(), blocks);
            session.steps.push(step);
        }
        for other in Harm::ALL {
            assert_eq!(other.of_steps(&session), if other == harm { 7.0 } else { 0.0 });
        }
    }
}

#[test]
fn a_negative_count_hides_no_other() {
    let mut session = session("any", Vec::new());
    for blocks in [-9.0, 2.0] {
        let mut step = Step::new("step", "trim");
        step.measure(Harm::NeighboursLost.key(), blocks);
        session.steps.push(step);
    }
    assert_eq!(Harm::NeighboursLost.of_steps(&session), 2.0);
}
