use trimbench_core::units::rounded;

use super::*;
use crate::testing::{harm_step, session};

#[test]
fn each_harm_counts_what_steps_found_of_it() {
    for harm in Harm::ALL {
        let mut session = session("any", Vec::new());
        let step = |blocks| Step::of("a", "trim", &harm_step(harm, blocks));
        session.steps.extend([3, 0, 4].map(step));
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
        step.metrics.insert("neighbour_blocks_lost".to_owned(), blocks);
        session.steps.push(step);
    }
    assert_eq!(rounded(Harm::NeighboursLost.of_steps(&session)), 2);
}
