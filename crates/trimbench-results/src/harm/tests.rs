use trimbench_core::units::rounded;

use super::*;
use crate::testing::session;

#[test]
fn each_harm_has_a_key_of_its_own_and_counts_what_steps_have_under_it() {
    for harm in Harm::ALL {
        let alike = Harm::ALL.iter().filter(|other| other.key() == harm.key()).count();
        assert_eq!(alike, 1, "{harm:?}");
        let mut session = session("any", Vec::new());
        for blocks in [3, 0, 4] {
            session.steps.push(Step::of("step", "trim", &HarmStep(vec![(harm, blocks)])));
        }
        let found: HarmStep = session.steps[0].read().unwrap();
        assert_eq!(found, HarmStep(vec![(harm, 3)]));
        for other in Harm::ALL {
            let expected = if other == harm { 7 } else { 0 };
            assert_eq!(rounded(other.of_steps(&session)), expected);
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
    assert_eq!(rounded(Harm::NeighboursLost.of_steps(&session)), 2);
}
